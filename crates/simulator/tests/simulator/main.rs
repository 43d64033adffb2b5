//! The simulator over HTTP: each sentence of the protocol, the control calls, the faults.

#![expect(clippy::unwrap_used, reason = "a failing step is a failing test")]

mod client;
mod control;
mod faults;
mod proposals;
mod reading;
