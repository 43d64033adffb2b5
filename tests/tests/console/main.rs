//! The console in a real browser, served by the real program, on both databases.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stderr,
    reason = "test code"
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

mod accessibility;
mod acme;
mod bidding;
mod browser;
mod campaign_pages;
mod demo;
mod display;
mod from_nothing;
mod integrations;
mod lead_actions;
mod open_pages;
mod people;
mod safety;
mod screenshots;
mod session;
mod settings;
mod signing_in;
mod tokens;
mod trouble;
mod uploads;
mod without_scripts;
