//! SQLite's migrations, in one transaction that keeps every other process out.

use std::path::Path;

use diesel::migration::MigrationSource;
use diesel::sql_types::{BigInt, Text};
use diesel::sqlite::Sqlite;
use diesel::{QueryableByName, RunQueryDsl as _, SqliteConnection};
use diesel_migrations::{EmbeddedMigrations, MigrationHarness as _, embed_migrations};

use super::connection::{Purpose, open};
use crate::failure::Failure;
use crate::migrations::{MigrateError, SchemaState, compare, known_versions, step_failure};

const STEPS: EmbeddedMigrations = embed_migrations!("migrations/sqlite");

/// Compares the database with the steps of this program; changes nothing.
pub(super) fn schema_state(conn: &mut SqliteConnection) -> Result<SchemaState, Failure> {
    #[derive(QueryableByName)]
    struct Found {
        #[diesel(sql_type = BigInt)]
        tables: i64,
    }
    #[derive(QueryableByName)]
    struct Applied {
        #[diesel(sql_type = Text)]
        version: String,
    }
    let known = known_versions::<Sqlite>(&STEPS)?;
    let found: Found = diesel::sql_query(
        "SELECT count(*) AS tables FROM sqlite_master WHERE name = '__diesel_schema_migrations'",
    )
    .get_result(conn)?;
    if found.tables == 0 {
        return Ok(SchemaState::Older { pending: known });
    }
    let applied: Vec<Applied> =
        diesel::sql_query("SELECT version FROM __diesel_schema_migrations").load(conn)?;
    Ok(compare(
        &known,
        applied.into_iter().map(|row| row.version).collect(),
    ))
}

/// Runs what is pending, all or nothing, and returns the versions of the steps that ran.
pub(super) fn migrate(path: &Path) -> Result<Vec<String>, MigrateError> {
    let mut conn = open(path, Purpose::Writing)?;
    conn.exclusive_transaction(|conn| {
        let pending = match schema_state(conn)? {
            SchemaState::Current => return Ok(Vec::new()),
            SchemaState::Newer { unknown } => return Err(MigrateError::Newer { unknown }),
            SchemaState::Older { pending } => pending,
        };
        // Makes the table of steps, on a new database.
        let applied = conn.applied_migrations().map_err(|error| step_failure(&*error))?;
        let mut steps =
            MigrationSource::<Sqlite>::migrations(&STEPS).map_err(|error| step_failure(&*error))?;
        steps.retain(|step| !applied.contains(&step.name().version()));
        steps.sort_unstable_by(|a, b| a.name().version().cmp(&b.name().version()));
        for step in &steps {
            conn.run_migration(step).map_err(|error| step_failure(&*error))?;
        }
        Ok(pending)
    })
}
