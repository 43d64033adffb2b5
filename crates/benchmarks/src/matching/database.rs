//! The database under the program, asked and filled from outside.

use std::fmt::Write as _;
use std::io::{BufWriter, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use bidloop_domain::matching::JobSignature;
use rusqlite::{Connection, params};

use crate::postgres::PostgresDatabase;

/// A job as it is stored.
#[derive(Debug)]
pub(super) struct StoredPost {
    pub(super) id: String,
    pub(super) seq: i64,
    pub(super) posted_at: i64,
    pub(super) json: String,
    /// What ingest stores beside a job.
    pub(super) signature: JobSignature,
}

/// Which database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Sqlite,
    Postgres,
}

impl Kind {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "SQLite",
            Self::Postgres => "PostgreSQL",
        }
    }
}

/// A database of the program's.
#[derive(Debug)]
pub(super) enum Database<'s> {
    /// A file.
    Sqlite(PathBuf),
    /// A database of a server.
    Postgres(PostgresDatabase<'s>),
}

impl Database<'_> {
    pub(super) const fn kind(&self) -> Kind {
        match self {
            Self::Sqlite(_) => Kind::Sqlite,
            Self::Postgres(_) => Kind::Postgres,
        }
    }

    /// The number that a query answers.
    pub(super) fn number(&self, query: &str) -> Result<i64> {
        match self {
            Self::Sqlite(_) => Ok(self.connection()?.query_row(query, [], |row| row.get(0))?),
            Self::Postgres(database) => Ok(database.sql(query)?.parse()?),
        }
    }

    /// Carries out statements.
    pub(super) fn execute(&self, statements: &str) -> Result<()> {
        match self {
            Self::Sqlite(_) => Ok(self.connection()?.execute_batch(statements)?),
            Self::Postgres(database) => database.sql(statements).map(drop),
        }
    }

    /// A way in for many jobs, while no program uses the database.
    pub(super) fn loader(&self) -> Result<Loader> {
        match self {
            Self::Sqlite(_) => {
                let connection = self.connection()?;
                // Nothing of it is worth anything after a crash.
                connection.execute_batch("PRAGMA synchronous = OFF; PRAGMA cache_size = -200000")?;
                Ok(Loader::Sqlite(connection))
            }
            Self::Postgres(database) => {
                let jobs = Copy::begin(database, "COPY jobs (id, seq, posted_at, json) FROM STDIN")?;
                let into_signatures = "COPY job_signatures (seq, signature) FROM STDIN";
                let signatures = Copy::begin(database, into_signatures)?;
                Ok(Loader::Postgres { jobs, signatures })
            }
        }
    }

    fn connection(&self) -> Result<Connection> {
        let Self::Sqlite(file) = self else {
            anyhow::bail!("this is no SQLite database");
        };
        let connection = Connection::open(file)?;
        connection.busy_timeout(Duration::from_secs(30))?;
        Ok(connection)
    }
}

/// Takes jobs in, many at once.
#[derive(Debug)]
pub(super) enum Loader {
    Sqlite(Connection),
    Postgres { jobs: Copy, signatures: Copy },
}

impl Loader {
    pub(super) fn add(&mut self, posts: &[StoredPost]) -> Result<()> {
        match self {
            Self::Sqlite(connection) => {
                let transaction = connection.transaction()?;
                let mut jobs = transaction
                    .prepare_cached("INSERT INTO jobs (id, seq, posted_at, json) VALUES (?1, ?2, ?3, ?4)")?;
                let mut signatures = transaction
                    .prepare_cached("INSERT INTO job_signatures (seq, signature) VALUES (?1, ?2)")?;
                for post in posts {
                    jobs.execute(params![post.id, post.seq, post.posted_at, post.json])?;
                    signatures.execute(params![post.seq, post.signature.to_bytes()])?;
                }
                drop((jobs, signatures));
                Ok(transaction.commit()?)
            }
            Self::Postgres { jobs, signatures } => {
                for post in posts {
                    jobs.line(format_args!(
                        "{}\t{}\t{}\t{}",
                        post.id,
                        post.seq,
                        post.posted_at,
                        escaped(&post.json)
                    ))?;
                    let signature = hexadecimal(&post.signature.to_bytes());
                    signatures.line(format_args!("{}\t{signature}", post.seq))?;
                }
                Ok(())
            }
        }
    }

    pub(super) fn finish(self) -> Result<()> {
        match self {
            Self::Sqlite(_) => Ok(()),
            Self::Postgres { jobs, signatures } => {
                jobs.end()?;
                signatures.end()
            }
        }
    }
}

/// JSON as a field of `COPY`'s text: the backslash is the only thing in it that would be read otherwise.
fn escaped(json: &str) -> String {
    json.replace('\\', "\\\\")
}

/// Bytes as a field of `COPY`'s text.
fn hexadecimal(bytes: &[u8]) -> String {
    let mut field = r"\\x".to_owned();
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(field, "{byte:02x}");
    }
    field
}

/// A `COPY … FROM STDIN` under way.
#[derive(Debug)]
pub(super) struct Copy {
    psql: Child,
    input: BufWriter<ChildStdin>,
}

impl Copy {
    fn begin(database: &PostgresDatabase<'_>, statement: &str) -> Result<Self> {
        let mut psql = database.psql(statement).stdin(Stdio::piped()).spawn()?;
        let input = psql.stdin.take().context("psql takes no input")?;
        let input = BufWriter::with_capacity(1 << 20, input);
        Ok(Self { psql, input })
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) -> Result<()> {
        self.input.write_fmt(line)?;
        Ok(self.input.write_all(b"\n")?)
    }

    fn end(mut self) -> Result<()> {
        self.input.flush()?;
        drop(self.input);
        ensure!(self.psql.wait()?.success(), "psql could not copy the rows");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_copied_as_it_is() {
        assert_eq!(escaped(r#"{"title":"a \"b\""}"#), r#"{"title":"a \\"b\\""}"#);
    }

    #[test]
    fn bytes_are_copied_in_hexadecimal() {
        assert_eq!(hexadecimal(&[0, 171]), r"\\x00ab");
    }
}
