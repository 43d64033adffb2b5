//! What becomes of a queued bid at the moment of its submission (decision B4, `docs/rules.md#b4`).
//!
//! Owns the order in which the job's live state, the amount, the connects and the boost are asked, and what a
//! refusal for want of connects changes. Does not own sending, retrying or recording: see the use case.

use serde::{Deserialize, Serialize};

use super::boost::{BoostInput, BoostPlan, boost};
use super::job_terms::JobTerms;
use super::rate::{OfferInput, OfferMode, offer};
use crate::model::{
    AlreadyHiredAction, BidWithWarning, Connects, EffectiveConfig, EndStatus, ExplanationStep, Reason,
    ReasonCode, Terms, count_connects, objects,
};

/// Whether the marketplace still takes proposals for a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LiveJobStatus {
    /// It does.
    Open,
    /// It does not.
    Closed,
}

/// A warning that the marketplace shows on a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobWarning {
    /// The marketplace's word for it.
    pub code: String,
    /// Its sentence.
    pub message: String,
}

/// A job's state on the marketplace just before submission, in the shape of the marketplace protocol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LiveJobState {
    /// Open or closed.
    pub status: LiveJobStatus,
    /// Whether the client hired someone for it.
    pub already_hired: bool,
    /// The warnings that stand on it.
    #[serde(deserialize_with = "objects")]
    pub warnings: Vec<JobWarning>,
    /// The boosts that stand on it.
    pub boosts: Vec<Connects>,
    /// What it asks for a proposal.
    pub required_connects: Connects,
}

/// What is known of refusals for want of connects under one bid's idempotency key.
///
/// After such a refusal the proposal is decided anew with the balance read afresh (decision B4). Should the
/// marketplace refuse the same total a second time, its word counts more than the balance it reports: less
/// than that total is taken to be at hand. So every second refusal lowers the total, and deciding anew comes
/// to an end.
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
    /// With one refusal more, of a proposal that needed `total` (the job's own connects and the boost).
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

    /// What can be counted on of a reported balance.
    #[must_use]
    pub fn cap(self, balance: Connects) -> Connects {
        self.below
            .map_or(balance, |below| balance.min(below.minus(Connects::new(1))))
    }

    /// Whether even a proposal that costs nothing was refused twice: then nothing is left to try.
    fn leave_nothing(self) -> bool {
        self.below == Some(Connects::ZERO)
    }
}

/// All that a submission is decided from.
#[derive(Debug, Clone, Copy)]
pub struct DecisionInput<'a> {
    /// The configuration frozen when the bid was accepted.
    pub config: &'a EffectiveConfig,
    /// What the job says about money.
    pub job: &'a JobTerms,
    /// The job's live state.
    pub live: &'a LiveJobState,
    /// The account's balance, just read.
    pub balance: Connects,
    /// The account's profile rate in USD per hour.
    pub profile_rate: Option<f64>,
    /// Earlier refusals for want of connects under this bid's key.
    pub refusals: ConnectsRefusals,
}

/// What becomes of the bid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// A proposal is sent.
    Send {
        /// What it offers.
        terms: Terms,
        /// Its boost.
        boost: BoostPlan,
        /// Whether the marketplace may take it though a warning stands on the job.
        accept_warnings: bool,
        /// Each step with its figures.
        steps: Vec<ExplanationStep>,
    },
    /// The bid ends without a proposal.
    End {
        /// Skipped or failed.
        status: EndStatus,
        /// Why.
        reason: Reason,
        /// What would have been offered, if that was known by then.
        terms: Option<Terms>,
        /// Each step with its figures.
        steps: Vec<ExplanationStep>,
    },
}

/// Decides a submission. Asked in this order: is the job open, did the client hire, do warnings stand, which
/// amount, the job's own connects, the boost. The first that speaks against it ends the bid.
///
/// The same inputs give the same decision. After a refusal for want of connects (402) the caller asks again,
/// with the balance read afresh and the refusal added to `refusals`.
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
/// let Decision::Send { terms, boost, .. } = decision else { panic!("nothing speaks against it") };
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

    if input.refusals.leave_nothing() {
        let message = "the marketplace refused a proposal that costs nothing for want of connects";
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
                    "The account reports {}, but the marketplace refused a proposal for want of connects; {balance} are counted on.",
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
    Decision::End {
        status: reason.code.status(),
        reason,
        terms,
        steps,
    }
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
            "the job takes no proposals any more",
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
