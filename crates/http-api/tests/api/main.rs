//! The HTTP API over real connections, on the in-memory fakes.

#![expect(clippy::unwrap_used, reason = "test code")]

mod bid;
mod bounded_cost;
mod client;
mod connections;
mod described;
mod described_bodies;
mod description;
mod failure;
mod hostile;
mod list;
mod memory;
mod operability;
mod order_of_checks;
mod overload;
mod refusals;
mod reject;
mod upload;
mod upload_stream;
mod world;
