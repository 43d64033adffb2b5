//! What the program promises, rule by rule, each shown on both databases.
//!
//! Every module owns one part of the promise; a test's name is its rule. The harness is the crate's library.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "test code: what goes wrong here fails the test"
)]

/// Stamps each rule for both databases.
macro_rules! on_both_databases {
    ($($rule:ident),* $(,)?) => {
        mod sqlite {
            $(#[test] fn $rule() { super::$rule(::acceptance::Kind::Sqlite); })*
        }
        mod postgres {
            $(#[test] fn $rule() { super::$rule(::acceptance::Kind::Postgres); })*
        }
    };
}

mod activity;
mod attachments_in_a_bucket;
mod availability;
mod backups;
mod bidding_loop;
mod bids;
mod billing;
mod canaries;
mod client;
mod crashes;
mod demo;
mod doctor;
mod foreign_ids;
mod hostile_requests;
mod http_manners;
mod installing;
mod keys;
mod lead_commands;
mod listing;
mod listing_commands;
mod lost_output;
mod marketplace_check;
mod marketplace_trouble;
mod measures;
mod operability;
mod private_files;
mod provisioning;
mod quota_races;
mod reading_turns;
mod real_posts;
mod removed_organizations;
mod retention;
mod revocation;
mod row_measures;
mod saved_filters;
mod sealing;
mod settings;
mod traces;
mod unsettled_bids;
mod uploads;
mod webhooks;
