//! The statements of every store, written once and mounted under both databases.
//!
//! A query that workers or several callers depend on passes over a row that cannot be read, and sets it aside
//! (decision D2): it selects [`Tried`](crate::records::Tried) records. A command on one row fails with
//! [`Corrupt`](bidloop_domain::port::StoreError::Corrupt) if that row cannot be read.
//!
//! The mounting module defines `Conn`, `RunQueryDsl`, `Store`, `PAGE_SIZE` and, in `words`, the macros for what each
//! database says in its own way. It runs a [`Batch`](crate::batch::Batch), and its `batch` has `write_returning`.

use super::batch::write_returning;
use super::run::RunQueryDsl;
use super::{Conn, PAGE_SIZE, Store};

/// What nearly every file of statements uses.
mod prelude {
    pub(super) use bidloop_domain::port::{Quarantine, UnreadableRow};
    pub(super) use diesel::prelude::*;

    pub(super) use super::{Conn, RunQueryDsl, Store, write_returning};
    pub(super) use crate::batch::{Batch, Run as _, Write};
    pub(super) use crate::columns::{Attempt, Col, stored};
    pub(super) use crate::failure::Failure;
    pub(super) use crate::records::{Columns as _, Row, Tried};
    pub(super) use crate::schema::*;
}

/// Loads the records that a query finds. Rows that cannot be read are set aside.
///
/// A record is selected in a tuple of one: of a record with parts that is a row by itself, the compiler takes seconds to find
/// out how it is read.
macro_rules! load_records {
    ($conn:expr, $quarantine:expr, $record:ty, $query:expr) => {{
        let rows: Vec<(Tried<$record>,)> = $query
            .select((Tried::<$record>::as_select(),))
            .load($conn)
            .await?;
        let rows = rows.into_iter().filter_map(|(row,)| row.or_aside($quarantine));
        rows.collect::<Vec<_>>()
    }};
}

/// Whether a query finds anything.
macro_rules! exists {
    ($conn:expr, $query:expr) => {
        diesel::select(diesel::dsl::exists($query))
            .get_result::<bool>($conn)
            .await?
    };
}

/// Inserts a row, or sets fields of the row that has its primary key.
macro_rules! put {
    ($conn:expr, $table:ident, $row:expr, $fields:expr) => {
        diesel::insert_into($table::table)
            .values($row)
            .on_conflict($table::table.primary_key())
            .do_update()
            .set($fields)
            .execute($conn)
            .await?
    };
}

/// Counts what a query finds.
macro_rules! count {
    ($conn:expr, $query:expr) => {{
        let count: i64 = $query.count().get_result($conn).await?;
        Ok(u64::try_from(count).unwrap_or(0))
    }};
}

mod activities;
mod activity_search;
mod api_keys;
mod authorization;
mod automatic_bids;
mod backfills;
mod billing;
mod campaign_feed;
mod deliveries;
mod delivery_records;
mod delivery_tries;
mod erasure;
mod events;
mod feed_lease;
mod filter_changes;
mod inspection;
mod installation;
mod jobs;
mod leads;
mod lists;
mod locks;
mod overview;
mod people;
mod provisioning;
mod quota;
mod retention;
mod secrets;
mod sessions;
mod sign_ins;
mod statistics;
mod submissions;

pub(super) use deliveries::ends::Ends;
pub(super) use deliveries::pending::PendingFrom;
pub(super) use leads::locate::Locations;
pub(super) use leads::look_up::LookUps;
pub(super) use leads::together::Decisions;
pub(super) use lists::served::ServedLists;
pub(super) use submissions::due::DueFrom;
pub(super) use submissions::ends::BidEnds;
