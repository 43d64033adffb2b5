//! Why work on a connection failed, and what of it a port reports.

use bidloop_domain::port::StoreError;
use diesel::result::{DatabaseErrorInformation, DatabaseErrorKind, Error};

/// Why a piece of work on a connection failed. Returned by work, it rolls the transaction back.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Another transaction was in the way: the same transaction may succeed if it is run again at once.
    Conflict(String),
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
            Failure::Conflict(why) | Failure::Disconnected(why) => Self::Unavailable(why),
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
            Error::DatabaseError(kind, information) => match kind {
                DatabaseErrorKind::SerializationFailure => Self::Conflict(text),
                DatabaseErrorKind::UnableToSendCommand | DatabaseErrorKind::ClosedConnection => {
                    Self::Disconnected(text)
                }
                // A former primary that is a read-only standby now.
                DatabaseErrorKind::ReadOnlyTransaction => Self::unavailable(text),
                DatabaseErrorKind::Unknown if is_deadlock(&*information) => Self::Conflict(text),
                DatabaseErrorKind::Unknown => Self::from_message(text),
                _ => Self::fault(text),
            },
            Error::BrokenTransactionManager | Error::RollbackErrorOnCommit { .. } => Self::unavailable(text),
            Error::DeserializationError(_) => Self::corrupt(text),
            _ => Self::fault(text),
        }
    }
}

/// Recognizes PostgreSQL's report of a deadlock in any language: it is the one error of our statements that has a
/// detail and a hint, but neither a position in the statement nor a table. Another error taken for it would only run
/// the transaction again.
///
/// Diesel has no kind for a deadlock, and diesel-async hides its SQLSTATE (40P01).
fn is_deadlock(information: &(dyn DatabaseErrorInformation + Send + Sync)) -> bool {
    information.details().is_some()
        && information.hint().is_some()
        && information.statement_position().is_none()
        && information.table_name().is_none()
}

impl Failure {
    /// Judges by the message, for want of a code: diesel-async passes on neither SQLSTATE nor SQLite's result code.
    /// SQLite always speaks English. Of a PostgreSQL server that does not, these errors are reported as defects: the
    /// API then answers 500 instead of 503.
    fn from_message(message: String) -> Self {
        const DISCONNECTED: &str = "terminating connection";
        const CONFLICT: [&str; 2] = ["database is locked", "database table is locked"];
        const CORRUPT: [&str; 2] = ["database disk image is malformed", "file is not a database"];
        const UNAVAILABLE: [&str; 14] = [
            // PostgreSQL: starting, stopping, overloaded, full.
            "the database system is",
            "remaining connection slots",
            "sorry, too many clients",
            "too many connections",
            "canceling statement due to",
            "could not extend file",
            "No space left on device",
            "out of memory",
            // SQLite: full, gone, not permitted.
            "database or disk is full",
            "disk I/O error",
            "unable to open database file",
            "attempt to write a readonly database",
            // Not migrated.
            "no such table",
            "no such column",
        ];
        let contains = |words: &[&str]| words.iter().any(|word| message.contains(word));
        let lacks_table = message.starts_with("relation \"") && message.ends_with("does not exist");
        if message.starts_with(DISCONNECTED) {
            Self::Disconnected(message)
        } else if contains(&CONFLICT) {
            Self::Conflict(message)
        } else if contains(&CORRUPT) {
            Self::corrupt(message)
        } else if contains(&UNAVAILABLE) || lacks_table {
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

    /// What the server reports, in its own language.
    struct Report {
        message: &'static str,
        detail: Option<&'static str>,
        hint: Option<&'static str>,
        position: Option<i32>,
    }

    impl DatabaseErrorInformation for Report {
        fn message(&self) -> &str {
            self.message
        }

        fn details(&self) -> Option<&str> {
            self.detail
        }

        fn hint(&self) -> Option<&str> {
            self.hint
        }

        fn table_name(&self) -> Option<&str> {
            None
        }

        fn column_name(&self) -> Option<&str> {
            None
        }

        fn constraint_name(&self) -> Option<&str> {
            None
        }

        fn statement_position(&self) -> Option<i32> {
            self.position
        }
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
    fn a_deadlock_is_recognized_in_any_language() {
        let report = Report {
            message: "Verklemmung entdeckt",
            detail: Some("Prozess 7 wartet auf ShareLock auf Transaktion 8; blockiert von Prozess 9."),
            hint: Some("Einzelheiten zur Anfrage finden Sie im Serverlog."),
            position: None,
        };
        assert!(is_deadlock(&report));
        assert!(!is_deadlock(&Report {
            message: "Operator existiert nicht: text = bigint",
            position: Some(31),
            ..report
        }));
    }

    #[test]
    fn what_passes_is_unavailable_and_what_is_ours_is_not() {
        let unavailable = [
            failure(DatabaseErrorKind::UnableToSendCommand, "connection closed"),
            failure(
                DatabaseErrorKind::Unknown,
                "terminating connection due to administrator command",
            ),
            failure(DatabaseErrorKind::Unknown, "relation \"jobs\" does not exist"),
            failure(DatabaseErrorKind::Unknown, "no such table: jobs"),
            failure(DatabaseErrorKind::Unknown, "database or disk is full"),
        ];
        for failure in unavailable {
            assert!(matches!(StoreError::from(failure), StoreError::Unavailable(_)));
        }
        let fault = failure(DatabaseErrorKind::Unknown, "syntax error at or near \"SELEC\"");
        assert!(matches!(StoreError::from(fault), StoreError::Backend(_)));
        let corrupt = Failure::from(Error::DeserializationError("no JSON".into()));
        assert!(matches!(StoreError::from(corrupt), StoreError::Corrupt(_)));
    }
}
