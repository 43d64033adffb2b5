//! SQLite's migrations, in one transaction that locks out every other process.

use std::path::Path;

use diesel::sqlite::Sqlite;
use diesel::{RunQueryDsl as _, SqliteConnection, sql_query};
use diesel_migrations::{EmbeddedMigrations, embed_migrations};

use super::connection::{Purpose, open};
use crate::failure::Failure;
use crate::migrations::{
    self, APPLIED_STEPS, AppliedStep, MigrateError, SchemaState, StepTables, run_pending,
};

const STEPS: EmbeddedMigrations = embed_migrations!("migrations/sqlite");

/// Compares the database with the steps of this program; changes nothing.
pub(super) fn schema_state(conn: &mut SqliteConnection) -> Result<SchemaState, Failure> {
    let found: StepTables =
        sql_query("SELECT count(*) AS count FROM sqlite_master WHERE name = '__diesel_schema_migrations'")
            .get_result(conn)?;
    let applied: Vec<AppliedStep> = match found.count {
        0 => Vec::new(),
        _ => sql_query(APPLIED_STEPS).load(conn)?,
    };
    migrations::schema_state::<Sqlite>(&STEPS, applied)
}

/// Runs the pending steps, all or none, and returns their versions.
pub(super) fn migrate(path: &Path) -> Result<Vec<String>, MigrateError> {
    let mut conn = open(path, Purpose::Writing)?;
    conn.exclusive_transaction(|conn| {
        let pending = schema_state(conn)?.pending()?;
        if !pending.is_empty() {
            run_pending(conn, STEPS)?;
        }
        Ok(pending)
    })
}
