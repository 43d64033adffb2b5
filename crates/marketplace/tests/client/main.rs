//! The marketplace client against a scripted server, which does what a faulty marketplace might, and against the
//! simulator, which speaks the protocol as the contract has it.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

mod fixtures;
mod mapping;
mod scripted_server;
mod simulator;
mod transport;
mod uploads;
