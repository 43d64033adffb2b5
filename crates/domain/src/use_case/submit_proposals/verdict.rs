//! What one pass over a bid leads to, before it is recorded; and what the marketplace's words for a refusal mean.

use std::time::Duration;

use crate::bidding::{Reason, ReasonCode, Terms};
use crate::model::{BidEnd, Connects, LeadStatus, Proposal};
use crate::port::{MarketplaceError, SubmittedProposal};

pub(super) enum Verdict {
    /// The bid ends; with a token that the marketplace refused, its account is disconnected.
    End {
        end: Box<BidEnd>,
        refused_token: Option<String>,
    },
    /// The bid is tried again later.
    Postpone {
        why: String,
        retry_after: Option<Duration>,
        outstanding: bool,
    },
    /// Only another token can tell what became of the proposal.
    WaitForToken { refused: String },
    /// Another process has the bid.
    LeaseLost,
}

impl Verdict {
    pub(super) fn submitted(proposal: &Proposal, submitted: SubmittedProposal) -> Self {
        Self::end(BidEnd {
            status: LeadStatus::Submitted,
            reason: None,
            proposal_id: Some(submitted.proposal_id),
            submitted_at: Some(submitted.submitted_at),
            terms: Some(proposal.terms),
            boost_connects: proposal.boost_connects,
            connects_spent: submitted.connects_spent,
        })
    }

    /// Decided against, with the terms that were known by then.
    pub(super) fn not_sent(reason: Reason, terms: Option<Terms>) -> Self {
        Self::end(unsubmitted(reason, terms, Connects::ZERO, None))
    }

    /// Ended by what stands in the way of the proposal, if one was decided.
    pub(super) fn ended(reason: Reason, proposal: Option<&Proposal>) -> Self {
        Self::end(unsubmitted_proposal(reason, proposal, None))
    }

    /// Refused for good. `proposal_id` is that of the proposal which the account already had.
    pub(super) fn refused(
        code: ReasonCode,
        message: String,
        proposal: &Proposal,
        proposal_id: Option<String>,
    ) -> Self {
        let message = if message.is_empty() {
            format!("The marketplace refused the proposal: {code}.")
        } else {
            message
        };
        let proposal_id = proposal_id.filter(|_| code == ReasonCode::AlreadyApplied);
        Self::end(unsubmitted_proposal(
            Reason::new(code, message),
            Some(proposal),
            proposal_id,
        ))
    }

    pub(super) fn invalid_token(token: &str, proposal: Option<&Proposal>) -> Self {
        let message = "The marketplace refused the account's token. Give the account a new one.";
        let reason = Reason::new(ReasonCode::InvalidToken, message);
        Self::End {
            end: Box::new(unsubmitted_proposal(reason, proposal, None)),
            refused_token: Some(token.to_owned()),
        }
    }

    /// `outstanding` says whether the fate of any attempt so far is unknown.
    pub(super) fn postponed(error: &MarketplaceError, outstanding: bool) -> Self {
        let retry_after = match error {
            MarketplaceError::Passing { retry_after, .. } => *retry_after,
            _ => None,
        };
        Self::Postpone {
            why: error.to_string(),
            retry_after,
            outstanding,
        }
    }

    fn end(end: BidEnd) -> Self {
        Self::End {
            end: Box::new(end),
            refused_token: None,
        }
    }
}

/// What a refusal for good means (contract section 5).
pub(super) fn refusal_code(status: u16, code: &str) -> ReasonCode {
    match (status, code) {
        (409, _) | (_, "already_applied") => ReasonCode::AlreadyApplied,
        (_, "job_warning") => ReasonCode::JobWarning,
        (_, "job_closed") => ReasonCode::JobClosed,
        (_, "not_eligible") => ReasonCode::NotEligible,
        (404, _) => ReasonCode::JobNotFound,
        _ => ReasonCode::Invalid,
    }
}

fn unsubmitted_proposal(reason: Reason, proposal: Option<&Proposal>, proposal_id: Option<String>) -> BidEnd {
    let boost_connects = proposal.map_or(Connects::ZERO, |proposal| proposal.boost_connects);
    unsubmitted(
        reason,
        proposal.map(|proposal| proposal.terms),
        boost_connects,
        proposal_id,
    )
}

fn unsubmitted(
    reason: Reason,
    terms: Option<Terms>,
    boost_connects: Connects,
    proposal_id: Option<String>,
) -> BidEnd {
    BidEnd {
        status: reason.code.status().into(),
        reason: Some(reason),
        proposal_id,
        submitted_at: None,
        terms,
        boost_connects,
        connects_spent: Connects::ZERO,
    }
}
