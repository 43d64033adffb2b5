//! SQLite's migrations, in one transaction that locks out every other process.

use std::path::Path;

use diesel::dsl::sql;
use diesel::sql_types::{Bool, Text};
use diesel::sqlite::Sqlite;
use diesel::{RunQueryDsl as _, SqliteConnection};
use diesel_migrations::{EmbeddedMigrations, embed_migrations};

use super::connection::open;
use crate::failure::Failure;
use crate::migrations::{self, APPLIED_STEPS, MigrateError, SchemaState, run_pending};

const STEPS: EmbeddedMigrations = embed_migrations!("migrations/sqlite");

/// Compares the database with the steps of this program; changes nothing.
pub(super) fn schema_state(conn: &mut SqliteConnection) -> Result<SchemaState, Failure> {
    let is_migrated =
        sql::<Bool>("SELECT count(*) > 0 FROM sqlite_master WHERE name = '__diesel_schema_migrations'");
    let applied = if is_migrated.get_result(conn)? {
        sql::<Text>(APPLIED_STEPS).load(conn)?
    } else {
        Vec::new()
    };
    migrations::schema_state::<Sqlite>(&STEPS, applied)
}

/// Runs the pending steps, all or none, and returns their versions.
pub(super) fn migrate(path: &Path) -> Result<Vec<String>, MigrateError> {
    let mut conn = open(path, &[])?;
    conn.exclusive_transaction(|conn| {
        let pending = schema_state(conn)?.pending()?;
        if !pending.is_empty() {
            run_pending(conn, STEPS)?;
        }
        Ok(pending)
    })
}
