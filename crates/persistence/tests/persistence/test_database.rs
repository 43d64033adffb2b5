//! A database of its own for each test: a file, or a copy of a migrated template on the test server.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use bidloop_persistence::{Database, DatabaseSettings};
use diesel::connection::{Connection as _, InstrumentationEvent, SimpleConnection as _};
use diesel::dsl::sql;
use diesel::sql_types::BigInt;
use diesel::{RunQueryDsl as _, SqliteConnection};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use tokio_postgres::{Client, NoTls};

use crate::spare_databases::{SpareDatabase, spare_database};

/// Held while the template is looked for and made; test processes run side by side.
const TEMPLATE_LOCK: i64 = 2_718_281_828;

/// The SQL of the steps before one, and of the table that tells which steps ran.
fn steps_before(backend: &str, step: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("migrations")
        .join(backend);
    let mut steps: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.file_name().unwrap().to_str().unwrap() < step)
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

/// A migrated, empty database.
pub(crate) struct TestDatabase {
    /// The database under test.
    pub(crate) database: Database,
    place: Place,
}

enum Place {
    Sqlite {
        folder: TempDir,
    },
    Postgres {
        name: String,
    },
    /// One that other tests get afterwards; held by the connection.
    Spare {
        name: String,
        _held: Client,
    },
}

impl TestDatabase {
    /// A SQLite file in a folder of its own.
    pub(crate) async fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = open(&sqlite_url(&file(folder.path())));
        database.migrate().await.unwrap();
        Self {
            database,
            place: Place::Sqlite { folder },
        }
    }

    /// A database on the test server.
    pub(crate) async fn postgres() -> Self {
        let template = template().await;
        let name = fresh_name("test");
        let server = connect_to_server().await;
        server
            .batch_execute(&format!("CREATE DATABASE {name} TEMPLATE {template}"))
            .await
            .unwrap();
        Self {
            database: open(&postgres_url(&name)),
            place: Place::Postgres { name },
        }
    }

    /// A database on the test server that is emptied for the next test. For tests that speak through the ports alone.
    pub(crate) async fn spare_postgres() -> Self {
        let SpareDatabase { name, held } = spare_database().await;
        Self {
            database: open(&postgres_url(&name)),
            place: Place::Spare { name, _held: held },
        }
    }

    /// The same database, opened so that the server keeps no statements prepared.
    pub(crate) fn without_prepared_statements(self) -> Self {
        let database = Database::open(&DatabaseSettings {
            request_connections: 8,
            prepared_statements: false,
            ..DatabaseSettings::new(self.url())
        });
        Self {
            database: database.unwrap(),
            ..self
        }
    }

    /// A SQLite file as the steps before one made it, with these rows.
    pub(crate) fn sqlite_before(step: &str, rows: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = file(folder.path());
        let mut conn = SqliteConnection::establish(path.to_str().unwrap()).unwrap();
        conn.batch_execute(&steps_before("sqlite", step)).unwrap();
        conn.batch_execute(rows).unwrap();
        Self {
            database: open(&sqlite_url(&path)),
            place: Place::Sqlite { folder },
        }
    }

    /// The same on the test server.
    pub(crate) async fn postgres_before(step: &str, rows: &str) -> Self {
        let name = empty_postgres().await;
        let client = connect(&postgres_url(&name)).await;
        client
            .batch_execute(&steps_before("postgres", step))
            .await
            .unwrap();
        client.batch_execute(rows).await.unwrap();
        Self {
            database: open(&postgres_url(&name)),
            place: Place::Postgres { name },
        }
    }

    /// Another program's view of the same database.
    pub(crate) fn reopened(&self) -> Database {
        open(&self.url())
    }

    /// What it was opened with.
    pub(crate) fn url(&self) -> String {
        match &self.place {
            Place::Sqlite { folder } => sqlite_url(&file(folder.path())),
            Place::Postgres { name } | Place::Spare { name, .. } => postgres_url(name),
        }
    }

    /// Runs SQL behind the stores' back.
    pub(crate) async fn run_sql(&self, sql: &str) {
        match &self.place {
            Place::Sqlite { folder } => {
                let mut conn = SqliteConnection::establish(file(folder.path()).to_str().unwrap()).unwrap();
                conn.batch_execute("PRAGMA busy_timeout = 5000").unwrap();
                conn.batch_execute(sql).unwrap();
            }
            Place::Postgres { name } | Place::Spare { name, .. } => connect(&postgres_url(name))
                .await
                .batch_execute(sql)
                .await
                .unwrap(),
        }
    }

    /// The one number that a query finds behind the stores' back.
    pub(crate) async fn number(&self, query: &str) -> i64 {
        match &self.place {
            Place::Sqlite { folder } => {
                let mut conn = SqliteConnection::establish(file(folder.path()).to_str().unwrap()).unwrap();
                // The watch of prepared statements is of the stores' connections.
                conn.set_instrumentation(|_: InstrumentationEvent<'_>| {});
                conn.batch_execute("PRAGMA busy_timeout = 5000").unwrap();
                diesel::select(sql::<BigInt>(&format!("({query})")))
                    .get_result(&mut conn)
                    .unwrap()
            }
            Place::Postgres { name } | Place::Spare { name, .. } => connect(&postgres_url(name))
                .await
                .query_one(query, &[])
                .await
                .unwrap()
                .get(0),
        }
    }

    /// An organization to hang things on.
    pub(crate) async fn with_organization(self, id: &str) -> Self {
        self.put_organization(id).await;
        self
    }

    /// The same.
    pub(crate) async fn put_organization(&self, id: &str) {
        self.run_sql(&format!(
            "INSERT INTO organizations (id, name, subscription_status, collection_paused, period_start, \
             period_end, proposal_limit) VALUES ('{id}', 'Acme', 'active', false, 1000, 2000, 50)"
        ))
        .await;
    }

    /// Removes it from the server; a failed test's stays, to be looked at.
    pub(crate) async fn close(self) {
        drop(self.database);
        if let Place::Postgres { name } = self.place {
            drop_postgres(&name).await;
        }
    }
}

