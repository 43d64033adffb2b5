//! Saved filters against job posts: the keyword language, one-to-one evaluation, explanation, the index over
//! all filters, and the signatures of stored jobs.
//!
//! The way of a match: a [`SavedFilter`](crate::SavedFilter) is checked into a [`CompiledFilter`], which is a
//! list of [`Condition`]s; a [`JobPost`](crate::model::JobPost) is prepared once into a [`PreparedJob`]; each condition
//! then has a [`Verdict`], and the filter matches if all hold. [`FilterIndex`] asks this of a million filters at once,
//! [`CompiledFilter::explain`] tells the verdicts apart. All three ways of asking give the same answer.
//!
//! Words are what [`text`] says they are; the language of expressions is described in [`keywords`].

mod compile;
mod condition;
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
mod signature;
#[cfg(test)]
mod tests;
pub mod text;

pub use compile::CompiledFilter;
pub use condition::{Attribute, Bound, Condition, Figure, Flag};
pub use evaluate::Verdict;
pub use explain::{ExplainedCondition, Explanation};
pub use facts::{JobFacts, PaymentKind};
pub use index::{FilterIndex, MatchScratch};
pub use job_text::{FieldSet, JobText};
pub use keywords::{Expression, Field, KeywordFault, Term};
pub use prepared_job::PreparedJob;
pub use saved_filter::{
    Bounds, ClientConditions, FilterFile, IncludeExclude, MAX_LIST_VALUES, MAX_VALUE_CHARS, SavedFilter,
    SkillLists, VendorConditions, WhenUnknown,
};
pub use signature::{JobSignature, SignatureSieve};
pub use text::{fold, list_key, split_words};
