//! The statements of every store, written once and mounted under both databases.
//!
//! Whatever mounts this defines `Conn`, `Store`, `PAGE_SIZE` and the macros `for_update!`, `for_share!`, `insert_new!`,
//! `execute_together!` and `dense_range!`.

use super::bulk::{
    insert_automatic_bids, insert_deliveries, insert_jobs, insert_matches, insert_new_leads,
    put_job_signatures, update_list_ends, upsert_filter_changes, upsert_filters,
};
use super::{Conn, PAGE_SIZE, Store};

/// How many values one `IN` takes: SQLite limits the variables of a statement.
const VALUES_AT_ONCE: usize = 500;

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
