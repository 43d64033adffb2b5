//! Drives the `bidloop` program as a whole: started as a process, provisioned by its own commands, called over
//! HTTP, watched from the marketplace's and the caller's side.
//!
//! This crate is the harness; the rules it holds the program to are the test binary's, `tests/acceptance/`.
//! Reading order: `world` (a marketplace, a caller and an installation put together), `installation` (settings,
//! database, commands), `service` (a running `bidloop serve`), `api` (HTTP calls), `document` and `posts` (what
//! is provisioned and published), `database` and `own_server` (a database a test, and a server's crash), `attachments` and
//! `bucket` (a place of files a test), `forwarder` (a server's going away), `patience` (waiting with a deadline).

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stderr,
    clippy::needless_pass_by_value,
    clippy::return_self_not_must_use,
    reason = "test code: what goes wrong here fails the test that called"
)]

pub mod api;
pub mod attachments;
pub mod bucket;
pub mod database;
pub mod document;
pub mod forwarder;
pub mod installation;
pub mod own_server;
pub mod patience;
pub mod posts;
pub mod service;
pub mod world;

pub use api::{Answer, Api};
pub use attachments::Attachments;
pub use bucket::{Access, Bucket};
pub use database::{Kind, variable};
pub use forwarder::Forwarder;
pub use installation::{Finished, Installation};
pub use own_server::OwnServer;
pub use patience::{eventually, eventually_or, until};
pub use service::Service;
pub use world::World;
