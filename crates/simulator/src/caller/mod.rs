//! A caller's own program to run against: a webhook receiver that checks signatures and, if asked to, answers
//! each `job.new` with a bid. Owns the caller's side of the bidding loop; the marketplace's side is the rest of
//! the crate.
//!
//! `bidloop demo` shows its events as they come. Tests script its answers and look at what it received:
//!
//! ```
//! use bidloop_domain::model::WebhookSecret;
//! use bidloop_simulator::caller::{Answer, Event, Receiver, ReceiverOptions};
//!
//! # tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
//! let secret = WebhookSecret::generate([7; 32]);
//! let options = ReceiverOptions { secrets: vec![secret.clone()], ..ReceiverOptions::default() };
//! let receiver = Receiver::start("127.0.0.1:0", options, |event| match event {
//!     Event::Delivered(delivery) => println!("{} {:?}", delivery.id(), delivery.signature()),
//!     Event::Replied(reply) => println!("{}: {}", reply.lead_id, reply.message),
//! })
//! .await?;
//! // Whatever comes first is refused after a moment, the rest is answered 200:
//! receiver.answer_next(Answer::status(503).after(std::time::Duration::from_millis(20)));
//! // … provision a webhook with this address and `secret.expose()`, publish a job, wait, and look:
//! assert_eq!(receiver.url("/hooks"), format!("http://{}/hooks", receiver.address()));
//! assert!(receiver.deliveries().is_empty());
//! receiver.shutdown().await;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! Reading order: `receiver` (start, script, look, stop), `delivery` (what came), `auto_reply` (the bids that go
//! out), `bid` (what such a bid says), `server` (the connections).
//!
//! Unlike the marketplace's side, the caller uses the domain's code for one thing: the check of signatures, as a
//! Rust caller of Bidloop would.

mod auto_reply;
mod bid;
mod delivery;
mod receiver;
mod server;
#[cfg(test)]
mod tests;

pub use auto_reply::Reply;
pub use bid::bid_on;
pub use delivery::{Delivery, Signature};
pub use receiver::{Answer, Event, Receiver, ReceiverOptions};
