//! PostgreSQL databases that serve one test after the other and are emptied in between, which costs the server a
//! tenth of making and dropping one.
//!
//! For tests that speak through the ports alone: whatever else they changed of a database would stay. What a failed
//! test wrote is there until the next test takes its database.

#![expect(clippy::unwrap_used, reason = "test code")]

use tokio_postgres::Client;

use crate::test_database::{connect, connect_to_server, digest_of_steps, postgres_url, template};

/// First half of the key of the lock on a spare database; the other is its number.
const SPARE_LOCK: i32 = 314_159_265;

/// Removes all rows but those of the migrations. Others refer to organizations and people, so these go last.
const EMPTY: &str = "
    DO $$
    DECLARE emptied TEXT;
    BEGIN
        FOR emptied IN
            SELECT tablename FROM pg_tables
            WHERE schemaname = 'public'
                AND tablename NOT IN ('__diesel_schema_migrations', 'revision_counter', 'feed_position', 'feed_lease')
            ORDER BY tablename IN ('organizations', 'people')
        LOOP
            EXECUTE format('DELETE FROM %I', emptied);
        END LOOP;
        UPDATE revision_counter SET value = 0, filters_logged_since = 0, filters_logged_to = 0;
        UPDATE feed_lease SET lease_owner = NULL, lease_until = NULL;
        UPDATE feed_position SET position = NULL, last_job_seq = 0, pruned_before = NULL, pruned_to = 0,
            read_at = NULL;
    END $$";

/// A migrated, empty database that no other test has until `held` is dropped.
pub(crate) struct SpareDatabase {
    pub(crate) name: String,
    /// Its lock ends with the connection.
    pub(crate) held: Client,
}

/// The first that no other test has, in whatever process.
pub(crate) async fn spare_database() -> SpareDatabase {
    let held = connect_to_server().await;
    let mut number = 0;
    while !try_lock(&held, number).await {
        number += 1;
    }
    let name = format!("spare_{}_{number}", digest_of_steps());
    let known = held
        .query("SELECT 1 FROM pg_database WHERE datname = $1", &[&name])
        .await
        .unwrap();
    if known.is_empty() {
        let template = template().await;
        held.batch_execute(&format!("CREATE DATABASE {name} TEMPLATE {template}"))
            .await
            .unwrap();
    } else {
        // The test that had it before may not have closed all its connections yet.
        held.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = $1",
            &[&name],
        )
        .await
        .unwrap();
        connect(&postgres_url(&name))
            .await
            .batch_execute(EMPTY)
            .await
            .unwrap();
    }
    SpareDatabase { name, held }
}

async fn try_lock(server: &Client, number: i32) -> bool {
    server
        .query_one("SELECT pg_try_advisory_lock($1, $2)", &[&SPARE_LOCK, &number])
        .await
        .unwrap()
        .get(0)
}
