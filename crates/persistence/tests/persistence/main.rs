//! The stores on both databases.
//!
//! The PostgreSQL tests need a throw-away server, named by `BIDLOOP_TEST_POSTGRES_URL`; `tests/run` starts one.

mod activities;
mod adding_up;
mod api_keys;
mod backup;
mod contracts;
mod counts_step;
mod cut_connections;
mod deliveries;
mod erasure;
mod filter_changes;
mod held_snapshot;
mod inspection;
mod kept_prepared;
mod leads;
mod locked_organization;
mod match_lists;
mod opening;
mod people_step;
mod provisioning;
mod schema;
mod secrets_at_rest;
mod spare_databases;
mod submissions;
mod test_database;
mod unknown_sizes;
mod unreadable_deliveries;
mod unreadable_organizations;
mod unreadable_progress;
mod unreadable_rows;
mod waiting;
mod writing;
