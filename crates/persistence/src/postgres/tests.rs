//! How transactions on PostgreSQL meet each other and the loss of their caller.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bidloop_domain::port::StoreError;
use diesel::sql_types::{BigInt, Text};
use diesel::{QueryableByName, sql_query};
use diesel_async::SimpleAsyncConnection as _;
use tokio::sync::Barrier;

use super::connect::Session;
use super::run::RunQueryDsl as _;
use super::{Conn, Store};
use crate::failure::Failure;
use crate::grouping::Locks;
use crate::sealing::Sealer;

/// A store on the test server with a table of its own, which the test drops.
async fn store(table: &str) -> Store {
    store_with(table, Session::Own).await
}

async fn store_with(table: &str, session: Session) -> Store {
    #[expect(clippy::disallowed_methods, reason = "tests take the server from the environment")]
    let url = std::env::var("BIDLOOP_TEST_POSTGRES_URL").expect(
        "BIDLOOP_TEST_POSTGRES_URL names no PostgreSQL server to test on; tests/run starts one and runs the tests",
    );
    let (store, _) = Store::open(
        &url,
        |_| Err("no TLS".to_owned()),
        session,
        (4, 1),
        Sealer::default(),
    )
    .unwrap();
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
async fn a_failed_statement_that_was_passed_over_is_never_reported_as_committed() {
    const TABLE: &str = "persistence_test_passed_over";
    let store = store(TABLE).await;
    let written = store
        .write(async |conn: &mut Conn| {
            add_one(conn, TABLE, 1).await?;
            let again = sql_query(format!("INSERT INTO {TABLE} VALUES (1, 0)"));
            assert!(again.execute(conn).await.is_err());
            Ok(())
        })
        .await;
    assert!(matches!(written, Err(StoreError::Backend(_))), "{written:?}");
    assert_eq!(total(&store, TABLE).await, 0);
    batch(&store, format!("DROP TABLE {TABLE}")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_that_travel_with_the_commit_are_all_carried_out_or_none() {
    const TABLE: &str = "persistence_test_at_commit";
    let store = store(TABLE).await;
    let insert = |id: i64, value: i64| sql_query(format!("INSERT INTO {TABLE} VALUES ({id}, {value})"));
    let absent = || sql_query("INSERT INTO persistence_test_absent VALUES (1)");
    let written = store
        .write(async move |conn: &mut Conn| {
            conn.execute_at_commit(&insert(3, 5))?;
            conn.execute_at_commit(&insert(4, 6))?;
            Ok(())
        })
        .await;
    assert_eq!((written, total(&store, TABLE).await), (Ok(()), 11));
    // One that fails when it is executed, and one that cannot even be prepared.
    let taken = store
        .write(async move |conn: &mut Conn| {
            add_one(conn, TABLE, 1).await?;
            conn.execute_at_commit(&insert(5, 7))?;
            conn.execute_at_commit(&insert(1, 0))?;
            conn.execute_at_commit(&insert(6, 8))?;
            Ok(())
        })
        .await;
    assert!(matches!(taken, Err(StoreError::Backend(_))), "{taken:?}");
    let unprepared = store
        .write(async move |conn: &mut Conn| {
            add_one(conn, TABLE, 1).await?;
            conn.execute_at_commit(&insert(7, 9))?;
            conn.execute_at_commit(&absent())?;
            Ok(())
        })
        .await;
    assert!(
        matches!(unprepared, Err(StoreError::Unavailable(_))),
        "{unprepared:?}"
    );
    assert_eq!(total(&store, TABLE).await, 11);
    batch(&store, format!("DROP TABLE {TABLE}")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn statements_that_travel_together_keep_their_order_if_the_first_must_be_prepared() {
    const TABLE: &str = "persistence_test_order";
    let store = store(TABLE).await;
    batch(
        &store,
        format!("CREATE SEQUENCE {TABLE}_numbers OWNED BY {TABLE}.id"),
    )
    .await;
    let next = |name: &str| sql_query(format!("SELECT nextval('{TABLE}_numbers') AS value, '{name}'"));
    let (first, second) = store
        .write(async move |conn: &mut Conn| {
            let _prepared: Vec<Value> = next("second").load(conn).await?;
            let found: (Vec<Value>, Vec<Value>) = load_together!(conn, next("first"), next("second"))?;
            Ok((found.0[0].value, found.1[0].value))
        })
        .await
        .unwrap();
    assert_eq!((first, second), (2, 3));
    batch(&store, format!("DROP TABLE {TABLE}")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_in_a_poolers_session_sets_what_it_needs_and_leaves_nothing_behind() {
    #[derive(QueryableByName)]
    struct Left {
        #[diesel(sql_type = Text)]
        left: String,
    }
    const TABLE: &str = "persistence_test_pooler";
    const LEFT: &str = "SELECT concat_ws(' ', current_setting('transaction_isolation'), \
        current_setting('statement_timeout'), current_setting('lock_timeout'), \
        current_setting('jit'), (SELECT count(*) FROM pg_prepared_statements)) AS left";
    let store = store_with(TABLE, Session::OfAPooler).await;
    let left = async |conn: &mut Conn| Ok(sql_query(LEFT).get_result::<Left>(conn).await?.left);
    let before = store.read(left).await.unwrap();
    let within = store.write_by_keys(Locks::Soon, left).await.unwrap();
    assert_eq!(within.as_deref(), Some("read committed 30s 100ms off 0"));
    let added = store.write(async |conn: &mut Conn| add_one(conn, TABLE, 1).await);
    assert_eq!(added.await, Ok(()));
    assert_eq!(store.read(left).await, Ok(before));
    assert_eq!(total(&store, TABLE).await, 1);
    batch(&store, format!("DROP TABLE {TABLE}")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_session_commits_durably_under_read_committed_and_compiles_nothing() {
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
        ("jit", "off"),
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
