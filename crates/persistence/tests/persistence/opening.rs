//! Opening, migrating and being ready.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::net::TcpListener;
use std::time::Duration;

use bidloop_domain::model::ActivityQuery;
use bidloop_domain::port::StoreError;
use bidloop_persistence::{Database, DatabaseSettings, MigrateError, OpenError, SchemaState};

use crate::test_database::{
    TestDatabase, connect, drop_postgres, empty_postgres, on_both_databases, open, postgres_url, sqlite_url,
};

on_both_databases!(
    a_migrated_database_is_current_and_ready,
    migrating_again_runs_nothing,
    a_database_of_a_later_version_is_left_alone,
);

async fn a_migrated_database_is_current_and_ready(bed: TestDatabase) -> TestDatabase {
    assert_eq!(bed.database.schema_state().await, Ok(SchemaState::Current));
    assert_eq!(bed.database.ready().await, Ok(()));
    bed
}

async fn migrating_again_runs_nothing(bed: TestDatabase) -> TestDatabase {
    assert_eq!(bed.database.migrate().await, Ok(Vec::new()));
    bed
}

async fn a_database_of_a_later_version_is_left_alone(bed: TestDatabase) -> TestDatabase {
    bed.run_sql("INSERT INTO __diesel_schema_migrations (version) VALUES ('99990101000000')")
        .await;
    let unknown = vec!["99990101000000".to_owned()];
    assert_eq!(
        bed.database.schema_state().await,
        Ok(SchemaState::Newer {
            unknown: unknown.clone()
        })
    );
    let refused = bed.database.migrate().await.unwrap_err();
    assert_eq!(refused, MigrateError::Newer { unknown });
    assert!(refused.to_string().contains("newer version"), "{refused}");
    assert!(matches!(
        bed.database.ready().await,
        Err(StoreError::Unavailable(_))
    ));
    bed
}

/// Several replicas start at once on a new database.
async fn migrate_side_by_side(url: &str) {
    let replicas: Vec<Database> = (0..4).map(|_| open(url)).collect();
    assert!(
        matches!(replicas[0].schema_state().await, Ok(SchemaState::Older { pending }) if !pending.is_empty())
    );
    assert!(matches!(
        replicas[0].ready().await,
        Err(StoreError::Unavailable(_))
    ));
    let unmigrated = replicas[0]
        .activities()
        .list(&ActivityQuery {
            limit: 1,
            ..Default::default()
        })
        .await;
    assert!(
        matches!(unmigrated, Err(StoreError::Unavailable(_))),
        "{unmigrated:?}"
    );
    migrate_all(&replicas).await;
}

