//! PostgreSQL's migrations, under an advisory lock, so that replicas may start side by side.

use diesel::QueryableByName;
use diesel::migration::MigrationSource;
use diesel::pg::Pg;
use diesel::sql_types::{Bool, Text};
use diesel_async::async_connection_wrapper::AsyncConnectionWrapper;
use diesel_async::{AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection as _};
use diesel_migrations::{EmbeddedMigrations, MigrationHarness as _, embed_migrations};

use super::connect::Connector;
use crate::failure::Failure;
use crate::migrations::{MigrateError, SchemaState, compare, known_versions, step_failure};

const STEPS: EmbeddedMigrations = embed_migrations!("migrations/postgres");

/// Held while migrating; any number that no other program on the database uses. Creating an index on a large
/// table takes longer than a session's statements may otherwise.
const LOCK: &str = "
    SET statement_timeout = 0;
    SET lock_timeout = '60s';
    SELECT pg_advisory_lock(7046029254386353131);
";

/// Compares the database with the steps of this program; changes nothing.
pub(super) async fn schema_state(conn: &mut AsyncPgConnection) -> Result<SchemaState, Failure> {
    #[derive(QueryableByName)]
    struct Found {
        #[diesel(sql_type = Bool)]
        found: bool,
    }
    #[derive(QueryableByName)]
    struct Applied {
        #[diesel(sql_type = Text)]
        version: String,
    }
    let known = known_versions::<Pg>(&STEPS)?;
    let table: Found =
        diesel::sql_query("SELECT to_regclass('__diesel_schema_migrations') IS NOT NULL AS found")
            .get_result(conn)
            .await?;
    if !table.found {
        return Ok(SchemaState::Older { pending: known });
    }
    let applied: Vec<Applied> =
        diesel::sql_query("SELECT version::text AS version FROM __diesel_schema_migrations")
            .load(conn)
            .await?;
    Ok(compare(
        &known,
        applied.into_iter().map(|row| row.version).collect(),
    ))
}

/// Runs what is pending, each step in a transaction of its own, and returns the versions of the steps that ran.
///
/// The connection is this call's alone: the lock goes with it, however the call ends.
pub(super) async fn migrate(connector: &Connector) -> Result<Vec<String>, MigrateError> {
    let mut conn = connector
        .connect()
        .await
        .map_err(|error| Failure::unavailable(error.to_string()))?;
    conn.batch_execute(LOCK).await?;
    let pending = match schema_state(&mut conn).await? {
        SchemaState::Current => return Ok(Vec::new()),
        SchemaState::Newer { unknown } => return Err(MigrateError::Newer { unknown }),
        SchemaState::Older { pending } => pending,
    };
    // Diesel's steps run on its blocking interface.
    let run = tokio::task::spawn_blocking(move || run_pending(AsyncConnectionWrapper::from(conn)));
    run.await
        .map_err(|error| Failure::fault(format!("migrating was cut short: {error}")))??;
    Ok(pending)
}

fn run_pending(mut conn: AsyncConnectionWrapper<AsyncPgConnection>) -> Result<(), Failure> {
    // Makes the table of steps, on a new database.
    conn.applied_migrations().map_err(|error| step_failure(&*error))?;
    let applied = conn.applied_migrations().map_err(|error| step_failure(&*error))?;
    let mut steps = MigrationSource::<Pg>::migrations(&STEPS).map_err(|error| step_failure(&*error))?;
    steps.retain(|step| !applied.contains(&step.name().version()));
    steps.sort_unstable_by(|a, b| a.name().version().cmp(&b.name().version()));
    for step in &steps {
        conn.run_migration(step).map_err(|error| step_failure(&*error))?;
    }
    Ok(())
}
