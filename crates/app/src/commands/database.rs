//! Opens the database for a command and checks its schema, with an error that says what to do.

use std::path::Path;

use bidloop_persistence::{Database, MigrateError, OpenError, SchemaState};

use super::progress::Progress;
use super::{Failure, output};
use crate::settings::{Settings, opening};

/// Prepares the database, which need not be reachable. The settings have checked the URL, but the machine may refuse,
/// for example if a folder cannot be made.
pub(super) fn open(settings: &Settings) -> Result<Database, Failure> {
    Database::open(&opening(&settings.database)).map_err(|error| match error {
        OpenError::KeyFile(_) => Failure::failed(error.to_string()),
        _ => Failure::failed(format!("database.url: {error}")),
    })
}

/// For commands that do not migrate: the database must be there, and its schema current. It makes nothing.
pub(super) async fn open_current(settings: &Settings) -> Result<Database, Failure> {
    let url = settings.database.url.expose();
    if let Some(path) = url.strip_prefix("sqlite://")
        && !Path::new(path).exists()
    {
        return Err(Failure::failed(format!(
            "there is no database {path} yet: `bidloop apply` and `bidloop serve` make it"
        )));
    }
    let database = open(settings)?;
    require_current(&database).await?;
    Ok(database)
}

/// For commands that migrate, unless `database.auto_migrate` is false.
pub(super) async fn open_migrated(settings: &Settings) -> Result<Database, Failure> {
    let database = open(settings)?;
    if settings.database.auto_migrate {
        migrate(&database).await?;
    } else {
        require_current(&database).await?;
    }
    Ok(database)
}

/// Migrates. Returns the versions of the steps that ran.
pub(super) async fn migrate(database: &Database) -> Result<Vec<String>, Failure> {
    let progress = Progress::of("Migrating the database");
    progress
        .during(database.migrate())
        .await
        .map_err(|error| match error {
            MigrateError::Store(error) => error.into(),
            newer @ MigrateError::Newer { .. } => Failure::failed(newer.to_string()),
        })
}

async fn require_current(database: &Database) -> Result<(), Failure> {
    schema_fault(&database.schema_state().await?).map_or(Ok(()), |fault| Err(Failure::failed(fault)))
}

/// The fault of a schema, and what to do; `None` if it is current.
pub(super) fn schema_fault(state: &SchemaState) -> Option<String> {
    match state {
        SchemaState::Current => None,
        SchemaState::Older { pending } => Some(format!(
            "the database's schema is older than this program: {} pending; run `bidloop migrate`",
            output::counted(pending.len() as u64, "step is", "steps are")
        )),
        SchemaState::Newer { unknown } => Some(format!(
            "the database was migrated by a newer version of bidloop (it has the steps {}); run that version",
            unknown.join(", ")
        )),
    }
}