/// Migrates at the same time: one replica runs the steps, and all are ready.
async fn migrate_all(replicas: &[Database]) {
    let migrations = replicas.iter().map(|replica| {
        let replica = replica.clone();
        tokio::spawn(async move { replica.migrate().await })
    });
    let mut that_ran_steps = 0;
    for migration in migrations.collect::<Vec<_>>() {
        that_ran_steps += usize::from(!migration.await.unwrap().unwrap().is_empty());
    }
    assert_eq!(that_ran_steps, 1);
    for replica in replicas {
        assert_eq!(replica.ready().await, Ok(()));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_that_make_a_sqlite_file_at_once_migrate_it_once() {
    let folder = tempfile::tempdir().unwrap();
    for round in 0..10 {
        let url = sqlite_url(&folder.path().join(format!("{round}.db")));
        let replicas: Vec<Database> = (0..4).map(|_| open(&url)).collect();
        migrate_all(&replicas).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_that_start_at_once_migrate_sqlite_once() {
    let folder = tempfile::tempdir().unwrap();
    migrate_side_by_side(&sqlite_url(&folder.path().join("made/on/the/way/bidloop.db"))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_that_start_at_once_migrate_postgres_once() {
    let name = empty_postgres().await;
    migrate_side_by_side(&postgres_url(&name)).await;
    drop_postgres(&name).await;
}

/// A runtime with one thread is what a command of the program may use.
#[tokio::test(flavor = "current_thread")]
async fn both_databases_work_on_a_runtime_with_one_thread() {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = open(&sqlite_url(&folder.path().join("bidloop.db")));
    sqlite.migrate().await.unwrap();
    assert_eq!(sqlite.ready().await, Ok(()));

    let name = empty_postgres().await;
    let postgres = open(&postgres_url(&name));
    postgres.migrate().await.unwrap();
    assert_eq!(postgres.ready().await, Ok(()));
    drop_postgres(&name).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_away_is_unavailable_within_seconds() {
    // A port that nobody listens on.
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let database = open(&format!("postgres://nobody@127.0.0.1:{port}/bidloop"));
    let asked = async {
        let ready = database.ready().await;
        let migrated = database.migrate().await;
        let revoked = database
            .activities()
            .list(&ActivityQuery {
                limit: 1,
                ..Default::default()
            })
            .await;
        (ready, migrated, revoked)
    };
    let (ready, migrated, listed) = tokio::time::timeout(Duration::from_secs(20), asked)
        .await
        .unwrap();
    assert!(matches!(ready, Err(StoreError::Unavailable(_))), "{ready:?}");
    assert!(
        matches!(migrated, Err(MigrateError::Store(StoreError::Unavailable(_)))),
        "{migrated:?}"
    );
    assert!(matches!(listed, Err(StoreError::Unavailable(_))), "{listed:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_does_not_speak_is_unavailable_within_seconds() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let database = open(&format!("postgres://nobody@127.0.0.1:{port}/bidloop"));
    let ready = tokio::time::timeout(Duration::from_secs(20), database.ready())
        .await
        .unwrap();
    assert!(matches!(ready, Err(StoreError::Unavailable(_))), "{ready:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_the_server_closed_are_replaced_without_an_error() {
    let bed = TestDatabase::postgres().await;
    let activities = bed.database.activities();
    let query = ActivityQuery {
        limit: 1,
        ..Default::default()
    };
    // Fills the pool.
    let reads = (0..8).map(|_| activities.list(&query));
    for read in futures::future::join_all(reads).await {
        read.unwrap();
    }
    let server = connect(&bed.url()).await;
    server
        .batch_execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE datname = current_database() AND application_name = 'bidloop'",
        )
        .await
        .unwrap();
    for _ in 0..8 {
        assert_eq!(activities.list(&query).await, Ok(Vec::new()));
    }
    bed.close().await;
}

#[tokio::test]
async fn a_url_that_names_no_database_is_refused_without_repeating_it() {
    let refused = |url: &str| Database::open(&DatabaseSettings::new(url)).unwrap_err();
    assert_eq!(refused("mysql://root:s3cret@host/db"), OpenError::UnknownScheme);
    assert_eq!(refused("bidloop.db"), OpenError::UnknownScheme);
    assert!(matches!(refused("sqlite://"), OpenError::InvalidUrl(_)));
    assert!(matches!(refused("sqlite://:memory:"), OpenError::InvalidUrl(_)));
    assert!(matches!(
        refused("postgres://u:s3cret@h/db?nonsense=1"),
        OpenError::InvalidUrl(_)
    ));
    for url in [
        "postgres://",
        "postgres:///db",
        "postgres://u:s3cret@h:notaport/db",
    ] {
        assert!(matches!(refused(url), OpenError::InvalidUrl(_)), "{url}");
    }
    for url in [
        "mysql://root:s3cret@host/db",
        "postgres://u:s3cret@h/db?nonsense=1",
        "postgres://u:s3cret@h:notaport/db",
    ] {
        assert!(!refused(url).to_string().contains("s3cret"));
        assert!(!format!("{:?}", DatabaseSettings::new(url)).contains("s3cret"));
    }
}

#[test]
fn checking_a_url_refuses_what_opening_refuses_and_makes_nothing() {
    let check = |url: &str| DatabaseSettings::new(url).check();
    assert_eq!(check("mysql://host/db"), Err(OpenError::UnknownScheme));
    for url in [
        "sqlite://",
        "sqlite://:memory:",
        "postgres://",
        "postgres://u@h:notaport/db",
    ] {
        assert!(matches!(check(url), Err(OpenError::InvalidUrl(_))), "{url}");
    }
    let without_tls = check("postgres://u@203.0.113.1/db").unwrap().hosts_without_tls;
    assert_eq!(without_tls, ["203.0.113.1"]);
    let folder = tempfile::tempdir().unwrap();
    let absent = folder.path().join("absent");
    let in_a_file = check(&sqlite_url(&absent.join("bidloop.db")));
    assert_eq!(in_a_file.unwrap().hosts_without_tls, [""; 0]);
    assert!(!absent.exists());
}

#[tokio::test]
async fn a_folder_that_cannot_be_made_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let refused = Database::open(&DatabaseSettings::new(sqlite_url(&file.join("bidloop.db")))).unwrap_err();
    assert!(matches!(&refused, OpenError::Folder(_)), "{refused}");
    assert!(refused.to_string().contains(file.to_str().unwrap()), "{refused}");
}
