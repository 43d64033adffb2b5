//! PostgreSQL's migrations, under an advisory lock, so that replicas may start at the same time.

use diesel::dsl::sql;
use diesel::pg::Pg;
use diesel::sql_types::{Bool, Text};
use diesel_async::async_connection_wrapper::AsyncConnectionWrapper;
use diesel_async::{AnsiTransactionManager, TransactionManager};
use diesel_migrations::{EmbeddedMigrations, embed_migrations};

use super::connect::Connector;
use super::connection::Conn;
use super::run::RunQueryDsl as _;
use crate::failure::Failure;
use crate::migrations::{self, APPLIED_STEPS, MigrateError, SchemaState, run_pending};

const STEPS: EmbeddedMigrations = embed_migrations!("migrations/postgres");

/// Begins the migration. The lock has a number that no other program on the database uses. It ends with the transaction, as
/// the settings do, whatever session a pooler gives it. Creating an index on a large table takes longer than other
/// statements may.
const BEGIN: &str = "
    BEGIN;
    SET LOCAL statement_timeout = 0;
    SET LOCAL lock_timeout = '60s';
    SELECT pg_advisory_xact_lock(7046029254386353131);
";

/// Compares the database with the steps of this program; changes nothing.
pub(super) async fn schema_state(conn: &mut Conn) -> Result<SchemaState, Failure> {
    let is_migrated = sql::<Bool>("SELECT to_regclass('__diesel_schema_migrations') IS NOT NULL");
    let applied = if is_migrated.get_result(conn).await? {
        sql::<Text>(APPLIED_STEPS).load(conn).await?
    } else {
        Vec::new()
    };
    migrations::schema_state::<Pg>(&STEPS, applied)
}

/// Runs the pending steps in one transaction, and returns their versions.
pub(super) async fn migrate(connector: &Connector) -> Result<Vec<String>, MigrateError> {
    let mut conn = connector
        .connect()
        .await
        .map_err(|error| Failure::unavailable(error.to_string()))?;
    AnsiTransactionManager::begin_transaction_sql(&mut conn, BEGIN).await?;
    let pending = schema_state(&mut conn).await?.pending()?;
    if !pending.is_empty() {
        // Diesel's steps run on its blocking interface.
        let mut blocking = AsyncConnectionWrapper::<Conn>::from(conn);
        let steps = tokio::task::spawn_blocking(move || {
            run_pending(&mut blocking, STEPS)?;
            Ok::<_, Failure>(blocking.into_inner())
        });
        conn = steps
            .await
            .map_err(|error| Failure::fault(format!("a migration was interrupted: {error}")))??;
    }
    AnsiTransactionManager::commit_transaction(&mut conn).await?;
    Ok(pending)
}
