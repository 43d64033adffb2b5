//! SQLite's migrations, in one transaction that locks out every other process.

use std::io::Write as _;
use std::path::Path;

use diesel::dsl::sql;
use diesel::sql_types::{Bool, Text};
use diesel::sqlite::Sqlite;
use diesel::{RunQueryDsl as _, SqliteConnection};
use diesel_migrations::{EmbeddedMigrations, embed_migrations};

use super::connection::{execute, open};
use super::file_modes::with_suffix;
use crate::failure::Failure;
use crate::migrations::{self, APPLIED_STEPS, MigrateError, SchemaState, run_pending};
use crate::new_file;

const STEPS: EmbeddedMigrations = embed_migrations!("migrations/sqlite");
/// The file of a new database, as the steps make it. A change of a table that is there makes SQLite read the whole schema
/// again, so running the steps takes several times as long as all of a start.
const NEW_DATABASE: &[u8] = include_bytes!("../../migrations/new.sqlite");

/// Whether any step was ever run.
fn is_migrated(conn: &mut SqliteConnection) -> Result<bool, Failure> {
    let is_migrated =
        sql::<Bool>("SELECT count(*) > 0 FROM sqlite_master WHERE name = '__diesel_schema_migrations'");
    Ok(is_migrated.get_result(conn)?)
}

/// Compares the database with the steps of this program; changes nothing.
pub(super) fn schema_state(conn: &mut SqliteConnection) -> Result<SchemaState, Failure> {
    let applied = if is_migrated(conn)? {
        sql::<Text>(APPLIED_STEPS).load(conn)?
    } else {
        Vec::new()
    };
    migrations::schema_state::<Sqlite>(&STEPS, applied)
}

/// Whether there is nothing in the file, or no file.
pub(super) fn is_new(path: &Path) -> bool {
    std::fs::metadata(path).map_or(true, |file| file.len() == 0)
}

/// Makes the file with this program's schema, unless it is there. It appears whole, without a log to read. Returns whether
/// it did.
fn make(path: &Path) -> bool {
    // SQLite deletes what is left of a deleted database if the new file is empty. Otherwise it would read it.
    let left = ["", "-wal", "-journal"].map(|suffix| with_suffix(path, suffix));
    if left.iter().any(|file| file.symlink_metadata().is_ok()) {
        return false;
    }
    let made = new_file::draft_beside(path).and_then(|mut draft| {
        draft.write_all(NEW_DATABASE)?;
        new_file::put(draft, path)
    });
    // Not every file system can do that. Of other errors the caller learns when it opens the file.
    made.unwrap_or(false)
}

/// Makes the file, or runs the pending steps, all or none. Returns their versions, and the connection if one was needed.
pub(super) fn migrate(path: &Path) -> Result<(Vec<String>, Option<SqliteConnection>), MigrateError> {
    if make(path) {
        return Ok((migrations::versions_of::<Sqlite>(&STEPS)?, None));
    }
    let mut conn = open(path, &[])?;
    let ran = conn.exclusive_transaction(|conn| {
        let pending = schema_state(conn)?.pending()?;
        if !pending.is_empty() {
            run_pending(conn, STEPS)?;
        }
        Ok::<_, MigrateError>(pending)
    })?;
    // The schema is in the file alone from now on, and the log is empty: the file may be copied, or looked into, without it.
    execute(&mut conn, "PRAGMA wal_checkpoint(TRUNCATE)")?;
    Ok((ran, Some(conn)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All tables, indexes and rows of a database, as statements.
    fn content(conn: &mut SqliteConnection) -> String {
        let mut texts = |query: &str| sql::<Text>(query).load::<String>(conn).unwrap();
        let mut content = texts(
            "SELECT sql || ';' FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite!_%' ESCAPE '!' \
             ORDER BY name",
        );
        let tables = texts("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name");
        for table in tables.iter().filter(|table| !table.starts_with("sqlite_")) {
            // When a step was run is not a part of what it makes.
            let columns = format!("FROM pragma_table_info('{table}') WHERE name <> 'run_on'");
            let names = texts(&format!("SELECT group_concat(name, ', ') {columns}")).remove(0);
            let of_columns =
                format!("SELECT group_concat('quote(' || name || ')', ' || '', '' || ') {columns}");
            let values = texts(&of_columns).remove(0);
            content.extend(texts(&format!(
                "SELECT 'INSERT INTO {table} ({names}) VALUES (' || {values} || ');' FROM {table} ORDER BY 1"
            )));
        }
        content.join("\n")
    }

    #[test]
    fn a_new_database_is_what_the_steps_make() {
        let folder = tempfile::tempdir().unwrap();
        let stepwise = folder.path().join("stepwise.db");
        std::fs::write(&stepwise, []).unwrap();
        let (ran, conn) = migrate(&stepwise).unwrap();
        let mut conn = conn.unwrap();
        if std::env::var_os("BIDLOOP_ACCEPT_SCHEMA").is_some() {
            execute(&mut conn, "VACUUM; PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
            let file = concat!(env!("CARGO_MANIFEST_DIR"), "/migrations/new.sqlite");
            std::fs::write(file, std::fs::read(&stepwise).unwrap()).unwrap();
            return;
        }
        let new = folder.path().join("new.db");
        assert_eq!(migrate(&new).unwrap().0, ran);
        let mut made = open(&new, &[]).unwrap();
        assert_eq!(
            content(&mut made),
            content(&mut conn),
            "if a step was added, run this test with BIDLOOP_ACCEPT_SCHEMA=1"
        );
        assert_eq!(schema_state(&mut made).unwrap(), SchemaState::Current);
        drop((made, conn));
        assert_eq!(
            std::fs::read(&new).unwrap(),
            NEW_DATABASE,
            "it has a write-ahead log: none of its pages is written to switch to one"
        );
    }

    /// The log of another database, with pages that were not copied into its file.
    fn log_of_another(folder: &Path) -> Vec<u8> {
        let file = folder.join("other.db");
        let mut other = open(&file, &["PRAGMA wal_autocheckpoint = 0"]).unwrap();
        execute(&mut other, "CREATE TABLE secrets (secret TEXT NOT NULL)").unwrap();
        std::fs::read(with_suffix(&file, "-wal")).unwrap()
    }

    #[test]
    fn what_is_left_of_a_deleted_database_is_no_part_of_a_new_one() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("new.db");
        std::fs::write(with_suffix(&file, "-wal"), log_of_another(folder.path())).unwrap();
        let (ran, _) = migrate(&file).unwrap();
        assert!(!ran.is_empty());
        let mut conn = open(&file, &[]).unwrap();
        assert_eq!(schema_state(&mut conn).unwrap(), SchemaState::Current);
        assert!(execute(&mut conn, "SELECT * FROM secrets").is_err());
    }

    #[test]
    fn a_new_database_appears_whole_and_is_its_owners() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("new.db");
        assert!(make(&file));
        assert!(!make(&file), "it is there");
        let names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
        assert_eq!(names.len(), 1, "{names:?}");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::metadata(&file).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }
}
