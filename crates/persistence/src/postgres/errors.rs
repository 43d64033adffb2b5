//! What the server reports, as Diesel's errors. The SQLSTATE tells, whatever language the server speaks.

use diesel::result::{DatabaseErrorInformation, DatabaseErrorKind, Error};
use tokio_postgres::error::{DbError, ErrorPosition, SqlState};

pub(super) fn from_server(error: &tokio_postgres::Error) -> Error {
    match error.as_db_error() {
        Some(report) => Error::DatabaseError(kind(report.code()), Box::new(Report::of(report))),
        // The connection is gone, or cannot be used.
        None => Error::DatabaseError(
            DatabaseErrorKind::UnableToSendCommand,
            Box::new(super::connect::with_sources(error)),
        ),
    }
}

fn kind(code: &SqlState) -> DatabaseErrorKind {
    match *code {
        SqlState::UNIQUE_VIOLATION => DatabaseErrorKind::UniqueViolation,
        SqlState::FOREIGN_KEY_VIOLATION => DatabaseErrorKind::ForeignKeyViolation,
        SqlState::NOT_NULL_VIOLATION => DatabaseErrorKind::NotNullViolation,
        SqlState::CHECK_VIOLATION => DatabaseErrorKind::CheckViolation,
        // Both end when the transaction is run again.
        SqlState::T_R_SERIALIZATION_FAILURE | SqlState::T_R_DEADLOCK_DETECTED => {
            DatabaseErrorKind::SerializationFailure
        }
        SqlState::READ_ONLY_SQL_TRANSACTION => DatabaseErrorKind::ReadOnlyTransaction,
        SqlState::ADMIN_SHUTDOWN
        | SqlState::CRASH_SHUTDOWN
        | SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT => DatabaseErrorKind::ClosedConnection,
        _ => DatabaseErrorKind::Unknown,
    }
}

/// What the server reports. Diesel has no place for the SQLSTATE, so the message bears it.
struct Report {
    message: String,
    report: DbError,
}

impl Report {
    fn of(report: &DbError) -> Self {
        let code = report.code();
        let advice = match *code {
            SqlState::DUPLICATE_PSTATEMENT | SqlState::INVALID_SQL_STATEMENT_NAME => {
                "; if a pooler shares connections by transaction, set database.prepared_statements = false"
            }
            _ => "",
        };
        Self {
            message: format!("{} (SQLSTATE {}){advice}", report.message(), code.code()),
            report: report.clone(),
        }
    }
}

impl DatabaseErrorInformation for Report {
    fn message(&self) -> &str {
        &self.message
    }

    fn details(&self) -> Option<&str> {
        self.report.detail()
    }

    fn hint(&self) -> Option<&str> {
        self.report.hint()
    }

    fn table_name(&self) -> Option<&str> {
        self.report.table()
    }

    fn column_name(&self) -> Option<&str> {
        self.report.column()
    }

    fn constraint_name(&self) -> Option<&str> {
        self.report.constraint()
    }

    fn statement_position(&self) -> Option<i32> {
        match self.report.position()? {
            ErrorPosition::Original(position) | ErrorPosition::Internal { position, .. } => {
                i32::try_from(*position).ok()
            }
        }
    }
}
