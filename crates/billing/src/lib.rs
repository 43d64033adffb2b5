//! The payment provider Stripe: its webhook, from the signature to the [report](bidloop_domain::use_case::BillingEvent) that
//! the domain follows.
//!
//! This crate knows Stripe's names, payloads and signatures, and answers Stripe. What a report changes, and in which order
//! reports count, is the domain's ([`FollowBilling`](bidloop_domain::use_case::FollowBilling)).
//!
//! | item | content |
//! |---|---|
//! | [`application`] | the route `POST /billing/stripe` |
//! | [`read_event`] | from an event's JSON to a report |
//! | [`StripeSecret`] | signatures |
//! | `subscription`, `invoice` | the objects of Stripe, as far as they are read |

mod event;
mod invoice;
mod route;
mod signature;
mod stripe_json;
mod subscription;

pub use event::{Event, read_event};
pub use route::{MAX_EVENT_BYTES, PATH, StripeWebhook, application};
pub use signature::{InvalidSecret, SignatureFault, StripeSecret, TOLERANCE};
pub use stripe_json::EventFault;
