//! Which of a million saved filters match a job post? Filters with a keyword language, checked, explained and indexed.
//! No I/O and no threads of its own.
//!
//! # Matching a job against many filters
//!
//! A filter is JSON; [`SavedFilter::from_value`] checks it. A job is three texts and typed values, [`JobFacts`]; it is
//! prepared once and then held against all filters of a [`FilterIndex`].
//!
//! ```
//! use bidloop_matching::{FilterIndex, JobFacts, MatchScratch, PaymentKind, PreparedJob, SavedFilter};
//! use serde_json::json;
//!
//! // Filters by key: any type that is `Hash + Eq`.
//! let mut index = FilterIndex::new();
//! for number in 0..1_000_u32 {
//!     let filter = SavedFilter::from_value(&json!({
//!         "keywords": format!("rust (axum OR \"team {number}\")"),
//!         "hourlyRate": {"min": number},
//!     }))
//!     .expect("a good filter");
//!     index.insert(number, &filter)?;
//! }
//!
//! let job = PreparedJob::new(&JobFacts {
//!     title: "Rust service",
//!     description: "For team 40; we use Tokio.",
//!     payment_kind: Some(PaymentKind::Hourly),
//!     hourly_range: Some((50.0, 90.0)),
//!     ..JobFacts::default()
//! });
//! assert_eq!(index.matches(&job), [40]);
//!
//! // In a loop: memory is used again, and keys are passed as they are found.
//! let mut scratch = MatchScratch::default();
//! index.for_each_match(&job, &mut scratch, |number| assert_eq!(*number, 40));
//!
//! // Why not filter 95?
//! let filter = SavedFilter::parse(r#"{"keywords": "rust axum", "hourlyRate": {"min": 95}}"#).expect("a good filter");
//! let explanation = filter.explain(&job);
//! assert!(!explanation.matches);
//! assert_eq!(explanation.conditions[0].detail, "found: rust; not found: axum");
//! assert_eq!(explanation.conditions[1].detail, "an hourly job, 50 to 90 USD an hour; asked for 95 or more");
//! # Ok::<(), bidloop_matching::index::IndexFull>(())
//! ```
//!
//! # What a match is
//!
//! A filter is a list of [`Condition`]s, all of which must hold. Each has a [`Verdict`] on a job: held, failed, or
//! unknown if the job does not carry the value. The filter's `whenUnknown` says what an unknown condition counts as.
//! [`SavedFilter::matches`] asks one filter, [`FilterIndex`] all of them, [`SavedFilter::explain`] returns the verdicts
//! with reasons. All three give the same answer, and tests hold them to an independent reference.
//!
//! # Where to read on
//!
//! - The fields of a filter are one table, from which reading, evaluation, explanation and the [schema](filter_schema)
//!   follow. `docs/saved-filters.md` is the guide for users.
//! - [`keywords`]: the language of expressions. [`text`]: what a word is.
//! - [`index`]: how the index finds matches, what it costs, and its limits.
//! - [`JobSignature`]: 129 bytes a stored job that dismiss most jobs without reading them, for backfills.
//! - [`json`]: the reader that reports every fault of a document at once.

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
