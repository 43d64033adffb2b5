//! The writing thread's promises, shown on a table of the tests' own.

use std::collections::BTreeSet;
use std::sync::{Arc, Barrier};
use std::time::Duration;

use bidloop_domain::port::StoreError;
use diesel::connection::SimpleConnection as _;
use diesel::sql_types::{BigInt, Text};
use diesel::{QueryableByName, sql_query};
use tempfile::TempDir;

use super::connection::{READER_SETTINGS, open};
use super::run::RunQueryDsl as _;
use super::{Conn, Store};
use crate::backend::Backend as _;
use crate::failure::Failure;

async fn store() -> (Store, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("test.db").to_str().unwrap(), 2, None).unwrap();
    store
        .write(async |conn: &mut Conn| {
            let tables = "CREATE TABLE parent (id INTEGER PRIMARY KEY);
                          CREATE TABLE child (parent INTEGER REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED);
                          CREATE TABLE number (value INTEGER PRIMARY KEY)";
            Ok(conn.batch_execute(tables)?)
        })
        .await
        .unwrap();
    (store, folder)
}

async fn insert(conn: &mut Conn, value: i64) -> Result<(), Failure> {
    sql_query("INSERT INTO number (value) VALUES (?)")
        .bind::<BigInt, _>(value)
        .execute(conn)
        .await?;
    Ok(())
}

#[derive(QueryableByName)]
struct Value {
    #[diesel(sql_type = BigInt)]
    value: i64,
}

async fn values(store: &Store) -> Vec<i64> {
    store
        .read(async |conn: &mut Conn| {
            let rows: Vec<Value> = sql_query("SELECT value FROM number ORDER BY value")
                .load(conn)
                .await?;
            Ok(rows.into_iter().map(|row| row.value).collect())
        })
        .await
        .unwrap()
}

#[tokio::test]
async fn the_schema_of_a_new_database_is_in_its_file_and_the_log_is_kept_open() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("test.db");
    let store = Store::open(file.to_str().unwrap(), 2, None).unwrap();
    let steps = store.migrate().await.unwrap();
    assert!(!steps.is_empty());
    let log = folder.path().join("test.db-wal").metadata();
    assert_eq!(
        log.unwrap().len(),
        0,
        "it is there: no other connection makes it anew"
    );
    let alone = folder.path().join("alone.db");
    std::fs::copy(&file, &alone).unwrap();
    let alone = Store::open(alone.to_str().unwrap(), 2, None).unwrap();
    assert_eq!(alone.migrate().await, Ok(Vec::new()));
}

#[tokio::test]
async fn a_second_reader_starts_when_the_first_is_busy() {
    let (store, _folder) = store().await;
    let both = Arc::new(Barrier::new(2));
    let reader = async |waits: bool| {
        let both = Arc::clone(&both);
        let work = async move |_: &mut Conn| {
            if waits {
                both.wait();
            }
            Ok(std::thread::current().name().map(str::to_owned))
        };
        store.read(work).await.unwrap().unwrap()
    };
    for _ in 0..3 {
        assert_eq!(reader(false).await, "sqlite-reader-0");
    }
    let (one, other) = tokio::join!(reader(true), reader(true));
    assert_eq!(
        BTreeSet::from([&*one, &*other]),
        BTreeSet::from(["sqlite-reader-0", "sqlite-reader-1"])
    );
}

/// Keeps the writing thread busy until the answer is dropped or sent, so that what follows waits together.
async fn busy(
    store: &Store,
) -> (
    std::sync::mpsc::Sender<()>,
    tokio::task::JoinHandle<Result<(), StoreError>>,
) {
    let (release, released) = std::sync::mpsc::channel::<()>();
    let (started, has_started) = tokio::sync::oneshot::channel::<()>();
    let held = std::sync::Arc::new(std::sync::Mutex::new((Some(started), released)));
    let store = store.clone();
    let blocker = tokio::spawn(async move {
        store
            .write(async move |_conn: &mut Conn| {
                let mut held = held.lock().unwrap();
                held.0.take().unwrap().send(()).unwrap();
                let _ = held.1.recv();
                Ok(())
            })
            .await
    });
    has_started.await.unwrap();
    (release, blocker)
}

#[tokio::test]
async fn a_command_that_fails_is_undone_alone() {
    let (store, _folder) = store().await;
    let (release, blocker) = busy(&store).await;
    let (first, failed, last, ()) = tokio::join!(
        store.write(async |conn: &mut Conn| insert(conn, 1).await),
        store.write(async |conn: &mut Conn| {
            insert(conn, 2).await?;
            Err::<(), _>(Failure::corrupt("no good".to_owned()))
        }),
        store.write(async |conn: &mut Conn| insert(conn, 3).await),
        async { drop(release) },
    );
    assert_eq!(blocker.await.unwrap(), Ok(()));
    assert_eq!((first, last), (Ok(()), Ok(())));
    assert_eq!(failed, Err(StoreError::Corrupt("no good".to_owned())));
    assert_eq!(values(&store).await, [1, 3]);
}

