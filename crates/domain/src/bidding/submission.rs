//! The decision on a queued bid at the moment of its submission (decision B4, `docs/rules.md#b4`).
//!
//! Owns the order in which the job's live state, the amount, the connects and the boost are checked, and what a
//! refusal for lack of connects changes. Does not own sending, retrying or recording: see the use case.

use serde::{Deserialize, Serialize};

use super::boost::{BoostInput, BoostPlan, boost};
use super::job_terms::JobTerms;
use super::rate::{OfferInput, OfferMode, offer};
use crate::model::{
    AlreadyHiredAction, BidWithWarning, Connects, EffectiveConfig, ExplanationStep, Reason, ReasonCode,
    Terms, count_connects, objects,
};

/// Whether the marketplace accepts proposals for a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LiveJobStatus {
    /// It accepts proposals.
    Open,
    /// It accepts no more proposals.
    Closed,
}

/// A warning that the marketplace shows on a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobWarning {
    /// The marketplace's code.
    pub code: String,
    /// The marketplace's sentence.
    pub message: String,
}

/// A job's state on the marketplace just before submission, as the marketplace protocol writes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LiveJobState {
    /// Whether the job accepts proposals.
    pub status: LiveJobStatus,
    /// Whether the client already hired someone for the job.
    pub already_hired: bool,
    /// The warnings that the marketplace shows on the job.
    #[serde(deserialize_with = "objects")]
    pub warnings: Vec<JobWarning>,
    /// The boosts that other proposals hold on the job.
    pub boosts: Vec<Connects>,
    /// The job's own price of a proposal.
    pub required_connects: Connects,
}

/// The refusals for lack of connects under one bid's idempotency key.
///
/// After such a refusal the proposal is decided anew with the balance read again (decision B4). If the marketplace
/// refuses the same total a second time, the balance counts as lower than that total, even if the marketplace
/// reports more. So every second refusal lowers the total, and the repetition ends.
///
/// ```
/// use bidloop_domain::bidding::ConnectsRefusals;
/// use bidloop_domain::model::Connects;
///
/// let balance = Connects::new(40);
/// let once = ConnectsRefusals::default().after(Connects::new(16));
/// assert_eq!(once.cap(balance), balance);
/// let twice = once.after(Connects::new(16));
/// assert_eq!(twice.cap(balance), Connects::new(15));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConnectsRefusals {
    /// The total that was refused and may be tried once more.
    refused_once: Option<Connects>,
    /// A proposal must cost less than this.
    below: Option<Connects>,
}

impl ConnectsRefusals {
    /// Adds the refusal of a proposal that needed `total`: the job's own connects and the boost.
    #[must_use]
    pub fn after(self, total: Connects) -> Self {
        match self.refused_once {
            Some(once) if total >= once => Self {
                refused_once: None,
                below: Some(once),
            },
            _ => Self {
                refused_once: Some(total),
                below: self.below,
            },
        }
    }

    /// The part of a reported balance that counts.
    #[must_use]
    pub fn cap(self, balance: Connects) -> Connects {
        self.below
            .map_or(balance, |below| balance.min(below.minus(Connects::new(1))))
    }

    /// Whether a proposal that costs nothing was refused twice, so that nothing is left to try.
    fn are_exhausted(self) -> bool {
        self.below == Some(Connects::ZERO)
    }
}

/// The inputs of [`decide`].
#[derive(Debug, Clone, Copy)]
pub struct DecisionInput<'a> {
    /// The configuration frozen when the bid was accepted.
    pub config: &'a EffectiveConfig,
    /// What the job post says about money.
    pub job: &'a JobTerms,
    /// The job's live state.
    pub live: &'a LiveJobState,
    /// The account's balance, as just read.
    pub balance: Connects,
    /// The account's profile rate in USD per hour, if known.
    pub profile_rate: Option<f64>,
    /// Earlier refusals for lack of connects under this bid's key.
    pub refusals: ConnectsRefusals,
}

/// The decision on a bid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Send a proposal.
    Send {
        /// The terms to offer.
        terms: Terms,
        /// The boost.
        boost: BoostPlan,
        /// Whether the marketplace may accept it despite a warning on the job.
        accept_warnings: bool,
        /// Each step with its figures.
        steps: Vec<ExplanationStep>,
    },
    /// End the bid without a proposal.
    End {
        /// Why.
        reason: Reason,
        /// The terms that would have been offered, if they were known by then.
        terms: Option<Terms>,
        /// Each step with its figures.
        steps: Vec<ExplanationStep>,
    },
}

