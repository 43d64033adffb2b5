//! The statements of every store, written once and mounted under both databases.
//!
//! Whatever mounts this defines `Conn`, `Store`, `PAGE_SIZE` and the macros `for_update!`, `for_share!`, `insert_new!`,
//! `execute_together!` and `dense_range!`.

use super::bulk::{
    insert_automatic_bids, insert_deliveries, insert_jobs, insert_matches, insert_new_leads,
    put_job_signatures, update_list_ends, upsert_filter_changes, upsert_filters,
};
use super::{Conn, PAGE_SIZE, Store};

mod activities;
mod api_keys;
mod automatic_bids;
mod campaign_lists;
mod changed_jobs;
mod deliveries;
mod events;
mod feed;
mod filter_changes;
mod job_signatures;
mod jobs;
mod lead_bids;
mod lead_context;
mod lead_pages;
mod leads;
mod match_lists;
mod match_switch;
mod matches;
mod new_matches;
mod provisioning;
mod quota;
mod submissions;
