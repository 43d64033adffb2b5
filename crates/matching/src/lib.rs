//! Finds the saved filters that match a job post, among a hundred thousand or a million of them, in microseconds.
//!
//! The crate does no I/O, starts no threads and stores nothing. It takes filters as JSON and jobs as [`JobFacts`].
//!
//! # Match a job against many filters
//!
//! ```
//! use bidloop_matching::{FilterIndex, JobFacts, PaymentKind, PreparedJob, SavedFilter};
//!
//! // 1. Put the filters into an index, each under a key. Any type that is `Hash + Eq` can be the key.
//! let mut index = FilterIndex::new();
//! for number in 0..1_000 {
//!     let json = format!(r#"{{"keywords": "rust (axum OR \"team {number}\")", "hourlyRate": {{"min": {number}}}}}"#);
//!     let filter = SavedFilter::parse(&json).expect("a valid filter");
//!     index.insert(number, &filter)?;
//! }
//!
//! // 2. Describe the job, and prepare it once for all filters.
//! let job = PreparedJob::new(&JobFacts {
//!     title: "Rust service",
//!     description: "For team 40. We use Tokio.",
//!     payment_kind: Some(PaymentKind::Hourly),
//!     hourly_range: Some((50.0, 90.0)),
//!     ..JobFacts::default()
//! });
//!
//! // 3. Ask the index for the keys of the filters that match.
//! assert_eq!(index.matches(&job), [40]);
//!
//! // Edits take effect at once.
//! index.insert(7, &SavedFilter::parse(r#"{"keywords": "tokio -wordpress"}"#).expect("a valid filter"))?;
//! index.remove(&40);
//! assert_eq!(index.matches(&job), [7]);
//! # Ok::<(), bidloop_matching::index::IndexFull>(())
//! ```
//!
//! - To match job after job, call [`FilterIndex::for_each_match`] with a [`MatchScratch`]: it allocates nothing.
//! - To load many stored filters in parallel, call [`FilterIndex::load`] with threads of your own.
//! - If typical jobs are at hand, let the index [learn which words are rare](index::Frequencies) before you fill it.
//!
//! # Check and explain a filter
//!
//! An invalid filter is refused with all its faults. A valid one can explain why it does not match a job.
//!
//! ```
//! use bidloop_matching::{JobFacts, PreparedJob, SavedFilter};
//!
//! let faults = SavedFilter::parse(r#"{"keyword": "rust", "client": {"minRating": 6}}"#).unwrap_err();
//! assert_eq!(faults[0].to_string(), "client.minRating: must be at most 5");
//! assert_eq!(faults[1].to_string(), "keyword: unknown field; did you mean `keywords`?");
//!
//! let filter = SavedFilter::parse(r#"{"keywords": "rust axum", "client": {"minRating": 4.5}}"#).expect("a valid filter");
//! let job = JobFacts { title: "Rust service", client_rating: Some(4.8), ..JobFacts::default() };
//! let explanation = filter.explain(&PreparedJob::new(&job));
//! assert!(!explanation.matches);
//! assert_eq!(explanation.conditions[0].detail, "found: rust; not found: axum");
//! assert_eq!(explanation.conditions[1].detail, "the job says 4.8; asked for at least 4.5");
//! ```
//!
//! # What a match is
//!
//! A filter is a list of [`Condition`]s. The filter matches a job if all of them hold. A condition on a value that the job
//! does not carry is unknown; the filter's `whenUnknown` says whether it counts as held. [`SavedFilter::matches`]
//! evaluates one filter. [`FilterIndex`] finds the matches among all filters. [`SavedFilter::explain`] returns the
//! [`Verdict`] on each condition. All three give the same answer; the tests compare them with an independent reference.
//!
//! # Read on
//!
//! - `docs/saved-filters.md` describes the fields of a filter for its users, [`filter_schema`] as JSON Schema. All follow
//!   from one table of fields.
//! - [`keywords`] is the language of keyword expressions, [`text`] the definition of a word.
//! - [`index`] explains how the index finds matches, what this costs, and the limits.
//! - [`JobSignature`] takes 129 bytes for each stored job, and rules out most jobs without reading them when a filter is
//!   new or has changed.
//! - [`json`] reads JSON strictly and reports every fault of a document.

#![warn(missing_docs)]

/// The example of the crate's README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod condition;
mod conditions;
mod evaluate;
mod explain;
mod facts;
pub mod index;
mod job_text;
mod job_values;
pub mod json;
pub mod keywords;
mod prepared_job;
mod saved_filter;
mod schema;
mod signature;
#[cfg(test)]
mod tests;
pub mod text;

pub use condition::{Bound, Condition};
pub use conditions::{FlagField, NumberField, TextField};
pub use evaluate::Verdict;
pub use explain::{ExplainedCondition, Explanation};
pub use facts::{JobFacts, PaymentKind};
pub use index::{FilterIndex, MatchScratch};
pub use job_text::{FieldSet, JobText};
pub use keywords::{Expression, Field, KeywordFault, Term};
pub use prepared_job::PreparedJob;
pub use saved_filter::{FilterFile, MAX_LIST_VALUES, MAX_VALUE_CHARS, SavedFilter};
pub use schema::filter_schema;
pub use signature::{JobSignature, SignatureQuery};
pub use text::{fold, list_key, split_words};