#[tokio::test]
async fn a_command_that_fails_before_others_join_it_is_undone_and_holds_up_nobody() {
    let (store, _folder) = store().await;
    let (release, blocker) = busy(&store).await;
    drop(release);
    assert_eq!(blocker.await.unwrap(), Ok(()));
    // What a savepoint would undo is undone with the transaction, also after SQLite has rolled that back by itself.
    for (value, rolled_back) in [(2, false), (3, true)] {
        let failed = store.write(async move |conn: &mut Conn| {
            insert(conn, 1).await?;
            if rolled_back {
                sql_query("ROLLBACK").execute(conn).await?;
            }
            Err::<(), _>(Failure::corrupt("no good".to_owned()))
        });
        let next = store.write(async move |conn: &mut Conn| insert(conn, value).await);
        let (failed, next) = tokio::join!(failed, next);
        assert_eq!(failed, Err(StoreError::Corrupt("no good".to_owned())));
        assert_eq!(next, Ok(()));
    }
    assert_eq!(values(&store).await, [2, 3]);
}

#[tokio::test]
async fn a_commit_that_fails_fails_every_command_in_it_and_nothing_is_kept() {
    let (store, _folder) = store().await;
    assert_eq!(
        store.write(async |conn: &mut Conn| insert(conn, 1).await).await,
        Ok(())
    );
    let (release, blocker) = busy(&store).await;
    let (companion, orphan, ()) = tokio::join!(
        store.write(async |conn: &mut Conn| insert(conn, 2).await),
        // The deferred reference to a parent that is not there is noticed by the commit.
        store.write(async |conn: &mut Conn| {
            sql_query("INSERT INTO child (parent) VALUES (7)")
                .execute(conn)
                .await?;
            Ok(())
        }),
        async { drop(release) },
    );
    assert!(blocker.await.unwrap().is_err());
    assert!(companion.is_err() && orphan.is_err(), "{companion:?} {orphan:?}");
    assert_eq!(values(&store).await, [1]);
    // The next command begins anew.
    assert_eq!(
        store.write(async |conn: &mut Conn| insert(conn, 3).await).await,
        Ok(())
    );
    assert_eq!(values(&store).await, [1, 3]);
}

#[tokio::test]
async fn a_command_that_panics_is_undone_alone() {
    let (store, _folder) = store().await;
    let (release, blocker) = busy(&store).await;
    let (first, panicked, last, ()) = tokio::join!(
        store.write(async |conn: &mut Conn| insert(conn, 1).await),
        store.write(async |conn: &mut Conn| {
            insert(conn, 2).await?;
            assert!(std::hint::black_box(false), "a fault of ours");
            Ok(())
        }),
        store.write(async |conn: &mut Conn| insert(conn, 3).await),
        async { drop(release) },
    );
    assert_eq!(blocker.await.unwrap(), Ok(()));
    assert_eq!((first, last), (Ok(()), Ok(())));
    assert!(matches!(panicked, Err(StoreError::Backend(_))), "{panicked:?}");
    assert_eq!(
        store.write(async |conn: &mut Conn| insert(conn, 4).await).await,
        Ok(())
    );
    assert_eq!(values(&store).await, [1, 3, 4]);
}

#[tokio::test]
async fn work_that_awaits_something_else_fails_instead_of_holding_up_the_others() {
    let (store, _folder) = store().await;
    let waited = store
        .write(async |_conn: &mut Conn| {
            tokio::task::yield_now().await;
            Ok(())
        })
        .await;
    assert!(matches!(waited, Err(StoreError::Backend(_))), "{waited:?}");
    let read = store
        .read(async |_conn: &mut Conn| {
            tokio::task::yield_now().await;
            Ok(())
        })
        .await;
    assert!(matches!(read, Err(StoreError::Backend(_))), "{read:?}");
}

#[tokio::test]
async fn reading_work_cannot_write() {
    let (store, _folder) = store().await;
    let wrote = store.read(async |conn: &mut Conn| insert(conn, 1).await).await;
    assert!(wrote.is_err());
    assert!(values(&store).await.is_empty());
}

#[tokio::test]
async fn a_read_waits_for_no_write() {
    let (store, _folder) = store().await;
    let (release, blocker) = busy(&store).await;
    let read = tokio::time::timeout(Duration::from_secs(10), values(&store)).await;
    assert!(read.unwrap().is_empty());
    drop(release);
    assert_eq!(blocker.await.unwrap(), Ok(()));
}

