//! Settle bids: an operator lists queued bids, and ends those whose answer can never be had (decision B4). Tests:
//! `tests/use_case/settle_bids.rs`.
//!
//! A bid is claimed like a submitter claims it, so an operator and a submitter never end one bid both.

use std::sync::Arc;
use std::time::Duration;

use super::lead_request::Requester;
use super::submit_proposals::ending::Ending;
use crate::model::{
    ActivityId, Actor, Authorization, BidId, BidOutcome, ExplanationStep, LeadStatus, Links, Reason,
    ReasonCode, Unauthorized,
};
use crate::port::{
    ClaimUnanswered, ClaimedBid, Clock, Entropy, FinishBy, LeaseOwner, StoreError, SubmissionStore,
    WaitingBid, WaitingBidsQuery,
};

/// How long the claim lasts: settling takes a moment.
const LEASE: Duration = Duration::from_secs(10);

/// The most characters of a proposal's id.
const MAX_PROPOSAL_ID_CHARS: usize = 200;

/// What an operator has found out at the marketplace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settlement {
    /// The marketplace has the proposal.
    Submitted {
        /// The marketplace's id of it.
        proposal_id: String,
    },
    /// The marketplace has no such proposal.
    NotSubmitted,
}

/// Why a bid was not settled. Nothing has changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettleBidsError {
    /// The bid ended, has no outstanding answer, or does not exist.
    #[error("no queued bid \"{0}\" waits for an answer: `bidloop bids list --unsettled` shows those that do")]
    NotUnanswered(BidId),
    /// A submitter is at work on it.
    #[error("bid \"{0}\" is being sent right now: try again in a few seconds")]
    BeingSent(BidId),
    /// The proposal's id cannot be one.
    #[error("the proposal's id must have 1 to {MAX_PROPOSAL_ID_CHARS} characters and no control characters")]
    ProposalIdInvalid,
    /// The person's session has ended.
    #[error(transparent)]
    NotAuthorized(#[from] Unauthorized),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Lists queued bids and settles unanswered ones.
#[derive(Debug)]
pub struct SettleBids {
    /// Queued bids.
    pub store: Arc<dyn SubmissionStore>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Makes ids.
    pub entropy: Arc<dyn Entropy>,
    /// Addresses of jobs.
    pub links: Links,
}

impl SettleBids {
    /// Queued bids, oldest first.
    pub async fn list(&self, query: &WaitingBidsQuery) -> Result<Vec<WaitingBid>, StoreError> {
        self.store.waiting(query).await
    }

    /// Ends the bid as if the marketplace had said so: quota, lead, `bid_complete`, and an Activity entry that names
    /// `actor`. A bid that was not submitted fails with `deadline_exceeded`.
    pub async fn settle(
        &self,
        bid: BidId,
        settlement: Settlement,
        actor: Actor,
    ) -> Result<LeadStatus, SettleBidsError> {
        self.end(bid, settlement, actor, None).await
    }

    /// As [`settle`](Self::settle), for somebody whose session is checked again when the bid is ended.
    pub(super) async fn settle_as(
        &self,
        requester: &Requester,
        bid: BidId,
        settlement: Settlement,
    ) -> Result<LeadStatus, SettleBidsError> {
        let authorization = Some(&requester.authorization);
        self.end(bid, settlement, requester.actor.clone(), authorization)
            .await
    }

    async fn end(
        &self,
        bid: BidId,
        settlement: Settlement,
        actor: Actor,
        authorization: Option<&Authorization>,
    ) -> Result<LeadStatus, SettleBidsError> {
        if let Settlement::Submitted { proposal_id } = &settlement
            && (proposal_id.trim().is_empty()
                || proposal_id.chars().count() > MAX_PROPOSAL_ID_CHARS
                || proposal_id.chars().any(char::is_control))
        {
            return Err(SettleBidsError::ProposalIdInvalid);
        }
        let now = self.clock.now();
        let owner = LeaseOwner::new(format!("settle/{}", self.entropy.uuid()));
        let claimed = self
            .store
            .claim_unanswered(bid, &owner, now, now.plus(LEASE))
            .await?;
        let claimed = match claimed {
            ClaimUnanswered::Claimed(claimed) => claimed,
            ClaimUnanswered::Unknown => return Err(SettleBidsError::NotUnanswered(bid)),
            ClaimUnanswered::BeingSent => return Err(SettleBidsError::BeingSent(bid)),
        };
        let mut steps = Vec::new();
        let outcome = self.outcome(&claimed, settlement, &mut steps)?;
        let status = outcome.status();
        let ending = Ending {
            actor,
            outcome,
            refused_token: None,
            steps: &steps,
            at: self.clock.now(),
        };
        let finish = ending.of(&claimed, ActivityId(self.entropy.uuid()), &self.links);
        let ended = match authorization {
            Some(authorization) => self.store.finish_by(authorization, &finish, &owner).await?,
            None if self.store.finish(&finish, &owner).await? => FinishBy::Ended,
            None => FinishBy::NotHeld,
        };
        match ended {
            FinishBy::Ended => Ok(status),
            FinishBy::NotHeld => Err(SettleBidsError::BeingSent(bid)),
            FinishBy::NotAuthorized(why) => Err(why.into()),
        }
    }

    fn outcome(
        &self,
        claimed: &ClaimedBid,
        settlement: Settlement,
        steps: &mut Vec<ExplanationStep>,
    ) -> Result<BidOutcome, StoreError> {
        let bid = &claimed.bid;
        // An answer is outstanding only to a proposal that was stored before it was sent.
        let proposal = bid.proposal.as_ref().ok_or_else(|| {
            StoreError::Corrupt(format!("bid {} has an attempt without a proposal", bid.id))
        })?;
        steps.extend(proposal.steps.iter().cloned());
        Ok(match settlement {
            Settlement::Submitted { proposal_id } => {
                steps.push(ExplanationStep::new(
                    "settled",
                    "An operator settled the bid as submitted, since no answer of the marketplace can be had.",
                ));
                BidOutcome::Submitted {
                    proposal_id,
                    submitted_at: self.clock.now(),
                    terms: proposal.terms,
                    boost_connects: proposal.boost_connects,
                    connects_spent: proposal.required_connects.plus(proposal.boost_connects),
                }
            }
            Settlement::NotSubmitted => {
                let message = "An operator settled the bid as not submitted, since no answer of the marketplace can be had.";
                steps.push(ExplanationStep::new("settled", message));
                BidOutcome::NotSubmitted {
                    reason: Reason::new(ReasonCode::DeadlineExceeded, message),
                    terms: Some(proposal.terms),
                    boost_connects: proposal.boost_connects,
                    existing_proposal_id: None,
                }
            }
        })
    }
}
