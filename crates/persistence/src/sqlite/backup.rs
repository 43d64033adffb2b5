//! A copy of the database file, made while other processes read and write it.

use std::fs::File;
use std::path::Path;

use diesel::connection::{Connection as _, SimpleConnection as _};
use diesel::dsl::sql;
use diesel::sql_types::{BigInt, Text};
use diesel::{RunQueryDsl as _, SqliteConnection, sql_query};
use tempfile::NamedTempFile;

use super::connection::open;
use crate::backup::BackUpError;
use crate::failure::Failure;

/// Copies the database as of one moment into a file that does not exist yet, and returns the copy's bytes.
///
/// SQLite writes the copy from one read transaction, so no writer waits. The write-ahead log cannot start again
/// meanwhile and grows by what is written. The copy lies under another name, readable by its owner alone, until it is
/// checked and on the disk.
pub(super) fn back_up(database: &Path, to: &Path) -> Result<u64, BackUpError> {
    if !database.is_file() {
        return Err(BackUpError::NoDatabase(database.to_owned()));
    }
    let file = |error: std::io::Error| BackUpError::File(to.to_owned(), error.to_string());
    if to.symlink_metadata().is_ok() {
        return Err(BackUpError::Exists(to.to_owned()));
    }
    let folder = match to.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    // Unless a signal ends the process, the file goes with this value.
    let copy = tempfile::Builder::new()
        .prefix(".bidloop-backup-")
        .tempfile_in(folder)
        .map_err(file)?;
    write_copy(database, &copy)?;
    check(copy.path())?;
    copy.as_file().sync_all().map_err(file)?;
    let copied = copy.persist_noclobber(to).map_err(|refused| {
        if refused.error.kind() == std::io::ErrorKind::AlreadyExists {
            BackUpError::Exists(to.to_owned())
        } else {
            file(refused.error)
        }
    })?;
    // The name is on the disk once the folder is.
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(file)?;
    Ok(copied.metadata().map_err(file)?.len())
}

/// Writes into the empty file.
fn write_copy(database: &Path, copy: &NamedTempFile) -> Result<(), Failure> {
    let mut conn = open(database, &[])?;
    sql_query("VACUUM INTO ?")
        .bind::<Text, _>(name(copy.path())?)
        .execute(&mut conn)?;
    Ok(())
}

/// Reads the whole copy, its indexes against its tables too: SQLite copies pages of indexes as they are.
fn check(copy: &Path) -> Result<(), BackUpError> {
    // Without the settings of the program's connections: these would make files beside the copy.
    let mut conn =
        SqliteConnection::establish(&name(copy)?).map_err(|error| Failure::unavailable(error.to_string()))?;
    conn.batch_execute("PRAGMA temp_store = MEMORY; PRAGMA query_only = ON")
        .map_err(Failure::from)?;
    // One row of "ok", or one for each fault.
    let fault: String = sql::<Text>("SELECT integrity_check FROM pragma_integrity_check LIMIT 1")
        .get_result(&mut conn)
        .map_err(Failure::from)?;
    if fault != "ok" {
        return Err(BackUpError::Damaged(fault));
    }
    let dangling: i64 = sql::<BigInt>("SELECT count(*) FROM pragma_foreign_key_check")
        .get_result(&mut conn)
        .map_err(Failure::from)?;
    if dangling > 0 {
        return Err(BackUpError::Damaged(format!(
            "{dangling} foreign keys lead nowhere"
        )));
    }
    Ok(())
}

fn name(path: &Path) -> Result<String, Failure> {
    let name = path.to_str().map(str::to_owned);
    name.ok_or_else(|| Failure::fault("the path is not UTF-8".to_owned()))
}
