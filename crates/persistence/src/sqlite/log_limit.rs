//! Limits the length of the write-ahead log, which would grow without end while readers overlap.
//!
//! SQLite copies committed pages from the log into the file all the time, but starts the log again only in a transaction
//! during which no reader uses it. Under steady load that may never happen: the log fills the disk and slows every
//! read. Beyond a limit, the writing thread forces it.

use std::path::{Path, PathBuf};

use super::connection::{Conn, execute};

/// A log up to this length is left alone. The file keeps at most this much when the log starts again
/// (`journal_size_limit`).
const LIMIT: u64 = 64 << 20;
/// If a reader prevents it, the next attempt is made when the log has grown by this much.
const STEP: u64 = 8 << 20;

/// Watches the log of one database file.
#[derive(Debug)]
pub(super) struct LogLimit {
    database: PathBuf,
    /// Beside the file that the name leads to; known once that is there.
    log: Option<PathBuf>,
    /// The length beyond which something is done.
    bound: u64,
}

impl LogLimit {
    pub(super) fn new(database: &Path) -> Self {
        Self {
            database: database.to_owned(),
            log: None,
            bound: LIMIT,
        }
    }

    /// Between two transactions: empties a log that is too long.
    ///
    /// A read that starts after everything is copied reads the file alone. So only earlier reads are in the way; the wait
    /// for them is as short as for a lock.
    pub(super) fn enforce(&mut self, conn: &mut Conn) {
        if self.length() <= self.bound {
            return;
        }
        if let Err(failure) = execute(conn, "PRAGMA wal_checkpoint(TRUNCATE)") {
            // What was committed is safe in the log.
            tracing::warn!(?failure, "the write-ahead log could not be emptied");
        }
        let left = self.length();
        self.bound = if left > LIMIT { left + STEP } else { LIMIT };
    }

    /// None is none: the first commit makes it.
    fn length(&mut self) -> u64 {
        let log = match &self.log {
            Some(log) => log,
            None => match log_beside(&self.database) {
                Some(log) => self.log.insert(log),
                None => return 0,
            },
        };
        std::fs::metadata(log).map_or(0, |log| log.len())
    }
}

/// SQLite follows links before it names the log.
fn log_beside(database: &Path) -> Option<PathBuf> {
    let mut name = database.canonicalize().ok()?.into_os_string();
    name.push("-wal");
    Some(PathBuf::from(name))
}
