//! The state of a database's schema against the steps that this program knows.
//!
//! Both databases have a folder of steps of the same names; running them is each database's own business.

use bidloop_domain::port::StoreError;
use diesel::backend::Backend;
use diesel::migration::MigrationSource;
use diesel_migrations::EmbeddedMigrations;

use crate::failure::Failure;

/// What a database's schema is to this program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SchemaState {
    /// It is this program's.
    Current,
    /// Steps are missing.
    Older {
        /// Their versions, in order.
        pending: Vec<String>,
    },
    /// A later program has changed it.
    Newer {
        /// The versions of the steps that this program does not know, in order.
        unknown: Vec<String>,
    },
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
    /// A step, or what is around it, failed. Earlier steps stay.
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

/// The versions of the embedded steps, in order.
pub(crate) fn known_versions<DB: Backend>(steps: &EmbeddedMigrations) -> Result<Vec<String>, Failure> {
    let steps = MigrationSource::<DB>::migrations(steps).map_err(|error| step_failure(&*error))?;
    let mut versions: Vec<String> = steps
        .iter()
        .map(|step| step.name().version().to_string())
        .collect();
    versions.sort_unstable();
    Ok(versions)
}

/// Compares the steps that this program knows with those that a database has.
pub(crate) fn compare(known: &[String], mut applied: Vec<String>) -> SchemaState {
    applied.sort_unstable();
    let unknown: Vec<String> = applied
        .iter()
        .filter(|version| !known.contains(version))
        .cloned()
        .collect();
    if !unknown.is_empty() {
        return SchemaState::Newer { unknown };
    }
    let pending: Vec<String> = known
        .iter()
        .filter(|version| !applied.contains(version))
        .cloned()
        .collect();
    if pending.is_empty() {
        SchemaState::Current
    } else {
        SchemaState::Older { pending }
    }
}

/// A failed step: the harness boxes its errors, so the text is all that is left of them.
pub(crate) fn step_failure(error: &(dyn std::error::Error + Send + Sync)) -> Failure {
    Failure::fault(format!("a migration failed: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn versions(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|&text| text.to_owned()).collect()
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
