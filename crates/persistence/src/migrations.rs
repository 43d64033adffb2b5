//! The state of a database's schema against the steps that this program knows, and running the steps that are missing.
//!
//! Both databases have a folder of steps with the same names.

use bidloop_domain::port::StoreError;
use diesel::backend::Backend;
use diesel::migration::MigrationSource;
use diesel_migrations::{EmbeddedMigrations, MigrationHarness};

use crate::failure::Failure;

/// How a database's schema compares with this program's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SchemaState {
    /// They are the same.
    Current,
    /// Steps are missing.
    Older {
        /// Their versions, in order.
        pending: Vec<String>,
    },
    /// A newer program has changed it.
    Newer {
        /// The versions of the steps that this program does not know, in order.
        unknown: Vec<String>,
    },
}

impl SchemaState {
    /// The steps to run: none if the schema is current, an error if it is newer.
    pub(crate) fn pending(self) -> Result<Vec<String>, MigrateError> {
        match self {
            Self::Current => Ok(Vec::new()),
            Self::Older { pending } => Ok(pending),
            Self::Newer { unknown } => Err(MigrateError::Newer { unknown }),
        }
    }
}

/// Why a database could not be brought to this program's schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MigrateError {
    /// It was made by a newer version; nothing was changed.
    #[error(
        "the database was migrated by a newer version of bidloop (steps {}); use that version or restore a \
         backup", .unknown.join(", ")
    )]
    Newer {
        /// The steps that this program does not know.
        unknown: Vec<String>,
    },
    /// A step, or what is around it, failed. Nothing was changed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<Failure> for MigrateError {
    fn from(failure: Failure) -> Self {
        Self::Store(failure.into())
    }
}

impl From<diesel::result::Error> for MigrateError {
    fn from(error: diesel::result::Error) -> Self {
        Failure::from(error).into()
    }
}

/// Reads the applied steps, on both databases.
pub(crate) const APPLIED_STEPS: &str = "SELECT CAST(version AS text) FROM __diesel_schema_migrations";

/// The versions of the embedded steps, in order.
pub(crate) fn versions_of<DB: Backend>(steps: &EmbeddedMigrations) -> Result<Vec<String>, Failure> {
    let steps = MigrationSource::<DB>::migrations(steps).map_err(|error| step_failure(&*error))?;
    let mut versions: Vec<String> = steps
        .iter()
        .map(|step| step.name().version().to_string())
        .collect();
    versions.sort_unstable();
    Ok(versions)
}

/// Compares the embedded steps with the versions of those that a database has.
pub(crate) fn schema_state<DB: Backend>(
    steps: &EmbeddedMigrations,
    applied: Vec<String>,
) -> Result<SchemaState, Failure> {
    Ok(compare(&versions_of::<DB>(steps)?, applied))
}

fn compare(known: &[String], mut applied: Vec<String>) -> SchemaState {
    let pending: Vec<String> = known
        .iter()
        .filter(|version| !applied.contains(version))
        .cloned()
        .collect();
    applied.retain(|version| !known.contains(version));
    applied.sort_unstable();
    if !applied.is_empty() {
        SchemaState::Newer { unknown: applied }
    } else if pending.is_empty() {
        SchemaState::Current
    } else {
        SchemaState::Older { pending }
    }
}

/// Runs the steps that a database lacks, in the order of their versions.
pub(crate) fn run_pending<DB: Backend>(
    conn: &mut impl MigrationHarness<DB>,
    steps: EmbeddedMigrations,
) -> Result<(), Failure> {
    // The harness boxes its errors, so their text is all that is left of them.
    conn.run_pending_migrations(steps)
        .map_err(|error| step_failure(&*error))?;
    Ok(())
}

/// PostgreSQL's words for a lock that was not had in time, and for a deadlock: another process was in the way.
const GIVEN_UP: [&str; 2] = ["(SQLSTATE 55P03)", "(SQLSTATE 40P01)"];

fn step_failure(error: &(dyn std::error::Error + Send + Sync)) -> Failure {
    let text = format!("a migration failed: {error}");
    if GIVEN_UP.iter().any(|sqlstate| text.contains(sqlstate)) {
        return Failure::unavailable(text);
    }
    Failure::fault(text)
}

#[cfg(test)]
mod tests {
    use bidloop_domain::port::StoreError;

    use super::*;

    fn versions(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|&text| text.to_owned()).collect()
    }

    #[test]
    fn a_lock_that_was_not_had_in_time_is_tried_for_again() {
        let failed = |text: &str| StoreError::from(step_failure(&*Box::from(text)));
        for text in [
            "canceling statement (SQLSTATE 55P03)",
            "deadlock detected (SQLSTATE 40P01)",
        ] {
            assert!(matches!(failed(text), StoreError::Unavailable(_)), "{text}");
        }
        assert!(matches!(
            failed("syntax error (SQLSTATE 42601)"),
            StoreError::Backend(_)
        ));
    }

    #[test]
    fn a_database_with_an_unknown_step_is_newer_even_if_it_lacks_a_known_one() {
        let known = versions(&["1", "2"]);
        assert_eq!(compare(&known, versions(&["2", "1"])), SchemaState::Current);
        assert_eq!(
            compare(&known, versions(&["1"])),
            SchemaState::Older {
                pending: versions(&["2"])
            }
        );
        assert_eq!(
            compare(&known, versions(&["1", "3"])),
            SchemaState::Newer {
                unknown: versions(&["3"])
            }
        );
    }
}
