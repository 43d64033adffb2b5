//! The step that makes people of the users of organizations, on databases that the steps before it made.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::fmt::Write as _;
use std::path::Path;

use bidloop_domain::model::{EmailKey, MemberRole, OrganizationId};
use bidloop_persistence::Database;
use diesel::SqliteConnection;
use diesel::connection::{Connection as _, SimpleConnection as _};

use crate::test_database::{connect, drop_postgres, empty_postgres, open, postgres_url, sqlite_url};

/// The step under test.
const STEP: &str = "00000000000007";

/// The SQL of the steps before it, and of the table that tells which steps ran.
fn steps_before(backend: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("migrations")
        .join(backend);
    let mut steps: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|step| step.file_name().unwrap().to_str().unwrap() < STEP)
        .collect();
    steps.sort();
    let mut sql = String::from(
        "CREATE TABLE __diesel_schema_migrations (version VARCHAR(50) PRIMARY KEY NOT NULL, \
         run_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP);",
    );
    for step in steps {
        sql.push_str(&std::fs::read_to_string(step.join("up.sql")).unwrap());
        let name = step.file_name().unwrap().to_str().unwrap().to_owned();
        let (version, _) = name.split_once('_').unwrap();
        write!(
            sql,
            "INSERT INTO __diesel_schema_migrations (version) VALUES ('{version}');"
        )
        .unwrap();
    }
    sql
}

/// Users as an earlier version stored them: keys in lower case.
fn users() -> String {
    let organizations = ["org_a", "org_b", "org_c"].map(|id| {
        let period = if id == "org_a" { "false" } else { "true" };
        format!(
            "INSERT INTO organizations (id, name, subscription_status, collection_paused, period_start, \
             period_end, proposal_limit) VALUES ('{id}', '{id}', 'active', {period}, 1000, 2000, 50);"
        )
    });
    organizations.concat()
        + "INSERT INTO users (organization_id, email_key, email, name, password_hash) VALUES \
           ('org_b', 'ann@acme.test', 'Ann@acme.test', 'Ann of B', 'hash of b'), \
           ('org_a', 'ann@acme.test', 'ann@acme.test', 'Ann of A', NULL), \
           ('org_c', 'ann@acme.test', 'ann@acme.test', 'Ann of C', 'hash of c'), \
           ('org_a', 'straße@acme.test', 'Straße@acme.test', 'Sharp', NULL), \
           ('org_b', 'strasse@acme.test', 'strasse@acme.test', 'Double', NULL), \
           ('org_c', 'o\\\\''neil@acme.test', 'O\\\\''Neil@acme.test', 'Back\\\\slash', 'hash'), \
           ('org_c', 'ünal@acme.test', 'Ünal@acme.test', 'Ünal', 'hash of ü');"
}

async fn people_are_as_expected(database: &Database) {
    database.migrate().await.unwrap();
    let people = database.people();
    let person = async |email: &str| people.person(&EmailKey::of(email)).await.unwrap().unwrap();
    let hash = async |email: &str| {
        person(email)
            .await
            .password_hash
            .map(|hash| hash.expose().clone())
    };
    let ann = person("ANN@acme.test").await.person;
    assert_eq!(
        (ann.email.as_str(), ann.name.as_str()),
        ("ann@acme.test", "Ann of A")
    );
    assert_eq!(
        hash("ann@acme.test").await.as_deref(),
        Some("hash of b"),
        "the first that there is"
    );
    let double = person("Straße@acme.test").await.person;
    assert_eq!(
        (double.email.as_str(), double.name.as_str()),
        ("strasse@acme.test", "Double")
    );
    assert_eq!(person("o\\'neil@acme.test").await.person.name, "Back\\slash");
    assert_eq!(hash("ÜNAL@acme.test").await.as_deref(), Some("hash of ü"));
    let ids = ["org_a", "org_b", "org_c"].map(|id| OrganizationId::parse(id).unwrap());
    let snapshot = database.provisioning().snapshot(&ids, &[]).await.unwrap();
    let users = snapshot.organizations.iter().map(|organization| {
        assert!(
            organization
                .users
                .iter()
                .all(|user| user.role == MemberRole::Owner)
        );
        let mut emails: Vec<&str> = organization
            .users
            .iter()
            .map(|user| user.email.as_str())
            .collect();
        emails.sort_unstable();
        emails
    });
    let expected = [
        vec!["ann@acme.test", "strasse@acme.test"],
        vec!["ann@acme.test", "strasse@acme.test"],
        vec!["O\\'Neil@acme.test", "ann@acme.test", "Ünal@acme.test"],
    ];
    assert_eq!(users.collect::<Vec<_>>(), expected);
    assert_eq!(
        database.migrate().await,
        Ok(Vec::new()),
        "folding again changes nothing"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn users_of_an_existing_sqlite_database_become_people() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bidloop.db");
    let mut conn = SqliteConnection::establish(path.to_str().unwrap()).unwrap();
    conn.batch_execute(&steps_before("sqlite")).unwrap();
    conn.batch_execute(&users()).unwrap();
    drop(conn);
    people_are_as_expected(&open(&sqlite_url(&path))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn users_of_an_existing_postgres_database_become_people() {
    let name = empty_postgres().await;
    let client = connect(&postgres_url(&name)).await;
    client.batch_execute(&steps_before("postgres")).await.unwrap();
    client.batch_execute(&users()).await.unwrap();
    people_are_as_expected(&open(&postgres_url(&name))).await;
    drop_postgres(&name).await;
}
