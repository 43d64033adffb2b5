//! One SQLite connection: its settings, and statements that run where they are asked for.

use std::path::Path;

use diesel::SqliteConnection;
use diesel::connection::{Connection as _, SimpleConnection as _};
use diesel_async::sync_connection_wrapper::{SpawnBlocking, SyncConnectionWrapper};
use futures::FutureExt as _;
use futures::future::{BoxFuture, ready};

use crate::failure::Failure;

/// The connection that the mounted queries speak to.
///
/// It belongs to a thread of its own and runs each statement on the spot: its futures are ready when they are
/// made. That costs one hop to the thread a piece of work, where the wrapper's default costs one a statement.
pub(crate) type Conn = SyncConnectionWrapper<SqliteConnection, OnThisThread>;

/// Runs a statement at once, on the thread that asks for it.
pub(crate) struct OnThisThread;

impl SpawnBlocking for OnThisThread {
    fn spawn_blocking<'a, R>(
        &mut self,
        task: impl FnOnce() -> R + Send + 'static,
    ) -> BoxFuture<'a, Result<R, Box<dyn std::error::Error + Send + Sync + 'static>>>
    where
        R: Send + 'static,
    {
        ready(Ok(task())).boxed()
    }

    fn get_runtime() -> Self {
        Self
    }
}

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Reading only; a statement that writes fails.
    Reading,
    /// Anything.
    Writing,
}

/// How long another process's transaction is waited for.
const BUSY: &str = "PRAGMA busy_timeout = 5000";

/// Each is a statement of its own, in this order: switching to the write-ahead log may have to wait as well.
///
/// `synchronous = FULL` syncs the log at every commit, so that what was answered survives a power loss.
const SETTINGS: [&str; 5] = [
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = ON",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA journal_size_limit = 67108864",
];

/// Opens the database file, making it if it is not there.
pub(super) fn open(path: &Path, purpose: Purpose) -> Result<SqliteConnection, Failure> {
    let name = path
        .to_str()
        .ok_or_else(|| Failure::Fault("the path is not UTF-8".to_owned()))?;
    let mut conn =
        SqliteConnection::establish(name).map_err(|error| Failure::Unavailable(error.to_string()))?;
    conn.batch_execute(BUSY)?;
    for setting in SETTINGS {
        conn.batch_execute(setting)?;
    }
    if purpose == Purpose::Reading {
        conn.batch_execute("PRAGMA query_only = ON")?;
    }
    Ok(conn)
}

/// The connection as the queries want it.
pub(super) fn wrap(conn: SqliteConnection) -> Conn {
    Conn::with_runtime(conn, OnThisThread)
}
