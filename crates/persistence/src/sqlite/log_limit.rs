//! The length of the write-ahead log, which readers that overlap would let grow without end.
//!
//! What is committed is copied from the log into the file as it goes, but the log is begun anew only by a transaction
//! that finds nobody reading from it. Under steady reading and writing that may never be; the file fills the disk, and
//! every read looks through more of the log. Beyond a limit, the writing thread makes the moment.

use std::path::{Path, PathBuf};

use super::connection::Conn;
use super::writer::execute;

/// A log up to this length is left to itself. The file keeps at most as much when it is begun anew
/// (`journal_size_limit`).
const LIMIT: u64 = 64 << 20;
/// If somebody reads from the log at that moment, it is tried again when the log has grown by this.
const STEP: u64 = 8 << 20;

/// Looks after the log of one database file.
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
    /// Whoever begins to read after everything is copied reads the file alone. So only those are in the way who have
    /// begun before, and they are waited for as briefly as for a lock.
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