/// Decides a submission. The checks, in order: the job is open, the client has not hired, no warning, the amount is
/// known, the job's own connects, the boost. The first that fails ends the bid.
///
/// The same inputs give the same decision. After a refusal for lack of connects the caller decides again, with the
/// balance read again and the refusal added to `refusals`.
///
/// ```
/// use bidloop_domain::bidding::{
///     ConnectsRefusals, Decision, DecisionInput, JobTerms, LiveJobState, LiveJobStatus, decide,
/// };
/// use bidloop_domain::model::{BiddingConfig, Connects, effective};
///
/// let none = BiddingConfig::default();
/// let config = effective(&none, &none, &none);
/// let job = JobTerms::new(Some("Hourly"), Some(30.0), Some(50.0), None, None);
/// let live = LiveJobState {
///     status: LiveJobStatus::Open,
///     already_hired: false,
///     warnings: vec![],
///     boosts: vec![],
///     required_connects: Connects::new(12),
/// };
/// let decision = decide(DecisionInput {
///     config: &config,
///     job: &job,
///     live: &live,
///     balance: Connects::new(80),
///     profile_rate: Some(60.0),
///     refusals: ConnectsRefusals::default(),
/// });
/// let Decision::Send { terms, boost, .. } = decision else { panic!("every check passes") };
/// assert_eq!(terms.amount.to_string(), "50.00");
/// assert_eq!(boost.connects, Connects::ZERO);
/// ```
pub fn decide(input: DecisionInput<'_>) -> Decision {
    let config = input.config;
    let mut steps = Vec::new();
    if let Err(reason) = judge_live_state(config, input.live, &mut steps) {
        return end(reason, None, steps);
    }

    let outcome = offer(OfferInput {
        config,
        job: input.job,
        profile_rate: input.profile_rate,
        mode: OfferMode::Live,
    });
    steps.extend(outcome.steps);
    let terms = match outcome.terms {
        Ok(terms) => terms,
        Err(reason) => return end(reason, None, steps),
    };

    if input.refusals.are_exhausted() {
        let message = "the marketplace refused a proposal that costs nothing for lack of connects";
        steps.push(ExplanationStep::new(
            "refused_connects",
            format!("Not payable: {message}."),
        ));
        return end(
            Reason::new(ReasonCode::InsufficientConnects, message),
            Some(terms),
            steps,
        );
    }
    let balance = input.refusals.cap(input.balance);
    if balance < input.balance {
        steps.push(
            ExplanationStep::new(
                "refused_connects",
                format!(
                    "The account reports {}, but the marketplace refused a proposal for lack of connects; the decision assumes {balance}.",
                    count_connects(input.balance)
                ),
            )
            .with("reportedBalance", input.balance.get())
            .with("balance", balance.get()),
        );
    }
    let outcome = boost(BoostInput {
        config,
        standing: &input.live.boosts,
        required: input.live.required_connects,
        balance,
    });
    steps.extend(outcome.steps);
    match outcome.plan {
        Ok(boost) => Decision::Send {
            terms,
            boost,
            accept_warnings: config.bid_with_warning == BidWithWarning::Bid,
            steps,
        },
        Err(reason) => end(reason, Some(terms), steps),
    }
}

fn end(reason: Reason, terms: Option<Terms>, steps: Vec<ExplanationStep>) -> Decision {
    Decision::End { reason, terms, steps }
}

fn judge_live_state(
    config: &EffectiveConfig,
    live: &LiveJobState,
    steps: &mut Vec<ExplanationStep>,
) -> Result<(), Reason> {
    if live.status == LiveJobStatus::Closed {
        steps.push(ExplanationStep::new("job_status", "The job is closed."));
        return Err(Reason::new(
            ReasonCode::JobClosed,
            "the job no longer takes proposals",
        ));
    }
    steps.push(ExplanationStep::new("job_status", "The job is open."));

    if live.already_hired {
        let source = config.source_of("alreadyHiredAction");
        let action = config.already_hired_action;
        steps.push(ExplanationStep::new(
            "already_hired",
            format!("The client already hired someone; alreadyHiredAction is {action} (from {source})."),
        ));
        if action == AlreadyHiredAction::Skip {
            return Err(Reason::new(
                ReasonCode::AlreadyHired,
                "the client already hired someone for the job",
            ));
        }
    }

    if !live.warnings.is_empty() {
        let source = config.source_of("bidWithWarning");
        let action = config.bid_with_warning;
        let shown: Vec<String> = live
            .warnings
            .iter()
            .map(|warning| format!("{} ({})", warning.code, warning.message))
            .collect();
        let shown = shown.join(", ");
        steps.push(
            ExplanationStep::new(
                "job_warning",
                format!("The marketplace warns: {shown}; bidWithWarning is {action} (from {source})."),
            )
            .with(
                "warnings",
                live.warnings
                    .iter()
                    .map(|warning| warning.code.clone())
                    .collect::<Vec<_>>(),
            ),
        );
        if action == BidWithWarning::Skip {
            return Err(Reason::new(
                ReasonCode::JobWarning,
                format!("the marketplace warns: {shown}"),
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "submission_tests.rs"]
mod tests;
