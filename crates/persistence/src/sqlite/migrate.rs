//! SQLite's migrations, in one transaction that locks out every other process.

use std::path::Path;

use diesel::dsl::sql;
use diesel::sql_types::{Bool, Text};
use diesel::sqlite::Sqlite;
use diesel::{RunQueryDsl as _, SqliteConnection};
use diesel_migrations::{EmbeddedMigrations, embed_migrations};

use super::connection::{execute, open_as_it_is, switch_to_log};
use crate::failure::Failure;
use crate::migrations::{self, APPLIED_STEPS, MigrateError, SchemaState, run_pending};

const STEPS: EmbeddedMigrations = embed_migrations!("migrations/sqlite");
/// What the steps make of a new database. A change of a table that is there makes SQLite read the whole schema again, so
/// running the steps takes several times as long.
const NEW_DATABASE: &str = include_str!("../../migrations/new_sqlite.sql");

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

/// Runs the pending steps, all or none. Returns their versions, and the connection. A new database gets what they make at
/// once, before it has a log: so its pages are written once.
pub(super) fn migrate(path: &Path) -> Result<(Vec<String>, SqliteConnection), MigrateError> {
    let mut conn = open_as_it_is(path)?;
    let ran = conn.exclusive_transaction(|conn| {
        let pending = schema_state(conn)?.pending()?;
        if !is_migrated(conn)? {
            execute(conn, NEW_DATABASE)?;
        } else if !pending.is_empty() {
            run_pending(conn, STEPS)?;
        }
        Ok::<_, MigrateError>(pending)
    })?;
    switch_to_log(&mut conn)?;
    // The schema is in the file alone from now on, and the log is empty: the file may be copied, or looked into, without it.
    execute(&mut conn, "PRAGMA wal_checkpoint(TRUNCATE)")?;
    Ok((ran, conn))
}

#[cfg(test)]
mod tests {
    use super::super::connection::open;
    use super::*;

    const HEADER: &str = "-- What the steps in the folder sqlite make of an empty file. Written by the test \
                          a_new_database_is_what_the_steps_make.\n";

    /// A script that makes all tables, indexes and rows of a database.
    fn script(conn: &mut SqliteConnection) -> String {
        let mut texts = |query: &str| sql::<Text>(query).load::<String>(conn).unwrap();
        let mut script = texts(
            "SELECT sql || ';' FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite!_%' ESCAPE '!' \
             ORDER BY rowid",
        );
        let tables = texts("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name");
        for table in tables.iter().filter(|table| !table.starts_with("sqlite_")) {
            // When a step was run is not a part of what it makes.
            let columns = format!("FROM pragma_table_info('{table}') WHERE name <> 'run_on'");
            let names = texts(&format!("SELECT group_concat(name, ', ') {columns}")).remove(0);
            let of_columns =
                format!("SELECT group_concat('quote(' || name || ')', ' || '', '' || ') {columns}");
            let values = texts(&of_columns).remove(0);
            script.extend(texts(&format!(
                "SELECT 'INSERT INTO {table} ({names}) VALUES (' || {values} || ');' FROM {table} ORDER BY 1"
            )));
        }
        script.join("\n") + "\n"
    }

    #[test]
    fn a_new_database_is_what_the_steps_make() {
        let folder = tempfile::tempdir().unwrap();
        let mut stepwise = open(&folder.path().join("stepwise.db"), &[]).unwrap();
        run_pending(&mut stepwise, STEPS).unwrap();
        let expected = script(&mut stepwise);
        if std::env::var_os("BIDLOOP_ACCEPT_SCHEMA").is_some() {
            let file = concat!(env!("CARGO_MANIFEST_DIR"), "/migrations/new_sqlite.sql");
            std::fs::write(file, format!("{HEADER}{expected}")).unwrap();
            return;
        }
        let new = folder.path().join("new.db");
        let (ran, mut new) = migrate(&new).unwrap();
        assert!(!ran.is_empty());
        assert_eq!(
            script(&mut new),
            expected,
            "if a step was added, run this test with BIDLOOP_ACCEPT_SCHEMA=1"
        );
        assert_eq!(schema_state(&mut new).unwrap(), SchemaState::Current);
    }
}
