//! The rules of Bidloop, without I/O: leads, saved filters, bids, quotas and provisioning, the ports that they need,
//! and the use cases that join both.
//!
//! Bidloop watches a marketplace's feed of job posts, matches each post against saved filters, makes leads of the
//! matches, and submits proposals for them. This crate decides; adapters for a database, the marketplace and HTTP
//! surround it. It has no runtime, no SQL and no HTTP, and knows the time and randomness through ports only.
//!
//! # Layers
//!
//! Each layer depends on those above it only.
//!
//! | module | holds |
//! |---|---|
//! | [`matching`] | saved filters: the keyword language, evaluation, explanation and the index; a crate of its own |
//! | [`model`] | the vocabulary: lead, job post, campaign, bid, bidding configuration, money, events |
//! | [`bidding`], [`provisioning`], [`attachment_rules`] | the rules, as pure functions over the model |
//! | [`port`] | one trait for each need: stores, the marketplace, the sender of webhooks, the clock |
//! | [`use_case`] | one file for each operation: what the API, the workers and the commands call |
//!
//! To read the code, start with [`model::JobPost`] and [`model::Lead`], go on with [`bidding::decide`], and end with
//! [`use_case::IngestJobs`] and [`use_case::SubmitBid`], the two paths through everything.
//!
//! # A job against a filter, and the rate to offer
//!
//! ```
//! use bidloop_domain::bidding::{JobTerms, OfferInput, OfferMode, offer};
//! use bidloop_domain::matching::{PreparedJob, SavedFilter};
//! use bidloop_domain::model::{BiddingConfig, JobPost, effective};
//! use serde_json::json;
//!
//! let post = JobPost::parse(
//!     r#"{"id": "17", "ciphertext": "~17", "title": "Rust service", "description": "Axum and tokio.",
//!         "url": "/jobs/~17", "postedAt": 1790000000000,
//!         "metadata": {"paymentType": "Hourly", "hourlyRate": {"min": 30, "max": 50}}}"#,
//! )?;
//!
//! let filter = SavedFilter::from_value(&json!({"keywords": "rust AND (axum OR actix)"})).expect("a valid filter");
//! assert!(filter.matches(&PreparedJob::new(&post.facts())));
//!
//! let campaign = json!({"biddingHourlyRateStrategy": "match_job_budget", "biddingHourlyRatePercentage": 90});
//! let campaign = BiddingConfig::from_value(&campaign, &["biddingConfig"]).expect("a valid configuration");
//! let unset = BiddingConfig::default();
//! let offer = offer(OfferInput {
//!     config: &effective(&unset, &unset, &campaign),
//!     job: &JobTerms::of(&post),
//!     profile_rate: None,
//!     mode: OfferMode::Live,
//! });
//! assert_eq!(offer.terms.expect("a known amount").amount.to_string(), "45.00");
//! # Ok::<(), bidloop_domain::model::JobPostError>(())
//! ```
//!
//! # To embed it
//!
//! The pure modules need nothing. A use case needs implementations of the ports it names; the crates `persistence`,
//! `marketplace`, `webhooks`, `attachments` and `templates` have them, and `fakes` has them in memory. An
//! implementation of your own is correct when it passes the suite of `port-contracts`.
//!
//! Documentation cites the rules by their names in `docs/rules.md`, such as "decision B5".

#![warn(missing_docs)]

pub mod attachment_rules;
pub mod bidding;
pub use bidloop_matching as matching;
pub mod model;
pub mod port;
pub mod provisioning;
pub mod use_case;
