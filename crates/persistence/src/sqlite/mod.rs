//! The stores on embedded SQLite: one thread that writes, a few that read.
//!
//! The statements are in [`queries`], mounted here with this module's [`Conn`], [`Store`] and `words`.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use bidloop_domain::model::OrganizationId;
use bidloop_domain::port::{Quarantine, StoreError};

use crate::backend::{Backend, ConnectionLoad, OpenError};
use crate::backup::BackUpError;
use crate::failure::Failure;
use crate::grouping::{Lanes, Locks};
use crate::low_water::LowWater;
use crate::migrations::{MigrateError, SchemaState};
use crate::sealing::Sealer;
use crate::work::{Work, apart};

mod backup;
mod batch;
mod connection;
mod file_modes;
mod log_limit;
mod migrate;
mod one_of;
mod prepared;
mod queue;
mod readers;
mod run;
#[cfg(test)]
mod tests;
mod writer;

pub(crate) use connection::Conn;
use queue::run;
use readers::{Isolation, Readers};
use writer::Writer;

/// Jobs of a page: with ten matches each that active campaigns act on, recording one takes some 20 ms, for which other
/// commands wait.
const PAGE_SIZE: u32 = 32;
/// How many bytes of fresh counts one transaction gathers: those of some 7,000. All other writes wait for it, and an idle
/// service keeps the memory that it took.
const GATHERED_AT_ONCE: i64 = 400_000;
/// How many bytes of fresh counts one transaction adds up that were not gathered: those of some 5,000.
const ADDED_UP_AT_ONCE: i64 = 300_000;

#[macro_use]
mod words;
#[path = "../queries/mod.rs"]
mod queries;

/// All stores on a SQLite database. Clones share its parts.
#[derive(Clone)]
pub(crate) struct Store(Arc<Parts>);

/// What a [`Store`] consists of.
pub(crate) struct Parts {
    path: PathBuf,
    writer: Writer,
    readers: Readers,
    /// Decisions on leads that arrive while the writer is busy are one command.
    decisions: Lanes<queries::Decisions>,
    /// So do ends of deliveries.
    ends: Lanes<queries::Ends>,
    pub(crate) pending_from: Arc<queries::PendingFrom>,
    pub(crate) overdue_from: Arc<LowWater>,
    pub(crate) bids_due_from: Arc<queries::DueFrom>,
    pub(crate) intents_from: Arc<LowWater>,
    pub(crate) fresh_counts_from: Arc<LowWater>,
    pub(crate) served_lists: Arc<queries::ServedLists>,
    pub(crate) quarantine: Quarantine,
    pub(crate) sealer: Sealer,
}

impl Deref for Store {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("sqlite::Store")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl Store {
    /// Refuses a path that can be no database's; looks at no disk.
    pub(crate) fn check(path: &str) -> Result<(), OpenError> {
        if path.is_empty() || path.contains(":memory:") {
            return Err(OpenError::InvalidUrl(
                "sqlite:// is followed by the path of a file".to_owned(),
            ));
        }
        Ok(())
    }

    /// Starts the threads; the file is opened, or made, when it is first needed. Makes the folders it lies in.
    ///
    /// Secrets are sealed with the keys in `key_file`, or else in a file beside the database, which is made if it is
    /// missing.
    pub(crate) fn open(path: &str, readers: usize, key_file: Option<&Path>) -> Result<Self, OpenError> {
        Self::check(path)?;
        // Every thread opens it by this name, even after the working directory has changed.
        let path = std::path::absolute(path).map_err(|error| OpenError::Folder(error.to_string()))?;
        if let Some(folder) = path.parent() {
            file_modes::create_folder(folder)
                .map_err(|error| OpenError::Folder(format!("{}: {error}", folder.display())))?;
        }
        file_modes::tighten(&path);
        let sealer = match key_file {
            Some(file) => Sealer::with_key_file(Some(file)),
            None => Sealer::with_own_key_file(file_modes::with_suffix(&path, ".key")),
        };
        let sealer = sealer.map_err(OpenError::KeyFile)?;
        let threads = |error: std::io::Error| OpenError::Threads(error.to_string());
        let writer = Writer::start(path.clone()).map_err(threads)?;
        let readers = Readers::start(&path, readers).map_err(threads)?;
        Ok(Self(Arc::new(Parts {
            path,
            writer,
            readers,
            decisions: Lanes::new(1),
            ends: Lanes::new(1),
            pending_from: Arc::default(),
            overdue_from: Arc::new(LowWater::patient()),
            bids_due_from: Arc::default(),
            intents_from: Arc::default(),
            fresh_counts_from: Arc::new(LowWater::patient()),
            served_lists: Arc::default(),
            quarantine: Quarantine::default(),
            sealer,
        })))
    }

    /// Runs statements, each on its own snapshot. They cannot write.
    pub(crate) async fn read<T: Send + 'static>(&self, work: impl Work<Conn, T>) -> Result<T, StoreError> {
        let (steps, kept) = apart(work);
        self.readers.read(Isolation::Statement, steps).await?;
        kept.take()
    }

