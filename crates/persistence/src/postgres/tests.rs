//! How transactions on PostgreSQL meet each other and the loss of their caller.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bidloop_domain::port::StoreError;
use diesel::sql_types::{BigInt, Text};
use diesel::{QueryableByName, sql_query};
use diesel_async::{RunQueryDsl, SimpleAsyncConnection as _};
use tokio::sync::Barrier;

use super::{Conn, Store};
use crate::failure::Failure;
use crate::sealing::Sealer;

/// A store on the test server with a table of its own, which the test drops.
async fn store(table: &str) -> Store {
    #[expect(clippy::disallowed_methods, reason = "tests take the server from the environment")]
    let url = std::env::var("BIDLOOP_TEST_POSTGRES_URL").expect(
        "BIDLOOP_TEST_POSTGRES_URL names no PostgreSQL server to test on; tests/run starts one and runs the tests",
    );
    let store = Store::open(&url, |_| Err("no TLS".to_owned()), 4, Sealer::default()).unwrap();
    let setup = format!(
        "DROP TABLE IF EXISTS {table}; CREATE TABLE {table} (id BIGINT PRIMARY KEY, value BIGINT NOT NULL);
         INSERT INTO {table} VALUES (1, 0), (2, 0)"
    );
    batch(&store, setup).await;
    store
}

async fn batch(store: &Store, sql: String) {
    store
        .write(async move |conn: &mut Conn| Ok(conn.batch_execute(&sql).await?))
        .await
        .unwrap();
}

#[derive(QueryableByName)]
struct Value {
    #[diesel(sql_type = BigInt)]
    value: i64,
}

async fn add_one(conn: &mut Conn, table: &str, id: i64) -> Result<(), Failure> {
    sql_query(format!("UPDATE {table} SET value = value + 1 WHERE id = {id}"))
        .execute(conn)
        .await?;
    Ok(())
}

