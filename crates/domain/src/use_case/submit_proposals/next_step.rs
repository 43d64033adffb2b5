//! The result of one pass over a bid, before it is recorded.

use std::time::Duration;

use crate::model::{BidOutcome, Connects, MarketplaceToken, Proposal, Reason, ReasonCode, Terms};
use crate::port::{MarketplaceError, MarketplaceRefusal, SubmittedProposal};

/// What happens next to a bid.
pub(super) enum NextStep {
    /// The bid ends; with a token that the marketplace refused, its account is disconnected.
    End {
        outcome: Box<BidOutcome>,
        refused_token: Option<MarketplaceToken>,
    },
    /// The bid is retried later. `outstanding` is whether the result of an attempt is unknown.
    Postpone {
        why: String,
        retry_after: Option<Duration>,
        outstanding: bool,
    },
    /// Only another token can show whether the proposal was accepted.
    WaitForToken { refused: MarketplaceToken },
    /// Another process has the bid.
    LeaseLost,
}

impl NextStep {
    pub(super) fn submitted(proposal: &Proposal, submitted: SubmittedProposal) -> Self {
        Self::end(BidOutcome::Submitted {
            proposal_id: submitted.proposal_id,
            submitted_at: submitted.submitted_at,
            terms: proposal.terms,
            boost_connects: proposal.boost_connects,
            connects_spent: submitted.connects_spent,
        })
    }

    /// The decision was not to bid. `terms` are those that were known by then.
    pub(super) fn not_sent(reason: Reason, terms: Option<Terms>) -> Self {
        Self::end(BidOutcome::NotSubmitted {
            reason,
            terms,
            boost_connects: Connects::ZERO,
            existing_proposal_id: None,
        })
    }

    /// The bid ends, and `proposal`, if one was decided, was not accepted.
    pub(super) fn ended(reason: Reason, proposal: Option<&Proposal>) -> Self {
        Self::end(without(reason, proposal, None))
    }

    /// The marketplace refused the proposal permanently.
    pub(super) fn refused(refusal: MarketplaceRefusal, message: String, proposal: &Proposal) -> Self {
        let (code, existing) = match refusal {
            MarketplaceRefusal::AlreadyApplied { proposal_id } => (ReasonCode::AlreadyApplied, proposal_id),
            MarketplaceRefusal::InsufficientConnects => (ReasonCode::InsufficientConnects, None),
            MarketplaceRefusal::JobClosed => (ReasonCode::JobClosed, None),
            MarketplaceRefusal::JobWarning => (ReasonCode::JobWarning, None),
            MarketplaceRefusal::NotEligible => (ReasonCode::NotEligible, None),
            MarketplaceRefusal::NotFound => (ReasonCode::JobNotFound, None),
            MarketplaceRefusal::Invalid => (ReasonCode::Invalid, None),
        };
        Self::end(without(Reason::new(code, message), Some(proposal), existing))
    }

    pub(super) fn invalid_token(token: &MarketplaceToken, proposal: Option<&Proposal>) -> Self {
        let message = "The marketplace refused the account's token. Give the account a new one.";
        let reason = Reason::new(ReasonCode::InvalidToken, message);
        Self::End {
            outcome: Box::new(without(reason, proposal, None)),
            refused_token: Some(token.clone()),
        }
    }

    /// The bid is retried after `error`. `outstanding` is whether the result of an attempt is unknown.
    pub(super) fn postponed(error: &MarketplaceError, outstanding: bool) -> Self {
        let retry_after = match error {
            MarketplaceError::TryLater { retry_after, .. }
            | MarketplaceError::NotItsAnswer { retry_after, .. } => *retry_after,
            _ => None,
        };
        Self::Postpone {
            why: error.to_string(),
            retry_after,
            outstanding,
        }
    }

    fn end(outcome: BidOutcome) -> Self {
        Self::End {
            outcome: Box::new(outcome),
            refused_token: None,
        }
    }
}

fn without(reason: Reason, proposal: Option<&Proposal>, existing_proposal_id: Option<String>) -> BidOutcome {
    BidOutcome::NotSubmitted {
        reason,
        terms: proposal.map(|proposal| proposal.terms),
        boost_connects: proposal.map_or(Connects::ZERO, |proposal| proposal.boost_connects),
        existing_proposal_id,
    }
}
