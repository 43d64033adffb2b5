//! A stand-in for the program of an API user: a webhook receiver that checks signatures and can answer each `job.new` with
//! a bid. The rest of the crate is the marketplace's side.
//!
//! `bidloop demo` shows its events. Tests script its answers and read what it received:
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
//! // The first delivery is refused after 20 ms, the others are answered 200:
//! receiver.answer_next(Answer::status(503).after(std::time::Duration::from_millis(20)));
//! // … provision a webhook with this address and `secret.expose()`, publish a job and wait:
//! assert_eq!(receiver.url("/hooks"), format!("http://{}/hooks", receiver.address()));
//! assert!(receiver.deliveries().is_empty());
//! receiver.shutdown().await;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! Reading order: `receiver` (the interface), `inbox` (deliveries and answers), `delivery`, `auto_reply` (sends bids), `bid`
//! (their text), `server` (the connections).
//!
//! Signatures are checked and bids are sent with `bidloop-client`, as a Rust program of an API user would.

mod auto_reply;
mod bid;
mod delivery;
mod inbox;
mod receiver;
mod server;
#[cfg(test)]
mod tests;

pub use auto_reply::Reply;
pub use bid::bid_on;
pub use delivery::{Delivery, Signature};
pub use inbox::{Answer, Event};
pub use receiver::{Receiver, ReceiverOptions};
