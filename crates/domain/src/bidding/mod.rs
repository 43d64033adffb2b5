//! The bidding rules: pure functions that decide, each with an explanation of its steps.
//!
//! One file holds one rule. A bid passes them in this order:
//!
//! 1. On the request: [`check_bid`] checks it against the lead's questions ([`check_answers`]) and the rates that its
//!    strategy needs ([`check_required_rates`]). [`current_period`] is the billing period whose quota it uses.
//! 2. At submission: [`decide`] applies the frozen configuration to the job's live state and the account's balance.
//!    [`offer`] computes the amount, [`boost`] the connects.
//! 3. For a dry run instead: [`simulate`] computes what is known without asking the marketplace.
//!
//! `docs/rules.md` has the rules in prose.

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
    ExplanationStep, PaymentKind, QuestionAnswerPair, Reason, ReasonCode, Terms, TermsJson,
};
