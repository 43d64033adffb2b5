//! The statements of every store, written once and mounted under both databases.
//!
//! Whatever mounts this defines `Conn`, `Store` and the macros `for_update!`, `for_share!` and `insert_new!`.

use super::{Conn, Store};

mod activities;
mod api_keys;
mod automatic_bids;
mod deliveries;
mod events;
mod lead_bids;
mod lead_context;
mod lead_pages;
mod leads;
mod provisioning;
mod quota;
mod submissions;