#[tokio::test]
async fn a_snapshot_sees_one_commit_throughout() {
    let (store, _folder) = store().await;
    let writing = store.clone();
    let (seen, wait_until_written) = std::sync::mpsc::channel::<()>();
    let (tell, has_read) = tokio::sync::oneshot::channel::<()>();
    let channels = std::sync::Arc::new(std::sync::Mutex::new((Some(tell), wait_until_written)));
    let reading = store.snapshot(async move |conn: &mut Conn| {
        let before: Vec<Value> = sql_query("SELECT value FROM number").load(conn).await?;
        {
            let mut channels = channels.lock().unwrap();
            channels.0.take().unwrap().send(()).unwrap();
            let _ = channels.1.recv();
        }
        let after: Vec<Value> = sql_query("SELECT value FROM number").load(conn).await?;
        Ok((before.len(), after.len()))
    });
    let writing = async move {
        has_read.await.unwrap();
        let written = writing.write(async |conn: &mut Conn| insert(conn, 1).await).await;
        drop(seen);
        written
    };
    let (read, written) = tokio::join!(reading, writing);
    assert_eq!(written, Ok(()));
    assert_eq!(read, Ok((0, 0)));
    assert_eq!(values(&store).await, [1]);
}

#[tokio::test]
async fn a_command_waits_for_another_processs_transaction() {
    let (store, folder) = store().await;
    let mut other = open(&folder.path().join("test.db"), &[]).unwrap();
    other
        .batch_execute("BEGIN IMMEDIATE; INSERT INTO number (value) VALUES (1)")
        .unwrap();
    let write = store.write(async |conn: &mut Conn| insert(conn, 2).await);
    let mut write = std::pin::pin!(write);
    // Asked again and again meanwhile.
    let early = tokio::time::timeout(Duration::from_millis(50), &mut write).await;
    assert!(early.is_err(), "{early:?}");
    other.batch_execute("COMMIT").unwrap();
    assert_eq!(write.await, Ok(()));
    assert_eq!(values(&store).await, [1, 2]);
}

/// Stores megabytes that nobody needs.
async fn fill(store: &Store, megabytes: usize) {
    let filled = store.write(async move |conn: &mut Conn| {
        for _ in 0..megabytes {
            sql_query("INSERT INTO filling (bytes) VALUES (zeroblob(1048576))")
                .execute(conn)
                .await?;
        }
        Ok(())
    });
    filled.await.unwrap();
}

#[tokio::test]
async fn a_log_that_readers_let_grow_is_emptied_when_they_are_done() {
    let (store, folder) = store().await;
    let made = store
        .write(async |conn: &mut Conn| Ok(conn.batch_execute("CREATE TABLE filling (bytes BLOB)")?))
        .await;
    assert_eq!(made, Ok(()));
    let log = folder.path().join("test.db-wal");
    let mut reader = open(&folder.path().join("test.db"), &READER_SETTINGS).unwrap();
    reader
        .batch_execute("BEGIN; SELECT count(*) FROM number")
        .unwrap();
    fill(&store, 66).await;
    // Answered after whatever the thread did about the log.
    fill(&store, 1).await;
    assert!(log.metadata().unwrap().len() > 66 << 20, "{:?}", log.metadata());
    reader.batch_execute("COMMIT").unwrap();
    fill(&store, 9).await;
    fill(&store, 1).await;
    assert!(log.metadata().unwrap().len() < 4 << 20, "{:?}", log.metadata());
}

#[derive(QueryableByName)]
struct CompileOption {
    #[diesel(sql_type = Text)]
    compile_options: String,
}

#[tokio::test]
async fn sqlite_keeps_plans_whatever_is_bound_and_its_connections_share_no_lock() {
    let (store, _folder) = store().await;
    let options = store.read(async |conn: &mut Conn| {
        let options: Vec<CompileOption> = sql_query("SELECT compile_options FROM pragma_compile_options")
            .load(conn)
            .await?;
        Ok(options)
    });
    let options: Vec<String> = options
        .await
        .unwrap()
        .into_iter()
        .map(|option| option.compile_options)
        .collect();
    let is_set = |name: &str| options.iter().any(|option| option == name);
    assert!(is_set("ENABLE_QPSG") && !is_set("ENABLE_STAT4"), "{options:?}");
    assert!(
        is_set("THREADSAFE=2") && is_set("DEFAULT_MEMSTATUS=0") && !is_set("ENABLE_MEMORY_MANAGEMENT"),
        "{options:?}"
    );
}
