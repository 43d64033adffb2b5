//! The bidding rules: pure functions from what is known to what is done, each with its explanation.
//!
//! One file a rule. A bid meets them in this order:
//!
//! 1. When it is asked for: [`check_bid`] holds it against the lead's questions ([`check_answers`]) and the
//!    rates that its strategy needs ([`check_required_rates`]); [`current_period`] tells which billing period
//!    its quota is taken from.
//! 2. When a submitter takes it up: [`decide`] applies the frozen configuration to the job's live state and
//!    the account's balance, through [`offer`] (which amount) and [`boost`] (how many connects).
//! 3. Or, for a dry run: [`simulate`] says what can be known without asking the marketplace.
//!
//! The rules in prose: `docs/rules.md`.

mod boost;
mod dry_run;
mod job_terms;
mod questions;
mod quota;
mod rate;
mod required_rates;
mod submission;
mod validation;
mod validation_fault;

pub use boost::{BoostInput, BoostOutcome, BoostPlan, boost};
pub use dry_run::{DryRun, simulate};
pub use job_terms::JobTerms;
pub use questions::{check_answers, in_lead_order};
pub use quota::{BillingPeriod, QuotaUsage, current_period};
pub use rate::{OfferInput, OfferMode, OfferOutcome, offer};
pub use required_rates::check_required_rates;
pub use submission::{
    ConnectsRefusals, Decision, DecisionInput, JobWarning, LiveJobState, LiveJobStatus, decide,
};
pub use validation::check_bid;
pub use validation_fault::{ValidationCode, ValidationFault};

pub use crate::model::{
    EndStatus, ExplanationStep, QuestionAnswerPair, Reason, ReasonCode, Terms, TermsJson, TermsKind,
};
