//! What is recorded when a bid ends: Activity with the decision step by step, and `bid_complete`.

use serde_json::{Map, json};

use super::SubmitProposals;
use crate::bidding::ExplanationStep;
use crate::model::{
    Activity, ActivityId, ActivityKind, Actor, BidCompleteData, BidEnd, EventId, EventPayload, JobPost,
    LeadStatus, NewEvent,
};
use crate::port::{ClaimedBid, FinishBid, StoreError};

impl SubmitProposals {
    pub(super) fn ending(
        &self,
        claimed: &ClaimedBid,
        end: BidEnd,
        refused_token: Option<String>,
        steps: &[ExplanationStep],
    ) -> Result<FinishBid, StoreError> {
        let bid = &claimed.bid;
        let post = JobPost::parse(&claimed.job_json)
            .map_err(|fault| StoreError::Corrupt(format!("job {}: {fault}", bid.job_id)))?;
        let at = self.clock.now();
        let job_url = self.links.job_url(&post.url);
        let data = BidCompleteData::ended(
            &bid.organization_id,
            &bid.campaign_id,
            &bid.lead_id,
            &job_url,
            &post.title,
            &end,
        )
        .to_json();
        let event = NewEvent {
            id: EventId::bid_complete(bid.id),
            organization_id: bid.organization_id.clone(),
            campaign_id: bid.campaign_id.clone(),
            lead_id: bid.lead_id.clone(),
            payload: EventPayload::BidComplete(data),
        };
        let mut details = Map::new();
        for (name, value) in [
            ("bidId", json!(bid.id)),
            ("accountId", json!(bid.account_id)),
            ("jobId", json!(bid.job_id)),
            ("proposalId", json!(end.proposal_id)),
            ("reason", json!(end.reason)),
            ("terms", json!(end.terms)),
            ("boostConnects", json!(end.boost_connects)),
            ("connectsSpent", json!(end.connects_spent)),
            ("attempts", json!(bid.attempts + 1)),
            ("steps", json!(steps)),
        ] {
            details.insert(name.to_owned(), value);
        }
        let activity = Activity {
            id: ActivityId(self.ids.uuid()),
            at,
            organization_id: bid.organization_id.clone(),
            campaign_id: Some(bid.campaign_id.clone()),
            lead_id: Some(bid.lead_id.clone()),
            kind: ActivityKind::Submission,
            actor: Actor::service(),
            outcome: end.status.to_string(),
            http_status: None,
            dry_run: false,
            message: message(&end),
            details,
        };
        Ok(FinishBid {
            organization_id: bid.organization_id.clone(),
            bid_id: bid.id,
            end,
            at,
            refused_token,
            activity,
            event,
        })
    }
}

fn message(end: &BidEnd) -> String {
    match (&end.status, &end.reason) {
        (LeadStatus::Submitted, _) => match &end.terms {
            Some(terms) => format!(
                "Proposal submitted: USD {} {}, {} connects.",
                terms.amount,
                terms.kind.as_str(),
                end.connects_spent
            ),
            None => "Proposal submitted.".to_owned(),
        },
        (status, Some(reason)) => format!("Bid {status}: {} ({})", reason.message, reason.code),
        (status, None) => format!("Bid {status}."),
    }
}
