//! The tools over the in-memory fakes, called as a client on standard input calls them.

#![expect(clippy::unwrap_used, reason = "test code")]
#![expect(
    clippy::needless_pass_by_value,
    reason = "`json!` reads best where it is passed on as it is"
)]

mod abandoned;
mod client;
mod errors;
mod http;
mod keys;
mod leads;
mod scopes;
mod world;
