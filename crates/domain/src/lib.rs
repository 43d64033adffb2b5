//! Leads, saved filters, bidding rules, ports and use cases of Bidloop; no I/O.

pub mod attachment_rules;
pub mod bidding;
pub use bidloop_matching as matching;
pub mod model;
pub mod port;
pub mod provisioning;
pub mod use_case;

/// The README's example, so that it keeps compiling.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
