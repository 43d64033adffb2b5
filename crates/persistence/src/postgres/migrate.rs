//! PostgreSQL's migrations, under an advisory lock, so that replicas may start at the same time.

use diesel::dsl::sql;
use diesel::pg::Pg;
use diesel::sql_types::{Bool, Text};
use diesel_async::async_connection_wrapper::AsyncConnectionWrapper;
use diesel_async::{AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection as _};
use diesel_migrations::{EmbeddedMigrations, embed_migrations};

use super::connect::Connector;
use crate::failure::Failure;
use crate::migrations::{self, APPLIED_STEPS, MigrateError, SchemaState, run_pending};

const STEPS: EmbeddedMigrations = embed_migrations!("migrations/postgres");

/// Taken before migrating, under a number that no other program on the database uses. Creating an index on a large table
/// takes longer than a session's other statements may.
const LOCK: &str = "
    SET statement_timeout = 0;
    SET lock_timeout = '60s';
    SELECT pg_advisory_lock(7046029254386353131);
";

/// Compares the database with the steps of this program; changes nothing.
pub(super) async fn schema_state(conn: &mut AsyncPgConnection) -> Result<SchemaState, Failure> {
    let is_migrated = sql::<Bool>("SELECT to_regclass('__diesel_schema_migrations') IS NOT NULL");
    let applied = if is_migrated.get_result(conn).await? {
        sql::<Text>(APPLIED_STEPS).load(conn).await?
    } else {
        Vec::new()
    };
    migrations::schema_state::<Pg>(&STEPS, applied)
}

/// Runs the pending steps, each in a transaction of its own, and returns their versions.
///
/// The connection is only used here: the lock ends with it, however this ends.
pub(super) async fn migrate(connector: &Connector) -> Result<Vec<String>, MigrateError> {
    let mut conn = connector
        .connect()
        .await
        .map_err(|error| Failure::unavailable(error.to_string()))?;
    conn.batch_execute(LOCK).await?;
    let pending = schema_state(&mut conn).await?.pending()?;
    if pending.is_empty() {
        return Ok(pending);
    }
    // Diesel's steps run on its blocking interface.
    let mut conn = AsyncConnectionWrapper::<AsyncPgConnection>::from(conn);
    tokio::task::spawn_blocking(move || run_pending(&mut conn, STEPS))
        .await
        .map_err(|error| Failure::fault(format!("a migration was interrupted: {error}")))??;
    Ok(pending)
}
