//! Backups of a database that is in use.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bidloop_domain::model::ActivityKind;
use bidloop_domain::port::StoreError;
use bidloop_persistence::{BackUpError, SchemaState};
use bidloop_port_contracts::fixture::{World, activity, at};
use tempfile::TempDir;

use crate::contracts::stores;
use crate::test_database::{TestDatabase, open, sqlite_url};

fn target() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("backup.db");
    (folder, file)
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_is_the_database_of_one_moment_while_commands_are_written() {
    let bed = TestDatabase::sqlite().await;
    let world = World::new(stores(&bed.database)).await;
    world.new_leads(40, at(0)).await;
    let (folder, file) = target();
    let done = Arc::new(AtomicBool::new(false));
    let writing = tokio::spawn({
        let (world, done) = (world.clone(), Arc::clone(&done));
        async move {
            let mut written = 0;
            while !done.load(Ordering::Relaxed) || written == 0 {
                let entry = activity(&world.organization, ActivityKind::Bid, "accepted", at(written));
                world.stores.activities.record(&entry).await.unwrap();
                written += 1;
            }
            written
        }
    });
    // Another process, as the command is.
    let bytes = bed.reopened().back_up(&file).await.unwrap();
    done.store(true, Ordering::Relaxed);
    assert!(writing.await.unwrap() > 0);
    assert_eq!(names(folder.path()), ["backup.db"], "nothing lies beside it");
    assert_eq!(file.metadata().unwrap().len(), bytes);

    let copy = open(&sqlite_url(&file));
    assert_eq!(copy.schema_state().await, Ok(SchemaState::Current));
    let restored = World {
        stores: stores(&copy),
        ..world.clone()
    };
    assert_eq!(restored.listed().await, world.listed().await);
    restored.new_lead("after", at(100)).await;
    assert_eq!(restored.total().await, 41);
    assert_eq!(world.total().await, 40);
    bed.close().await;
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let bed = TestDatabase::sqlite().await;
    let (_folder, file) = target();
    bed.database.back_up(&file).await.unwrap();
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    bed.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_overwrites_nothing() {
    let bed = TestDatabase::sqlite().await;
    let (folder, file) = target();
    std::fs::write(&file, "precious").unwrap();
    let refused = bed.database.back_up(&file).await;
    assert_eq!(refused, Err(BackUpError::Exists(file.clone())));
    assert_eq!(std::fs::read(&file).unwrap(), b"precious");
    assert_eq!(names(folder.path()), ["backup.db"]);
    bed.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_of_no_database_makes_none() {
    let (folder, file) = target();
    let missing = folder.path().join("bidloop.db");
    let refused = open(&sqlite_url(&missing)).back_up(&file).await;
    assert_eq!(refused, Err(BackUpError::NoDatabase(missing)));
    assert!(names(folder.path()).is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_database_is_not_backed_up_as_if_it_were_whole() {
    let bed = TestDatabase::sqlite().await;
    World::new(stores(&bed.database)).await.new_leads(40, at(0)).await;
    // An index that lacks the rows of its table.
    bed.run_sql(
        "PRAGMA writable_schema = ON; \
         UPDATE sqlite_master SET sql = replace(sql, '(seq)', '(posted_at)') WHERE name = 'jobs_by_seq'; \
         PRAGMA writable_schema = OFF",
    )
    .await;
    let (folder, file) = target();
    let refused = bed.reopened().back_up(&file).await;
    assert!(
        matches!(
            refused,
            Err(BackUpError::Damaged(_) | BackUpError::Store(StoreError::Corrupt(_)))
        ),
        "{refused:?}"
    );
    assert!(names(folder.path()).is_empty());
    bed.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_servers_database_is_left_to_its_own_program() {
    let bed = TestDatabase::spare_postgres().await;
    let (folder, file) = target();
    let refused = bed.database.back_up(&file).await.unwrap_err();
    assert!(refused.to_string().contains("pg_dump"), "{refused}");
    assert!(names(folder.path()).is_empty());
    bed.close().await;
}
