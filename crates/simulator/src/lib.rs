//! A marketplace to run against: the protocol, its control calls, and a generator of job posts.
//!
//! The simulator speaks the marketplace protocol over HTTP/1.1 (feed, job states, accounts, attachments,
//! proposals) with the rules that matter to a bidder: idempotency keys, one proposal per account and job, connects
//! balances, a four-place boost auction, warnings and closed jobs. Control calls under `/sim/` publish jobs, change
//! states, create accounts and make calls fail on request. `bidloop simulate` and `bidloop demo` run it, tests embed it:
//!
//! ```
//! use bidloop_simulator::{Options, Simulator};
//! use serde_json::json;
//!
//! # tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
//! let simulator = Simulator::start("127.0.0.1:0", Options::default()).await?;
//! simulator.put_account("token-1", json!({"id": "acct_1", "connectsBalance": 80, "profileHourlyRate": 45}))?;
//! let jobs = simulator.publish(vec![json!({"title": "Rust developer", "metadata": {"paymentType": "Hourly"}})])?;
//! assert_eq!(jobs[0]["url"], format!("{}/jobs/~02{}", simulator.base_url(), jobs[0]["id"].as_str().unwrap()));
//! // … point the service at simulator.base_url(), then read what it sent:
//! assert!(simulator.proposals().is_empty());
//! simulator.shutdown().await;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! Reading order: `market` has the rules and no HTTP, `server` the calls and the faults, `generator` the job posts,
//! `publisher` their release. The marketplace shares no protocol code with the service, so that tests notice if the two
//! disagree. [`caller`] stands in for the program of an API user.

mod answer;
pub mod caller;
mod clock;
mod connections;
mod faults;
mod generator;
mod ids;
mod job_file;
mod market;
mod multipart;
mod publisher;
mod server;
mod shared;
mod simulator;
mod tasks;

pub use generator::{Generator, Random};
pub use job_file::JobFileError;
pub use publisher::{PostFile, PostSource, Publishing};
pub use shared::PublishError;
pub use simulator::{ControlError, Options, Simulator};
