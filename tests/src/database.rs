//! A database a test: a SQLite file in the test's folder, or a PostgreSQL database of its own on the throw-away
//! server, dropped with the test. Also the way to look like a database that a newer program migrated.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use tokio_postgres::NoTls;

/// Names the superuser URL of a throw-away PostgreSQL server.
const SERVER: &str = "BIDLOOP_TEST_POSTGRES_URL";
/// Names the URL of a pooler in transaction mode before that server, through which the program is to reach it.
const POOLER: &str = "BIDLOOP_TEST_POOLER_URL";
/// The step that a newer program would have added; as long as the first step's name, so that it fits its place.
const NEWER_STEP: &str = "99999999999999";
const FIRST_STEP: &str = "00000000000001";

/// The databases that the program runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A file.
    Sqlite,
    /// A server.
    Postgres,
}

/// The database of one test.
#[derive(Debug)]
pub enum TestDatabase {
    /// The file.
    Sqlite(PathBuf),
    /// The server's URL and the database's name.
    Postgres { server: String, name: String },
}

impl TestDatabase {
    /// A database that holds nothing yet.
    pub fn create(kind: Kind, folder: &Path) -> Self {
        match kind {
            Kind::Sqlite => Self::Sqlite(folder.join("bidloop.db")),
            Kind::Postgres => {
                let what = "the superuser URL of a throw-away PostgreSQL server";
                Self::create_on(variable(SERVER, what))
            }
        }
    }

    /// A database on the server of this superuser's URL that holds nothing yet.
    pub fn create_on(server: String) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("acceptance_{}_{count}", std::process::id());
        execute(&server, &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"));
        execute(&server, &format!("CREATE DATABASE {name}"));
        Self::Postgres { server, name }
    }

    /// The URL of the pooler through which the program reaches this database.
    pub fn pooler(&self) -> Option<String> {
        match self {
            Self::Postgres { server, .. } if optional(SERVER).as_ref() == Some(server) => optional(POOLER),
            _ => None,
        }
    }

    /// What `database.url` is to be set to.
    pub fn url(&self) -> String {
        match (self, self.pooler()) {
            (Self::Postgres { name, .. }, Some(pooler)) => format!("{}/{name}", without_database(&pooler)),
            _ => self.direct_url(),
        }
    }

    fn direct_url(&self) -> String {
        match self {
            Self::Sqlite(file) => format!("sqlite://{}", file.display()),
            Self::Postgres { server, name } => format!("{}/{name}", without_database(server)),
        }
    }

    /// Host and port of the server; `None` for a file.
    pub fn server_address(&self) -> Option<String> {
        let Self::Postgres { server, .. } = self else {
            return None;
        };
        let authority = without_database(server).split("://").nth(1)?;
        Some(authority.rsplit('@').next()?.to_owned())
    }

    /// The URL with another host and port, through which the same database can be reached.
    pub fn url_through(&self, address: &str) -> String {
        let direct = self.server_address().expect("a server");
        self.direct_url().replacen(&direct, address, 1)
    }

    /// Runs statements on the server, behind the program's back.
    pub fn execute_on_server(&self, statements: &str) {
        assert!(
            matches!(self, Self::Postgres { .. }),
            "there is no SQL here for files"
        );
        execute(&self.direct_url(), statements);
    }

    /// Replaces a text by one of the same length, as a damaged disk would: in a column on the server, anywhere in the
    /// file, which must hold all that was committed.
    pub(crate) fn damage(&self, (table, column): (&str, &str), text: &str, damaged: &str) {
        assert_eq!(text.len(), damaged.len());
        match self {
            Self::Sqlite(file) => {
                let mut bytes = std::fs::read(file).unwrap();
                let windows = bytes.windows(text.len()).enumerate();
                let places: Vec<usize> = windows
                    .filter_map(|(at, window)| (window == text.as_bytes()).then_some(at))
                    .collect();
                assert!(
                    !places.is_empty(),
                    "{text} is not in the file; is its journal still open?"
                );
                for at in places {
                    bytes[at..at + damaged.len()].copy_from_slice(damaged.as_bytes());
                }
                std::fs::write(file, bytes).unwrap();
            }
            Self::Postgres { .. } => execute(
                &self.direct_url(),
                &format!("UPDATE {table} SET {column} = replace({column}, '{text}', '{damaged}')"),
            ),
        }
    }

    /// Each table's name and rows, as a server shows them; none for a file, which can be read as it is.
    pub fn rows_as_text(&self) -> Vec<(String, String)> {
        let Self::Postgres { .. } = self else {
            return Vec::new();
        };
        let tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'";
        let tables = texts(&self.direct_url(), tables);
        let rows = |table: &String| {
            texts(&self.direct_url(), &format!("SELECT t::text FROM \"{table}\" t")).join("\n")
        };
        tables.iter().map(|table| (table.clone(), rows(table))).collect()
    }

    /// Makes the database look as if a newer version of the program had migrated it. The program must be stopped.
    pub fn pretend_newer(&self) {
        match self {
            Self::Sqlite(file) => {
                // No SQL here: the step's name is exchanged in the file, in the table and in its index.
                let mut bytes = std::fs::read(file).unwrap();
                let places: Vec<usize> = bytes
                    .windows(FIRST_STEP.len())
                    .enumerate()
                    .filter_map(|(at, window)| (window == FIRST_STEP.as_bytes()).then_some(at))
                    .collect();
                assert!(
                    !places.is_empty(),
                    "the file names no step; is its journal still open?"
                );
                for at in places {
                    bytes[at..at + NEWER_STEP.len()].copy_from_slice(NEWER_STEP.as_bytes());
                }
                std::fs::write(file, bytes).unwrap();
            }
            Self::Postgres { .. } => execute(
                &self.direct_url(),
                &format!("INSERT INTO __diesel_schema_migrations (version) VALUES ('{NEWER_STEP}')"),
            ),
        }
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        if let Self::Postgres { server, name } = self
            && !std::thread::panicking()
        {
            execute(server, &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"));
        }
    }
}

/// An environment variable that the tests cannot do without.
pub fn variable(name: &str, what: &str) -> String {
    optional(name).unwrap_or_else(|| panic!("{name} is not set ({what}): run tests/run, or set it"))
}

pub(crate) fn optional(name: &str) -> Option<String> {
    #[expect(
        clippy::disallowed_methods,
        reason = "tests/run tells the tests where things are"
    )]
    std::env::var(name).ok()
}

fn without_database(server: &str) -> &str {
    let (scheme, rest) = server.split_once("://").expect("a URL");
    let end = rest.find('/').unwrap_or(rest.len());
    &server[..scheme.len() + 3 + end]
}

fn execute(url: &str, statement: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(url, NoTls)
            .await
            .unwrap_or_else(|error| panic!("{SERVER}: the server cannot be reached: {error}"));
        let connection = tokio::spawn(connection);
        client.batch_execute(statement).await.unwrap();
        drop(client);
        connection.await.unwrap().unwrap();
    });
}

/// The one text of each row that a query finds.
fn texts(url: &str, query: &str) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
        let connection = tokio::spawn(connection);
        let rows = client.query(query, &[]).await.unwrap();
        drop(client);
        connection.await.unwrap().unwrap();
        rows.iter().map(|row| row.get(0)).collect()
    })
}
