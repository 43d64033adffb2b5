//! One SQLite connection: its settings, and statements that run where they are asked for.

use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use diesel::SqliteConnection;
use diesel::connection::{Connection as _, SimpleConnection as _};

use super::file_modes::create_file;
use crate::failure::Failure;

/// The connection that the mounted queries use.
///
/// It belongs to a thread, which runs each statement at once. A piece of work costs one hand-over to the thread, at most.
pub(crate) type Conn = SqliteConnection;

/// Each is a statement of its own, in this order.
///
/// `synchronous = FULL` syncs the log at every commit, so that what was answered survives a power loss.
const SETTINGS: [&str; 5] = [
    "PRAGMA busy_timeout = 5000",
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = ON",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA journal_size_limit = 67108864",
];

/// How long to wait until the log can be switched to.
const LOG_PATIENCE: Duration = Duration::from_secs(5);
/// The pause between two attempts to take a lock, which others hold for milliseconds.
const LOCK_PAUSE: Duration = Duration::from_millis(1);

/// Opens the database file, making it if it is not there. `further` settings follow those of every connection.
pub(super) fn open(path: &Path, further: &[&str]) -> Result<SqliteConnection, Failure> {
    let name = path
        .to_str()
        .ok_or_else(|| Failure::fault("the path is not UTF-8".to_owned()))?;
    create_file(path).map_err(|error| Failure::unavailable(error.to_string()))?;
    let mut conn =
        SqliteConnection::establish(name).map_err(|error| Failure::unavailable(error.to_string()))?;
    for setting in SETTINGS {
        execute(&mut conn, setting)?;
    }
    // Where two processes switch to the log at the same time, SQLite refuses one of them at once, whatever `busy_timeout` is.
    execute_once_free(&mut conn, "PRAGMA journal_mode = WAL", LOG_PATIENCE)?;
    for setting in further {
        execute(&mut conn, setting)?;
    }
    Ok(conn)
}

/// Copies all of the write-ahead log into the database file and empties it.
pub(super) fn empty_log(path: &Path) -> Result<(), Failure> {
    open(path, &["PRAGMA wal_checkpoint(TRUNCATE)"]).map(drop)
}

/// The further settings of a reading connection.
///
/// - A statement that writes fails.
/// - It keeps half as many pages as by default. The system keeps them, too, and posts are kept apart; so what is left of
///   reading many posts when the program starts would only take memory.
pub(super) const READER_SETTINGS: [&str; 2] = ["PRAGMA query_only = ON", "PRAGMA cache_size = -1000"];

/// The further settings of the writing thread's connection.
///
/// - A page of jobs touches some thousand pages of the file: ends of campaigns' lists, and places all over the indexes
///   of matches and leads. In the default 2 MB they displace each other, and those that are changed are written to the
///   log before the commit, some of them several times. The memory, 32 MB at most, is taken as it is needed: an idle
///   program needs none of it.
/// - Pages that several commits changed are copied from the log into the file once, every 32 MB of log instead of
///   every 4. Each copy waits for the disk, and with it all who write: with 16 MB a tenth fewer bids are accepted.
/// - SQLite's own waiting for another process's lock sleeps up to 100 ms at a time, while transactions take
///   milliseconds. So it waits briefly, and the writing thread asks again.
/// - What is replaced, such as a secret that was not sealed yet, is overwritten on the pages that a commit writes anyway.
pub(super) const WRITER_SETTINGS: [&str; 4] = [
    "PRAGMA cache_size = -32000",
    "PRAGMA wal_autocheckpoint = 8000",
    "PRAGMA busy_timeout = 2",
    "PRAGMA secure_delete = FAST",
];

/// Runs a statement, and again while another process is in the way.
pub(super) fn execute_once_free(conn: &mut Conn, statement: &str, patience: Duration) -> Result<(), Failure> {
    let asked = Instant::now();
    loop {
        match execute(conn, statement) {
            Err(Failure::Conflict(_)) if asked.elapsed() < patience => sleep(LOCK_PAUSE),
            done => return done,
        }
    }
}

/// Runs statements without parameters.
pub(super) fn execute(conn: &mut Conn, statement: &str) -> Result<(), Failure> {
    Ok(conn.batch_execute(statement)?)
}
