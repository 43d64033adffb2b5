//! Stores on PostgreSQL and embedded SQLite.
//!
//! This crate owns the schema, its migrations, and every statement that the program runs. The ports in
//! `bidloop_domain::port` say what the statements mean; nothing here decides what the domain can decide.
//!
//! ```no_run
//! use bidloop_persistence::{Database, DatabaseSettings};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let database = Database::open(&DatabaseSettings::new("sqlite://bidloop-data/bidloop.db"))?;
//! database.migrate().await?;
//! let keys = database.api_keys();
//! # Ok(())
//! # }
//! ```
//!
//! # One set of statements, two databases
//!
//! Diesel types a query by its connection, and functions generic over the connection are not practical. So the files in
//! `src/queries` are mounted twice by `#[path]`: once under `postgres`, once under `sqlite`. Each mount defines under the
//! same names what the files need:
//!
//! | name | PostgreSQL | SQLite |
//! |---|---|---|
//! | `Conn` | an asynchronous connection of a pool | a connection that one thread uses at a time |
//! | `RunQueryDsl` | sends prepared statements | runs them at once: its futures are ready when they are made |
//! | `Store` | implements the ports on the pool | implements the ports on the threads |
//! | `for_update!`, `for_share!` | lock the rows that a query finds | do nothing: the one writer has the whole database |
//! | `take_turn!` | waits for other transactions of a kind | does nothing |
//! | `give_pages_back!` | does nothing | frees the pages that the connection keeps |
//! | `load_together!` | sends statements at once | runs them one after the other |
//! | `Batch::run_at_commit` | sends the statement with the commit | runs it at once |
//! | `one_of!`, `one_of_many!`, `none_of!`, `pair_of!` | compare with arrays | compare with JSON |
//! | `place_of!` | where a locked row stands, for `Write::UpdatePlaced` | nothing: the primary key leads to the row at once |
//! | `newest_usages!` | the used quotas of the newest periods, locked | the same, without a lock |
//! | `oldest_of_each!` | joins laterally | looks up row ids |
//! | `contains!` | `strpos` | `instr` |
//! | `dense_range!` | a range and its numbers, for the planner's sake | a range |
//! | `Batch::run` | one statement over arrays | one prepared statement, row by row |
//!
//! | folder or file | owns |
//! |---|---|
//! | `database` | [`Database`]: opening, migrating, handing out ports |
//! | `backend` | what both databases implement |
//! | `backup` | why a database is not backed up |
//! | `migrations/` | the steps, a folder for each database, with the same names in both |
//! | `schema`, `sql_types` | the tables, in portable column types |
//! | `columns` | how a value of the domain is stored in a column |
//! | `count_list` | the counts of a transaction as one text |
//! | `records` | which column each field of a record is stored in |
//! | `sealing` | secrets at rest: keys, sealing and opening |
//! | `batch` | many rows in one command |
//! | `grouping` | commands that share a transaction |
//! | `low_water` | from where on looks at a queue search |
//! | `new_file` | files that appear whole |
//! | `queries` | the statements, a file or folder for each port |
//! | `failure` | what a database's error means |
//! | `work`, `postgres`, `sqlite` | how work gets a connection and a transaction |
//!
//! # Adding a store
//!
//! 1. Add `src/queries/<port>.rs`, name it in `src/queries/mod.rs`, and implement the port for `Store` in it. Each
//!    method clones its arguments and passes an async closure over `&mut Conn` to one of these methods:
//!
//!    | method | for |
//!    |---|---|
//!    | `self.read(…)` | statements that write nothing, each of which sees the last commit |
//!    | `self.look_up(…)` | the same for some rows by their keys: SQLite reads them on the caller's thread |
//!    | `self.snapshot(…)` | several statements that write nothing and must see the same commit |
//!    | `self.snapshot_by_keys(…)` | the same for statements that come in numbers and find rows by keys: their plans are kept |
//!    | `self.write(…)` | one transaction: committed if the closure returns `Ok`, rolled back if it returns `Err` |
//!    | `self.write_for(…)` | the same for a request's command, which may wait for rows of its organization |
//!    | `self.write_by_keys(…)` | the same for commands that come in numbers: their plans are kept |
//!
//! 2. Add the port to `Backend`, and to [`Database`] a method that hands it out.
//! 3. List the columns of new records in `records`.
//! 4. Mount the port's contract for both databases in `tests/persistence`.
//!
//! # Rules for work on a connection
//!
//! - It awaits nothing but statements, and has no effect but on the database: on PostgreSQL it is repeated after a
//!   deadlock, and on SQLite anything else would delay every other command (it fails there).
//! - It opens no transaction of its own.
//! - It never continues after a statement's error: PostgreSQL has aborted the transaction by then and would silently
//!   answer the commit with a rollback. A statement that may find its row taken or changed is an `ON CONFLICT DO NOTHING`
//!   or a conditional update, and the number of rows tells.
//! - It checks before it writes. A refused command returns its refusal as `Ok`, so anything that it wrote would stay.
//! - A write that travels with the commit is one of its last statements.
//! - Its future is [`Send`]: an iterator's closure that borrows must not live across an `await`.
//! - Locks are taken in one order, so that there are no deadlocks: feed position, revision counter, lead, organization,
//!   quota, account, bid, campaign, delivery; several rows of one table by primary key.
//!
//! # Rules for statements
//!
//! - A partial index (`WHERE status = 'queued'`) is used only if the query has the same words; a bound value does not do
//!   for a prepared statement. Write such a condition as `sql::<Bool>("bids.status = 'queued'")`.
//! - A statement's text does not depend on values: each text stays prepared on its connection. Values are
//!   bound, several of a column as one list by `one_of!` or as a `Batch`.
//! - A record with parts (`records.rs`) is selected in a tuple, if need be of one: `select((Row::<Person>::as_select(),))`. As
//!   a row by itself it costs seconds of compile time, at each place and on each database.
//! - Text that a caller or the marketplace wrote is `EscapedText` or within `JsonText`: PostgreSQL refuses U+0000.

#![expect(
    clippy::duplicate_mod,
    reason = "src/queries is mounted under both databases, as described above"
)]

mod backend;
mod backup;
mod batch;
mod columns;
mod count_list;
mod database;
mod failure;
mod grouping;
mod low_water;
mod migrations;
mod new_file;
mod postgres;
mod records;
mod schema;
mod sealing;
mod sql_types;
mod sqlite;
mod work;

pub use backend::{ConnectionLoad, OpenError};
pub use backup::BackUpError;
pub use database::{CheckedDatabase, Database, DatabaseSettings, PostgresTls, check_key_file};
pub use migrations::{MigrateError, SchemaState};
