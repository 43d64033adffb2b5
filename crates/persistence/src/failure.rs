//! What goes wrong inside a store, and what of it a port says.

use bidloop_domain::port::StoreError;
use diesel::result::{DatabaseErrorInformation, DatabaseErrorKind, Error};

/// Why a piece of work on a connection failed. Returned by work, it rolls the transaction back.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The database's own error.
    Database(Error),
    /// A stored value is none that the program writes.
    Corrupt(String),
    /// The database cannot be used now.
    Unavailable(String),
    /// A fault of ours.
    Fault(String),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Database(error)
    }
}

impl From<Failure> for StoreError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Database(error) => match judge(&error) {
                Judgement::Conflict | Judgement::Away => Self::Unavailable(error.to_string()),
                Judgement::Corrupt => Self::Corrupt(error.to_string()),
                Judgement::Fault => Self::Backend(error.to_string()),
            },
            Failure::Corrupt(what) => Self::Corrupt(what),
            Failure::Unavailable(why) => Self::Unavailable(why),
            Failure::Fault(what) => Self::Backend(what),
        }
    }
}

impl Failure {
    /// Whether the same transaction may succeed if it is run again at once: another one was in its way.
    pub(crate) fn is_conflict(&self) -> bool {
        matches!(self, Self::Database(error) if judge(error) == Judgement::Conflict)
    }

    /// Whether the connection is gone, so that a new one may succeed.
    pub(crate) fn is_lost_connection(&self) -> bool {
        let Self::Database(Error::DatabaseError(kind, information)) = self else {
            return false;
        };
        match kind {
            DatabaseErrorKind::UnableToSendCommand | DatabaseErrorKind::ClosedConnection => true,
            // The server's last words on a connection that it closes.
            DatabaseErrorKind::Unknown => information.message().starts_with(LAST_WORDS),
            _ => false,
        }
    }
}

const LAST_WORDS: &str = "terminating connection";

/// What an error of the database amounts to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Judgement {
    /// Another transaction was in the way.
    Conflict,
    /// The database is away, full, overloaded or not migrated.
    Away,
    /// What is stored cannot be read.
    Corrupt,
    /// Anything else is ours.
    Fault,
}

fn judge(error: &Error) -> Judgement {
    match error {
        Error::DatabaseError(kind, information) => judge_database_error(*kind, &**information),
        Error::BrokenTransactionManager | Error::RollbackErrorOnCommit { .. } => Judgement::Away,
        Error::DeserializationError(_) => Judgement::Corrupt,
        _ => Judgement::Fault,
    }
}

fn judge_database_error(
    kind: DatabaseErrorKind,
    information: &(dyn DatabaseErrorInformation + Send + Sync),
) -> Judgement {
    match kind {
        DatabaseErrorKind::SerializationFailure => Judgement::Conflict,
        DatabaseErrorKind::UnableToSendCommand
        | DatabaseErrorKind::ClosedConnection
        // A former primary that is a read-only standby now.
        | DatabaseErrorKind::ReadOnlyTransaction => Judgement::Away,
        DatabaseErrorKind::Unknown => judge_message(information.message()),
        _ => Judgement::Fault,
    }
}

/// Diesel passes on neither SQLSTATE nor SQLite's codes, so these are told by the server's words. A server that
/// speaks another language than English has such errors reported as faults: a 500 where a 503 would be kinder.
fn judge_message(message: &str) -> Judgement {
    const CONFLICT: [&str; 3] = [
        "deadlock detected",
        "database is locked",
        "database table is locked",
    ];
    const CORRUPT: [&str; 2] = ["database disk image is malformed", "file is not a database"];
    const AWAY: [&str; 15] = [
        // PostgreSQL: starting, stopping, overloaded, full.
        LAST_WORDS,
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
    let says = |words: &[&str]| words.iter().any(|word| message.contains(word));
    let lacks_table = message.starts_with("relation \"") && message.ends_with("does not exist");
    if says(&CONFLICT) {
        Judgement::Conflict
    } else if says(&CORRUPT) {
        Judgement::Corrupt
    } else if says(&AWAY) || lacks_table {
        Judgement::Away
    } else {
        Judgement::Fault
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(kind: DatabaseErrorKind, message: &str) -> Failure {
        Failure::Database(Error::DatabaseError(kind, Box::new(message.to_owned())))
    }

    #[test]
    fn a_transaction_that_met_another_is_worth_running_again() {
        assert!(error(DatabaseErrorKind::SerializationFailure, "could not serialize").is_conflict());
        assert!(error(DatabaseErrorKind::Unknown, "deadlock detected").is_conflict());
        assert!(error(DatabaseErrorKind::Unknown, "database is locked").is_conflict());
        assert!(!error(DatabaseErrorKind::UniqueViolation, "duplicate key").is_conflict());
    }

    #[test]
    fn what_passes_is_unavailable_and_what_is_ours_is_not() {
        let unavailable = [
            error(DatabaseErrorKind::UnableToSendCommand, "connection closed"),
            error(
                DatabaseErrorKind::Unknown,
                "terminating connection due to administrator command",
            ),
            error(DatabaseErrorKind::Unknown, "relation \"jobs\" does not exist"),
            error(DatabaseErrorKind::Unknown, "no such table: jobs"),
            error(DatabaseErrorKind::Unknown, "database or disk is full"),
        ];
        for failure in unavailable {
            assert!(matches!(StoreError::from(failure), StoreError::Unavailable(_)));
        }
        let fault = error(DatabaseErrorKind::Unknown, "syntax error at or near \"SELEC\"");
        assert!(matches!(StoreError::from(fault), StoreError::Backend(_)));
        let corrupt = Failure::Database(Error::DeserializationError("no JSON".into()));
        assert!(matches!(StoreError::from(corrupt), StoreError::Corrupt(_)));
    }
}
