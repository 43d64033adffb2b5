//! From Stripe's JSON to an organization's subscription, over the fakes.
#![expect(clippy::unwrap_used, reason = "this is test code")]

mod payloads;
mod reading;
mod shuffled;
