//! What is recorded when a bid ends: an Activity entry with the steps of the decision, and `bid_complete`.

use serde_json::json;

use crate::model::{
    Activity, ActivityId, ActivityKind, Actor, BidCompleteData, BidOutcome, EventId, ExplanationStep, Links,
    MarketplaceToken, NewEvent, Timestamp, details,
};
use crate::port::{ClaimedBid, FinishBid};

/// The end of a bid.
pub(in crate::use_case) struct Ending<'a> {
    /// Who ended it.
    pub(in crate::use_case) actor: Actor,
    pub(in crate::use_case) outcome: BidOutcome,
    /// The token that the marketplace refused.
    pub(in crate::use_case) refused_token: Option<MarketplaceToken>,
    pub(in crate::use_case) steps: &'a [ExplanationStep],
    pub(in crate::use_case) at: Timestamp,
}

impl Ending<'_> {
    /// What the store records. `activity` is the id of the entry.
    pub(in crate::use_case) fn of(
        self,
        claimed: &ClaimedBid,
        activity: ActivityId,
        links: &Links,
    ) -> FinishBid {
        let Self {
            actor,
            outcome,
            refused_token,
            steps,
            at,
        } = self;
        let (bid, post) = (&claimed.bid, &claimed.post);
        let job_url = links.job_url(&post.url);
        let data = BidCompleteData::ended(
            &bid.organization_id,
            &bid.campaign_id,
            &bid.lead_id,
            &job_url,
            &post.title,
            &outcome,
        );
        let event = NewEvent {
            id: EventId::bid_complete(bid.id),
            organization_id: bid.organization_id.clone(),
            campaign_id: bid.campaign_id.clone(),
            lead_id: bid.lead_id.clone(),
            payload: data.payload(),
            trace_parent: bid.trace_parent,
        };
        let details = details(json!({
            "bidId": bid.id,
            "accountId": bid.account_id,
            "jobId": bid.job_id,
            "proposalId": outcome.proposal_id(),
            "reason": outcome.reason(),
            "terms": outcome.terms(),
            "boostConnects": outcome.boost_connects(),
            "connectsSpent": outcome.connects_spent(),
            "attempts": bid.attempts + 1,
            "steps": steps,
        }));
        let lead = (&bid.organization_id, &bid.campaign_id, &bid.lead_id);
        let activity = Activity {
            outcome: (&outcome).into(),
            message: message(&outcome),
            details,
            ..Activity::on_lead(activity, at, lead, ActivityKind::Submission, actor)
        };
        FinishBid {
            organization_id: bid.organization_id.clone(),
            bid_id: bid.id,
            outcome,
            at,
            refused_token,
            activity,
            event,
        }
    }
}

fn message(outcome: &BidOutcome) -> String {
    match outcome {
        BidOutcome::Submitted {
            terms,
            connects_spent,
            ..
        } => {
            let kind = terms.kind.as_str();
            format!(
                "Proposal submitted: USD {} {kind}, {connects_spent} connects.",
                terms.amount
            )
        }
        BidOutcome::NotSubmitted { reason, .. } => {
            format!("Bid {}: {} ({})", outcome.status(), reason.message, reason.code)
        }
    }
}
