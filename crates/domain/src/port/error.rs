//! Why a store command failed.

use crate::model::CorruptJob;

/// A store's failure. The texts are for the log, never for a caller's answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The database cannot be reached, is overloaded or is not migrated; the same call may succeed later.
    #[error("the database is unavailable: {0}")]
    Unavailable(String),
    /// Stored data cannot be read.
    #[error("stored data is corrupt: {0}")]
    Corrupt(String),
    /// The database refused the statement, because of a fault in the adapter.
    #[error("the database refused a statement: {0}")]
    Backend(String),
}

impl From<CorruptJob> for StoreError {
    fn from(fault: CorruptJob) -> Self {
        Self::Corrupt(fault.to_string())
    }
}
