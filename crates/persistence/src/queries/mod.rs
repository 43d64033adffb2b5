//! The statements of every store, written once and mounted under both databases.
//!
//! The mounting module defines `Conn`, `Store`, `PAGE_SIZE` and the macros `for_update!`, `for_share!`,
//! `execute_together!` and `dense_range!`, and runs a [`Batch`](crate::batch::Batch).

use super::{Conn, PAGE_SIZE, Store};

/// How many values one `IN` takes: SQLite limits the variables of a statement.
const VALUES_AT_ONCE: usize = 500;

/// Loads what a query finds for a slice of values, some hundreds of them at a time.
macro_rules! load_in_parts {
    ($conn:expr, $values:expr, |$some:ident| $query:expr) => {{
        let mut rows = Vec::new();
        for $some in $values.chunks(VALUES_AT_ONCE) {
            rows.append(&mut $query.load($conn).await?);
        }
        rows
    }};
}

/// Counts what a query finds.
macro_rules! count {
    ($conn:expr, $query:expr) => {{
        let count: i64 = $query.count().get_result($conn).await?;
        Ok(u64::try_from(count).unwrap_or(0))
    }};
}

mod activities;
mod api_keys;
mod automatic_bids;
mod backfills;
mod deliveries;
mod events;
mod filter_changes;
mod jobs;
mod leads;
mod lists;
mod locks;
mod provisioning;
mod quota;
mod submissions;
