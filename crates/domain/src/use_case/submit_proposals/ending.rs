//! What is recorded when a bid ends: an Activity entry with the steps of the decision, and `bid_complete`.

use serde_json::json;

use super::SubmitProposals;
use crate::model::{
    Activity, ActivityId, ActivityKind, Actor, BidCompleteData, BidOutcome, EventId, ExplanationStep,
    MarketplaceToken, NewEvent, details,
};
use crate::port::{ClaimedBid, FinishBid};

impl SubmitProposals {
    pub(super) fn ending(
        &self,
        claimed: &ClaimedBid,
        outcome: BidOutcome,
        refused_token: Option<MarketplaceToken>,
        steps: &[ExplanationStep],
    ) -> FinishBid {
        let (bid, post) = (&claimed.bid, &claimed.post);
        let at = self.clock.now();
        let job_url = self.links.job_url(&post.url);
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
        let id = ActivityId(self.entropy.uuid());
        let lead = (&bid.organization_id, &bid.campaign_id, &bid.lead_id);
        let activity = Activity {
            outcome: (&outcome).into(),
            message: message(&outcome),
            details,
            ..Activity::on_lead(id, at, lead, ActivityKind::Submission, Actor::service())
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