    /// As [`snapshot`](Self::snapshot): SQLite plans a statement once.
    pub(crate) async fn snapshot_by_keys<T: Send + 'static>(
        &self,
        work: impl Work<Conn, T>,
    ) -> Result<T, StoreError> {
        self.snapshot(work).await
    }

    /// A look-up is had sooner than others could be waited for.
    #[expect(clippy::unused_self, reason = "it is used on PostgreSQL")]
    fn shared_look_ups(&self) -> Option<&Lanes<queries::LookUps>> {
        None
    }

    /// The same holds for a lead's own record.
    #[expect(clippy::unused_self, reason = "it is used on PostgreSQL")]
    fn shared_locations(&self) -> Option<&Lanes<queries::Locations>> {
        None
    }

    /// Ends of bids that wait for the writer share a commit as all commands do.
    #[expect(clippy::unused_self, reason = "it is used on PostgreSQL")]
    fn shared_bid_ends(&self) -> Option<&Lanes<queries::BidEnds>> {
        None
    }

    #[expect(clippy::unused_self, reason = "it is used on PostgreSQL")]
    fn plans_anew(&self) -> bool {
        false
    }

    /// Runs statements that read some rows by their keys, at once and on the calling thread: handing them over would cost
    /// more.
    #[expect(clippy::unused_async, reason = "it is one on PostgreSQL")]
    pub(crate) async fn look_up<T: Send + 'static>(&self, work: impl Work<Conn, T>) -> Result<T, StoreError> {
        Ok(self.readers.read_here(|conn| run(work(conn)))?)
    }

    /// Runs statements on one snapshot. They cannot write.
    pub(crate) async fn snapshot<T: Send + 'static>(
        &self,
        work: impl Work<Conn, T>,
    ) -> Result<T, StoreError> {
        let (steps, kept) = apart(work);
        self.readers.read(Isolation::Snapshot, steps).await?;
        kept.take()
    }

    /// Runs statements in a transaction that is committed if the work succeeds and rolled back if it fails. The
    /// work must await nothing but statements.
    pub(crate) async fn write<T: Send + 'static>(&self, work: impl Work<Conn, T>) -> Result<T, StoreError> {
        let (steps, kept) = apart(work);
        self.writer.write(steps).await?;
        kept.take()
    }

    /// As [`write`](Self::write). There are no locks to wait for, so this is never `None`.
    pub(crate) async fn write_by_keys<T: Send + 'static>(
        &self,
        _locks: Locks,
        work: impl Work<Conn, T>,
    ) -> Result<Option<T>, StoreError> {
        self.write(work).await.map(Some)
    }

    /// As [`write`](Self::write): no command waits for another one's rows, as the one writer has the whole database.
    pub(crate) async fn write_for<T: Send + 'static>(
        &self,
        _: &OrganizationId,
        work: impl Work<Conn, T>,
    ) -> Result<T, StoreError> {
        self.write(work).await
    }
}

#[async_trait]
impl Backend for Store {
    fn quarantine(&self) -> Quarantine {
        self.quarantine.clone()
    }

    async fn schema_state(&self) -> Result<SchemaState, StoreError> {
        self.read(async |conn: &mut Conn| migrate::schema_state(conn))
            .await
    }

    async fn migrate(&self) -> Result<Vec<String>, MigrateError> {
        if !migrate::is_new(&self.path) && self.schema_state().await?.pending()?.is_empty() {
            return Ok(Vec::new());
        }
        let path = self.path.clone();
        let migrated = tokio::task::spawn_blocking(move || migrate::migrate(&path)).await;
        let (ran, conn) =
            migrated.map_err(|error| Failure::fault(format!("migrating was cut short: {error}")))??;
        // A reader looks, and stays connected. If no connection were left, SQLite would remove the log, and the next connection
        // would make it anew. Both wait for the disk several times.
        self.schema_state().await?;
        drop(conn);
        Ok(ran)
    }

    fn load(&self) -> Vec<ConnectionLoad> {
        vec![self.readers.load(), self.writer.load()]
    }

    async fn back_up(&self, to: PathBuf) -> Result<u64, BackUpError> {
        let path = self.path.clone();
        match tokio::task::spawn_blocking(move || backup::back_up(&path, &to)).await {
            Ok(backed_up) => backed_up,
            Err(error) => Err(Failure::fault(format!("the backup was cut short: {error}")).into()),
        }
    }

    async fn fold_people(&self) -> Result<u64, StoreError> {
        self.fold_what_is_not().await
    }

    async fn seal_secrets(&self) -> Result<u64, StoreError> {
        let sealed = self.seal_what_is_not().await?;
        if sealed > 0 {
            // The log still holds the pages as they were.
            let path = self.path.clone();
            let emptied = tokio::task::spawn_blocking(move || connection::empty_log(&path)).await;
            if !matches!(emptied, Ok(Ok(()))) {
                tracing::warn!(
                    "the write-ahead log could not be emptied: it may hold secrets in plain text for a while"
                );
            }
        }
        Ok(sealed)
    }
}
