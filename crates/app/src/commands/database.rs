//! Opening the database for a command: reachable and at this program's schema, or a message that says what to do.

use bidloop_persistence::{Database, DatabaseSettings, MigrateError, SchemaState};

use super::Failure;
use crate::settings::Settings;

/// Prepares the database; it need not be up. The URL is good, or the settings would not have been read; what can still
/// be in the way is the machine, such as a folder that cannot be made.
pub(super) fn open(settings: &Settings) -> Result<Database, Failure> {
    Database::open(&DatabaseSettings::new(&settings.database.url))
        .map_err(|error| Failure::failed(format!("database.url: {error}")))
}

/// For commands that change nothing of the schema: it must be this program's already.
pub(super) async fn open_current(settings: &Settings) -> Result<Database, Failure> {
    let database = open(settings)?;
    require_current(&database).await?;
    Ok(database)
}

/// For commands that migrate by themselves, unless `database.auto_migrate` says otherwise.
pub(super) async fn open_migrated(settings: &Settings) -> Result<Database, Failure> {
    let database = open(settings)?;
    if settings.database.auto_migrate {
        migrate(&database).await?;
    } else {
        require_current(&database).await?;
    }
    Ok(database)
}

/// Migrates; the versions of the steps that ran.
pub(super) async fn migrate(database: &Database) -> Result<Vec<String>, Failure> {
    database.migrate().await.map_err(|error| match error {
        MigrateError::Store(error) => error.into(),
        newer @ MigrateError::Newer { .. } => Failure::failed(newer.to_string()),
    })
}

async fn require_current(database: &Database) -> Result<(), Failure> {
    schema_fault(&database.schema_state().await?).map_or(Ok(()), |fault| Err(Failure::failed(fault)))
}

/// What is wrong with a schema, and what to do; `None` if it is this program's.
pub(super) fn schema_fault(state: &SchemaState) -> Option<String> {
    match state {
        SchemaState::Current => None,
        SchemaState::Older { pending } => Some(format!(
            "the database's schema is older than this program: {} steps are pending; run `bidloop migrate`",
            pending.len()
        )),
        SchemaState::Newer { unknown } => Some(format!(
            "the database was migrated by a newer version of bidloop (it has the steps {}); run that version",
            unknown.join(", ")
        )),
    }
}
