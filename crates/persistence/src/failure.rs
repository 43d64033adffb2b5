//! Why work on a connection failed, and what of it a port reports.

use bidloop_domain::port::StoreError;
use diesel::result::{DatabaseErrorKind, Error};

/// Why a piece of work on a connection failed. Returned by work, it rolls the transaction back.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Another transaction was in the way: the same transaction may succeed if it is run again at once.
    Conflict(String),
    /// A lock was not had in the time that the transaction allows.
    Locked(String),
    /// The connection is gone: a new one may succeed.
    Disconnected(String),
    /// Anything else, as the port reports it.
    Store(StoreError),
}

impl Failure {
    /// A stored value that the program never writes.
    pub(crate) fn corrupt(what: impl Into<String>) -> Self {
        Self::Store(StoreError::Corrupt(what.into()))
    }

    /// The database cannot be used now.
    pub(crate) fn unavailable(why: impl Into<String>) -> Self {
        Self::Store(StoreError::Unavailable(why.into()))
    }

    /// A defect of the program.
    pub(crate) fn fault(what: impl Into<String>) -> Self {
        Self::Store(StoreError::Backend(what.into()))
    }
}

impl From<Failure> for StoreError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Conflict(why) | Failure::Locked(why) | Failure::Disconnected(why) => {
                Self::Unavailable(why)
            }
            Failure::Store(error) => error,
        }
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::fault(error.to_string())
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let text = error.to_string();
        match error {
            Error::DatabaseError(kind, _) => match kind {
                DatabaseErrorKind::SerializationFailure => Self::Conflict(text),
                DatabaseErrorKind::UnableToSendCommand | DatabaseErrorKind::ClosedConnection => {
                    Self::Disconnected(text)
                }
                // A former primary that is a read-only standby now.
                DatabaseErrorKind::ReadOnlyTransaction => Self::unavailable(text),
                DatabaseErrorKind::Unknown => Self::from_message(text),
                _ => Self::fault(text),
            },
            Error::BrokenTransactionManager | Error::RollbackErrorOnCommit { .. } => Self::unavailable(text),
            Error::DeserializationError(_) => Self::corrupt(text),
            _ => Self::fault(text),
        }
    }
}

impl Failure {
    /// Judges by the message: SQLite always speaks English, and PostgreSQL's messages bear their SQLSTATE.
    fn from_message(message: String) -> Self {
        const CONFLICT: [&str; 2] = ["database is locked", "database table is locked"];
        const CORRUPT: [&str; 2] = ["database disk image is malformed", "file is not a database"];
        const UNAVAILABLE: [&str; 6] = [
            // Full, gone, not permitted.
            "database or disk is full",
            "disk I/O error",
            "unable to open database file",
            "attempt to write a readonly database",
            // Not migrated.
            "no such table",
            "no such column",
        ];
        const LOCKED: &str = "(SQLSTATE 55P03)";
        /// Starting or stopping (57P), overloaded or full (53), canceled (57014), a file that cannot be read or written
        /// (58), not migrated (42P01), a pooler that mixes up statements (42P05, 26000).
        const SERVER_UNAVAILABLE: [&str; 7] = [
            "(SQLSTATE 57P",
            "(SQLSTATE 53",
            "(SQLSTATE 57014)",
            "(SQLSTATE 58",
            "(SQLSTATE 42P01)",
            "(SQLSTATE 42P05)",
            "(SQLSTATE 26000)",
        ];
        let contains = |words: &[&str]| words.iter().any(|word| message.contains(word));
        if message.contains(LOCKED) {
            Self::Locked(message)
        } else if contains(&CONFLICT) {
            Self::Conflict(message)
        } else if contains(&CORRUPT) {
            Self::corrupt(message)
        } else if contains(&UNAVAILABLE) || contains(&SERVER_UNAVAILABLE) {
            Self::unavailable(message)
        } else {
            Self::fault(message)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(kind: DatabaseErrorKind, message: &str) -> Failure {
        Error::DatabaseError(kind, Box::new(message.to_owned())).into()
    }

    #[test]
    fn a_transaction_that_met_another_is_worth_running_again() {
        let conflicts = [
            failure(DatabaseErrorKind::SerializationFailure, "could not serialize"),
            failure(DatabaseErrorKind::Unknown, "database is locked"),
        ];
        for conflict in conflicts {
            assert!(matches!(conflict, Failure::Conflict(_)), "{conflict:?}");
        }
        let other = failure(DatabaseErrorKind::UniqueViolation, "duplicate key");
        assert!(!matches!(other, Failure::Conflict(_)), "{other:?}");
    }

    #[test]
    fn what_passes_is_unavailable_and_what_is_ours_is_not() {
        let unavailable = [
            failure(DatabaseErrorKind::UnableToSendCommand, "connection closed"),
            failure(DatabaseErrorKind::ClosedConnection, "terminating connection"),
            failure(
                DatabaseErrorKind::Unknown,
                "Relation »jobs« existiert nicht (SQLSTATE 42P01)",
            ),
            failure(
                DatabaseErrorKind::Unknown,
                "zu viele Verbindungen (SQLSTATE 53300)",
            ),
            failure(DatabaseErrorKind::Unknown, "no such table: jobs"),
            failure(DatabaseErrorKind::Unknown, "database or disk is full"),
        ];
        for failure in unavailable {
            assert!(matches!(StoreError::from(failure), StoreError::Unavailable(_)));
        }
        let locked = failure(DatabaseErrorKind::Unknown, "abgebrochen (SQLSTATE 55P03)");
        assert!(matches!(locked, Failure::Locked(_)), "{locked:?}");
        let fault = failure(DatabaseErrorKind::Unknown, "syntax error (SQLSTATE 42601)");
        assert!(matches!(StoreError::from(fault), StoreError::Backend(_)));
        let corrupt = Failure::from(Error::DeserializationError("no JSON".into()));
        assert!(matches!(StoreError::from(corrupt), StoreError::Corrupt(_)));
    }
}
