//! The stores on embedded SQLite: one thread that writes, a few that read.
//!
//! The statements are in [`queries`], mounted here with this module's [`Conn`], [`Store`] and macros.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use bidloop_domain::port::{AcceptBid, Quarantine, StoreError};

use crate::backend::{Backend, ConnectionLoad, OpenError};
use crate::backup::BackUpError;
use crate::failure::Failure;
use crate::grouping::Lanes;
use crate::migrations::{MigrateError, SchemaState};
use crate::sealing::Sealer;
use crate::work::Work;

mod backup;
mod batch;
mod connection;
mod file_modes;
mod log_limit;
mod migrate;
mod one_of;
mod queue;
mod readers;
#[cfg(test)]
mod tests;
mod writer;

pub(crate) use connection::Conn;
use readers::{Isolation, Readers};
use writer::Writer;

/// Jobs of a page: with ten matches each that active campaigns act on, recording one takes some 20 ms, for which other
/// commands wait.
const PAGE_SIZE: u32 = 32;

/// Into how many parts a count is spread: there is one writer.
const COUNTED_IN_PARTS: i64 = 1;

/// Nothing to do: the one writer holds the lock of the whole database.
macro_rules! for_update {
    ($query:expr) => {
        $query
    };
}

/// Nothing to do: the one writer holds the lock of the whole database.
macro_rules! for_no_key_update {
    ($query:expr) => {
        $query
    };
}

/// Nothing to do: the one writer holds the lock of the whole database.
macro_rules! for_key_share {
    ($query:expr) => {
        $query
    };
}

/// Nothing to do: the one writer holds the lock of the whole database.
macro_rules! for_share {
    ($query:expr) => {
        $query
    };
}

/// Executes statements of which none depends on another's outcome, one after the other.
macro_rules! execute_together {
    ($conn:expr, $($statement:expr),+ $(,)?) => {{
        let conn: &mut Conn = $conn;
        async { Ok::<_, diesel::result::Error>(($($statement.execute(conn).await?,)+)) }.await
    }};
}

/// Whether a column has one of some values. They are one text.
macro_rules! one_of {
    ($column:expr, $values:expr) => {
        $crate::sqlite::one_of::OneOf::new($column, $values)
    };
}

/// Whether a column is within a dense range.
macro_rules! dense_range {
    ($column:expr, $first:expr, $last:expr) => {
        $column.between($first, $last)
    };
}

#[path = "../queries/mod.rs"]
mod queries;

/// All stores on a SQLite database.
#[derive(Clone)]
pub(crate) struct Store {
    path: PathBuf,
    writer: Writer,
    readers: Readers,
    /// Bids that arrive while the writer is busy are one command.
    bids: Lanes<Arc<queries::BidCommand>, AcceptBid>,
    pub(crate) quarantine: Quarantine,
    pub(crate) sealer: Sealer,
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
        Ok(Self {
            path,
            writer,
            readers,
            bids: Lanes::new(1),
            quarantine: Quarantine::default(),
            sealer,
        })
    }

    /// Runs statements, each on its own snapshot. They cannot write.
    pub(crate) async fn read<T: Send + 'static>(&self, work: impl Work<Conn, T>) -> Result<T, StoreError> {
        self.readers.read(Isolation::Statement, work).await
    }

    /// Runs statements that read some rows by their keys, at once and on the calling thread: handing them over would cost
    /// more.
    #[expect(clippy::unused_async, reason = "it is one on PostgreSQL")]
    pub(crate) async fn look_up<T: Send + 'static>(&self, work: impl Work<Conn, T>) -> Result<T, StoreError> {
        self.readers.read_here(work).map_err(StoreError::from)
    }

    /// Runs statements on one snapshot. They cannot write.
    pub(crate) async fn snapshot<T: Send + 'static>(
        &self,
        work: impl Work<Conn, T>,
    ) -> Result<T, StoreError> {
        self.readers.read(Isolation::Snapshot, work).await
    }

    /// Runs statements in a transaction that is committed if the work succeeds and rolled back if it fails. The
    /// work must await nothing but statements.
    pub(crate) async fn write<T: Send + 'static>(&self, work: impl Work<Conn, T>) -> Result<T, StoreError> {
        self.writer.write(work).await
    }
}

#[async_trait]
impl Backend for Store {
    fn quarantine(&self) -> Quarantine {
        self.quarantine.clone()
    }

    async fn schema_state(&self) -> Result<SchemaState, StoreError> {
        // The inner result is the work's own; the outer one, that it ran.
        self.read(async |conn: &mut Conn| {
            conn.spawn_blocking(|conn| Ok(migrate::schema_state(conn)))
                .await?
        })
        .await
    }

    async fn migrate(&self) -> Result<Vec<String>, MigrateError> {
        let path = self.path.clone();
        match tokio::task::spawn_blocking(move || migrate::migrate(&path)).await {
            Ok(migrated) => migrated,
            Err(error) => Err(Failure::fault(format!("migrating was cut short: {error}")).into()),
        }
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