async fn total(store: &Store, table: &'static str) -> i64 {
    store
        .read(async move |conn: &mut Conn| {
            let sum = format!("SELECT sum(value)::bigint AS value FROM {table}");
            Ok(sql_query(sum).get_result::<Value>(conn).await?.value)
        })
        .await
        .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_that_was_chosen_to_end_a_deadlock_is_run_again() {
    const TABLE: &str = "persistence_test_deadlock";
    let store = store(TABLE).await;
    let both_hold_a_row = Arc::new(Barrier::new(2));
    let runs = Arc::new(AtomicU32::new(0));
    let crossing = |first: i64, second: i64| {
        let (both, runs) = (Arc::clone(&both_hold_a_row), Arc::clone(&runs));
        store.write(async move |conn: &mut Conn| {
            add_one(conn, TABLE, first).await?;
            // Only the first two runs meet; the repeated one goes straight on.
            if runs.fetch_add(1, Ordering::SeqCst) < 2 {
                both.wait().await;
            }
            add_one(conn, TABLE, second).await
        })
    };
    let both = async { tokio::join!(crossing(1, 2), crossing(2, 1)) };
    let done = tokio::time::timeout(Duration::from_secs(30), both).await.unwrap();
    assert_eq!(done, (Ok(()), Ok(())));
    assert_eq!(
        AtomicU32::load(&runs, Ordering::SeqCst),
        3,
        "one of the two was run again"
    );
    assert_eq!(total(&store, TABLE).await, 4);
    batch(&store, format!("DROP TABLE {TABLE}")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_that_fails_leaves_nothing_behind() {
    const TABLE: &str = "persistence_test_failing";
    let store = store(TABLE).await;
    let failed = store
        .write(async |conn: &mut Conn| {
            add_one(conn, TABLE, 1).await?;
            Err::<(), _>(Failure::corrupt("no good".to_owned()))
        })
        .await;
    assert_eq!(failed, Err(StoreError::Corrupt("no good".to_owned())));
    assert_eq!(total(&store, TABLE).await, 0);
    batch(&store, format!("DROP TABLE {TABLE}")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_whose_caller_is_gone_ends_and_keeps_no_lock() {
    const TABLE: &str = "persistence_test_abandoned";
    let store = store(TABLE).await;
    let (holds_the_row, caller_is_gone) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    let abandoned = {
        let (store, holds, gone) = (
            store.clone(),
            Arc::clone(&holds_the_row),
            Arc::clone(&caller_is_gone),
        );
        tokio::spawn(async move {
            store
                .write(async move |conn: &mut Conn| {
                    add_one(conn, TABLE, 1).await?;
                    holds.wait().await;
                    gone.wait().await;
                    Ok(())
                })
                .await
        })
    };
    holds_the_row.wait().await;
    abandoned.abort();
    assert!(abandoned.await.unwrap_err().is_cancelled());
    caller_is_gone.wait().await;
    // Waits for the row's lock, which the abandoned transaction gives up with its commit.
    let next = store.write(async |conn: &mut Conn| add_one(conn, TABLE, 1).await);
    assert_eq!(
        tokio::time::timeout(Duration::from_secs(30), next).await.unwrap(),
        Ok(())
    );
    assert_eq!(total(&store, TABLE).await, 2);
    batch(&store, format!("DROP TABLE {TABLE}")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_that_panics_is_a_fault_and_its_connection_is_not_used_again() {
    const TABLE: &str = "persistence_test_panic";
    let store = store(TABLE).await;
    let panicked = store
        .write(async |conn: &mut Conn| {
            add_one(conn, TABLE, 1).await?;
            assert!(std::hint::black_box(false), "a fault of ours");
            Ok(())
        })
        .await;
    assert!(matches!(panicked, Err(StoreError::Backend(_))), "{panicked:?}");
    let next = store.write(async |conn: &mut Conn| add_one(conn, TABLE, 1).await);
    assert_eq!(
        tokio::time::timeout(Duration::from_secs(30), next).await.unwrap(),
        Ok(())
    );
    assert_eq!(total(&store, TABLE).await, 1);
    batch(&store, format!("DROP TABLE {TABLE}")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snapshot_cannot_write_and_sees_one_commit_throughout() {
    const TABLE: &str = "persistence_test_snapshot";
    let store = store(TABLE).await;
    let wrote = store
        .snapshot(async |conn: &mut Conn| add_one(conn, TABLE, 1).await)
        .await;
    assert!(wrote.is_err());
    let writer = store.clone();
    let seen = store.snapshot(async move |conn: &mut Conn| {
        let sum = || sql_query(format!("SELECT sum(value)::bigint AS value FROM {TABLE}"));
        let before = sum().get_result::<Value>(conn).await?.value;
        writer
            .write(async |conn: &mut Conn| add_one(conn, TABLE, 1).await)
            .await
            .expect("written meanwhile");
        Ok((before, sum().get_result::<Value>(conn).await?.value))
    });
    assert_eq!(seen.await, Ok((0, 0)));
    assert_eq!(total(&store, TABLE).await, 1);
    batch(&store, format!("DROP TABLE {TABLE}")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_session_commits_durably_under_read_committed() {
    #[derive(QueryableByName)]
    struct Setting {
        #[diesel(sql_type = Text)]
        setting: String,
    }
    const TABLE: &str = "persistence_test_session";
    let store = store(TABLE).await;
    for (name, expected) in [
        ("transaction_isolation", "read committed"),
        ("synchronous_commit", "on"),
    ] {
        let setting = store
            .write(async move |conn: &mut Conn| {
                let ask = sql_query("SELECT current_setting($1) AS setting").bind::<Text, _>(name);
                Ok(ask.get_result::<Setting>(conn).await?.setting)
            })
            .await;
        assert_eq!(setting.as_deref(), Ok(expected), "{name}");
    }
    batch(&store, format!("DROP TABLE {TABLE}")).await;
}
