//! Why a database is not backed up.

use std::path::PathBuf;

use bidloop_domain::port::StoreError;

use crate::failure::Failure;

/// Why there is no backup. What was begun is deleted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BackUpError {
    /// The database is a server's, which has a program of its own for this.
    #[error("the database is on a PostgreSQL server; back it up with `pg_dump -Fc`")]
    Server,
    /// There is nothing to back up.
    #[error("{} is no database", .0.display())]
    NoDatabase(PathBuf),
    /// No file is overwritten.
    #[error("{} exists already", .0.display())]
    Exists(PathBuf),
    /// The file cannot be written.
    #[error("{} cannot be written: {}", .0.display(), .1)]
    File(PathBuf, String),
    /// The copy failed SQLite's check of its integrity, so the database itself is damaged, or the disk is.
    #[error("the copy is damaged, and was deleted: {0}")]
    Damaged(String),
    /// The database cannot be read, or the copy cannot be written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<Failure> for BackUpError {
    fn from(failure: Failure) -> Self {
        Self::Store(failure.into())
    }
}
