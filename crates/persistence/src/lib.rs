//! Stores on PostgreSQL and embedded SQLite.
//!
//! This crate owns the schema, its migrations, and every statement that the program runs. What the statements mean
//! is said by the ports in `bidloop_domain::port`; nothing here decides what the domain can decide.
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
//! Diesel's queries are typed by their connection, and functions generic over it do not work out. So the files in
//! `src/queries` are mounted twice by `#[path]`: once under `postgres`, once under `sqlite`. Each mount defines,
//! under the same names, what the files speak to:
//!
//! | name | PostgreSQL | SQLite |
//! |---|---|---|
//! | `Conn` | an asynchronous connection of a pool | a connection of a thread, whose futures are ready at once |
//! | `Store` | implements the ports on the pool | implements the ports on the threads |
//! | `for_update!`, `for_share!` | lock the rows that a query finds | nothing: the one writer has the whole database |
//! | `insert_new!` | a batch in one statement | one prepared statement, row by row |
//! | `execute_together!` | statements sent at once | one after the other |
//! | `dense_range!` | a range and its numbers, for the planner's sake | a range |
//!
//! | folder or file | owns |
//! |---|---|
//! | `database` | [`Database`]: opening, migrating, handing out ports |
//! | `migrations/` | the steps, a folder a database, the same names in both |
//! | `schema` | the tables in portable types |
//! | `columns` | how one value is written into a column: JSON, text with any character |
//! | `rows` | structs of columns, and what they are in the domain |
//! | `queries` | the statements, a file a port |
//! | `failure` | what a database's error amounts to |
//! | `work`, `postgres`, `sqlite` | how work gets onto a connection and into a transaction |
//!
//! # Adding a store
//!
//! 1. Add `src/queries/<port>.rs`, name it in `src/queries/mod.rs`, and implement the port for `Store` in it. Each
//!    method clones what it needs and hands an async closure to one of three methods; the statements stand below
//!    in plain async functions over `&mut Conn`:
//!
//!    ```text
//!    async fn revoke(&self, organization: &OrganizationId, id: &ApiKeyId, at: Timestamp) -> Result<…> {
//!        let (organization, id) = (organization.clone(), id.clone());
//!        self.write(async move |conn: &mut Conn| revoke(conn, &organization, &id, at).await).await
//!    }
//!    ```
//!
//!    | method | for |
//!    |---|---|
//!    | `self.read(…)` | statements that write nothing, each seeing the last commit |
//!    | `self.snapshot(…)` | several statements that write nothing and must see one commit |
//!    | `self.write(…)` | one transaction: committed if the closure returns `Ok`, rolled back if it returns `Err` |
//!
//! 2. Add the port to `Backend` in `database` and a method that hands it out.
//! 3. What only one database can do goes into a function of the same name and signature in `src/postgres/<x>.rs` and
//!    `src/sqlite/<x>.rs`, imported in `src/queries/mod.rs` through `super`. A blocking Diesel connection is at hand
//!    on SQLite: `conn.spawn_blocking(|conn| …)` runs on the spot.
//! 4. Mount the port's contract for both databases in `tests/persistence`.
//!
//! # Rules for work on a connection
//!
//! - It awaits nothing but statements, and has no effect but on the database: on PostgreSQL it is run anew after a
//!   deadlock, and on SQLite anything else would hold up every other command (it fails there).
//! - It opens no transaction of its own.
//! - It never goes on after a statement's error: PostgreSQL has given up the transaction by then and would answer
//!   the commit with a rollback, in silence. What may fail is asked for as `ON CONFLICT DO NOTHING` or as a
//!   conditional update, and told by the number of rows.
//! - It checks before it writes. A refused command returns its refusal as `Ok`, so whatever it wrote would stay.
//! - Its future is [`Send`]: an iterator's closure that borrows must not live across an `await`.
//! - Locks are taken in one order, so that none wait in a circle: revision counter, feed position, lead,
//!   organization, quota, campaign, account, bid, delivery, and several rows of one table by primary key.
//!
//! # Rules for statements
//!
//! - A partial index (`WHERE status = 'queued'`) is used only if the query says the same word for word; a bound
//!   value is not the same to a prepared statement. Write such a condition as `sql::<Bool>("bids.status = 'queued'")`.
//! - `sql_query` is prepared anew with every call. A hot statement of raw SQL is a struct that implements
//!   `QueryFragment` and `QueryId`, which is prepared once a connection.
//! - `eq_any` with very many values exceeds SQLite's variables; go in chunks of some hundreds.
//! - Text that a caller or the marketplace wrote is stored as `columns::FreeText` or within `columns::Json`:
//!   PostgreSQL refuses U+0000. A lead id that a caller gave goes through `queries::leads`, which knows.

#![expect(
    clippy::duplicate_mod,
    reason = "src/queries is mounted under both databases, as said above"
)]

mod batch;
mod columns;
mod database;
mod failure;
mod migrations;
mod postgres;
mod records;
mod schema;
mod sql_types;
mod sqlite;
mod work;

pub use database::{Database, DatabaseSettings, OpenError};
pub use migrations::{MigrateError, SchemaState};