/// Opens a database with few connections, for many tests share a server.
pub(crate) fn open(url: &str) -> Database {
    Database::open(&DatabaseSettings {
        request_connections: 8,
        ..DatabaseSettings::new(url)
    })
    .unwrap()
}

/// An empty database on the test server, not migrated; the caller drops it with [`drop_postgres`].
pub(crate) async fn empty_postgres() -> String {
    let name = fresh_name("empty");
    connect_to_server()
        .await
        .batch_execute(&format!("CREATE DATABASE {name}"))
        .await
        .unwrap();
    name
}

pub(crate) async fn drop_postgres(name: &str) {
    let server = connect_to_server().await;
    server
        .batch_execute(&format!("DROP DATABASE {name} WITH (FORCE)"))
        .await
        .unwrap();
}

pub(crate) fn sqlite_url(path: &Path) -> String {
    format!("sqlite://{}", path.display())
}

/// The URL of a database on the test server.
pub(crate) fn postgres_url(database: &str) -> String {
    let server = server_url();
    let (base, query) = server
        .split_once('?')
        .map_or((server.as_str(), None), |(b, q)| (b, Some(q)));
    let authority = base.find("://").unwrap() + 3;
    let path = base[authority..]
        .find('/')
        .map_or(base.len(), |slash| authority + slash);
    let mut url = format!("{}/{database}", &base[..path]);
    if let Some(query) = query {
        write!(url, "?{query}").unwrap();
    }
    url
}

/// A connection of the test's own.
pub(crate) async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

fn file(folder: &Path) -> PathBuf {
    folder.join("bidloop.db")
}

#[expect(
    clippy::disallowed_methods,
    reason = "tests take the server from the environment"
)]
fn server_url() -> String {
    std::env::var("BIDLOOP_TEST_POSTGRES_URL").expect(
        "BIDLOOP_TEST_POSTGRES_URL names no PostgreSQL server to test on; tests/run starts one and runs the tests",
    )
}

pub(crate) async fn connect_to_server() -> Client {
    connect(&server_url()).await
}

fn fresh_name(kind: &str) -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let moment = std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos();
    format!(
        "{kind}_{}_{moment}_{}",
        std::process::id(),
        COUNT.fetch_add(1, Ordering::Relaxed)
    )
}

/// The migrated database that tests copy; it bears the digest of the steps, so that changed steps make a new one.
pub(crate) async fn template() -> String {
    let name = format!("template_{}", digest_of_steps());
    let server = connect_to_server().await;
    server
        .execute("SELECT pg_advisory_lock($1)", &[&TEMPLATE_LOCK])
        .await
        .unwrap();
    let found = server
        .query("SELECT 1 FROM pg_database WHERE datname = $1", &[&name])
        .await
        .unwrap();
    if found.is_empty() {
        let unfinished = fresh_name("unfinished");
        server
            .batch_execute(&format!("CREATE DATABASE {unfinished}"))
            .await
            .unwrap();
        open(&postgres_url(&unfinished)).migrate().await.unwrap();
        // Waits for the migration's connection to close.
        server
            .batch_execute(&format!("ALTER DATABASE {unfinished} RENAME TO {name}"))
            .await
            .unwrap();
    }
    // The lock ends with the connection.
    name
}

pub(crate) fn digest_of_steps() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations/postgres");
    let mut steps: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    steps.sort();
    let mut digest = Sha256::new();
    for step in steps {
        digest.update(step.file_name().unwrap().as_encoded_bytes());
        digest.update(std::fs::read(step.join("up.sql")).unwrap());
    }
    digest.finalize()[..8]
        .iter()
        .fold(String::new(), |mut hex, byte| {
            write!(hex, "{byte:02x}").unwrap();
            hex
        })
}

/// Stamps out a test for both databases: an async function over a [`TestDatabase`], which it gives back.
macro_rules! on_both_databases {
    ($($rule:ident),* $(,)?) => {
        mod on_sqlite {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $rule() {
                    super::$rule(crate::test_database::TestDatabase::sqlite().await).await.close().await;
                }
            )*
        }

        mod on_postgres {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $rule() {
                    super::$rule(crate::test_database::TestDatabase::postgres().await).await.close().await;
                }
            )*
        }
    };
}
pub(crate) use on_both_databases;
