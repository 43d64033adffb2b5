//! The program's database, read and filled from outside.

use std::path::PathBuf;

use anyhow::Result;
use rusqlite::Connection;

use crate::postgres::{PostgresDatabase, PostgresServer};

/// A database of the program.
#[derive(Debug)]
pub(crate) enum Database<'s> {
    /// A file.
    Sqlite(PathBuf),
    /// A database of a server.
    Postgres(PostgresDatabase<'s>),
}

impl Database<'_> {
    /// The name in the report.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Sqlite(_) => "SQLite",
            Self::Postgres(_) => "PostgreSQL",
        }
    }

    /// Its address, as the program's settings have it.
    pub(crate) fn url(&self) -> String {
        match self {
            Self::Sqlite(file) => format!("sqlite://{}", file.display()),
            Self::Postgres(database) => database.url.clone(),
        }
    }

    /// The first process of the database server, if it is known.
    pub(crate) fn server_pid(&self) -> Option<u32> {
        match self {
            Self::Sqlite(_) => None,
            Self::Postgres(database) => PostgresServer::pid(database.server),
        }
    }

    /// The one value that a query returns, as text.
    pub(crate) fn value(&self, query: &str) -> Result<String> {
        match self {
            Self::Sqlite(file) => {
                let as_text = format!("SELECT CAST(({query}) AS TEXT)");
                Ok(connection(file)?.query_row(&as_text, [], |row| row.get(0))?)
            }
            Self::Postgres(database) => database.execute(query),
        }
    }

    /// The one integer that a query returns.
    pub(crate) fn number(&self, query: &str) -> Result<i64> {
        Ok(self.value(query)?.parse()?)
    }

    /// Runs statements.
    pub(crate) fn execute(&self, statements: &str) -> Result<()> {
        match self {
            Self::Sqlite(file) => Ok(connection(file)?.execute_batch(statements)?),
            Self::Postgres(database) => database.execute(statements).map(drop),
        }
    }
}

fn connection(file: &PathBuf) -> Result<Connection> {
    let connection = Connection::open(file)?;
    // The data need not survive a crash.
    connection.execute_batch("PRAGMA busy_timeout = 30000; PRAGMA synchronous = OFF")?;
    Ok(connection)
}
