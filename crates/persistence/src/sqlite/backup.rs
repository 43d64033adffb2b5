//! A copy of the database file, made while other processes read and write it.

use std::path::Path;

use diesel::connection::{Connection as _, SimpleConnection as _};
use diesel::dsl::sql;
use diesel::sql_types::{BigInt, Text};
use diesel::{RunQueryDsl as _, SqliteConnection, sql_query};

use super::connection::open;
use crate::backup::BackUpError;
use crate::failure::Failure;
use crate::new_file;

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
    let copy = new_file::draft_beside(to).map_err(file)?;
    write_copy(database, copy.path())?;
    check(copy.path())?;
    let bytes = copy.as_file().metadata().map_err(file)?.len();
    if !new_file::put(copy, to).map_err(file)? {
        return Err(BackUpError::Exists(to.to_owned()));
    }
    Ok(bytes)
}

/// Writes into the empty file.
fn write_copy(database: &Path, copy: &Path) -> Result<(), Failure> {
    let mut conn = open(database, &[])?;
    sql_query("VACUUM INTO ?")
        .bind::<Text, _>(name(copy)?)
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
