//! Submit bid: validates a proposal and queues it, or simulates it. Tests: `tests/use_case/submit_bid.rs` and
//! `tests/use_case/bid_complete.rs`.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::lead_request::details_on;
use super::{LeadAddress, LeadError, LeadRequests, Requester};
use crate::bidding::{DryRun, JobTerms, check_bid, in_lead_order, simulate};
use crate::model::{
    Activity, ActivityKind, BidCompleteData, BidId, BidRequest, Campaign, CampaignId, ConfigSource,
    EffectiveConfig, EventId, EventPayload, JobPost, Lead, Links, NewBid, NewEvent, effective,
};
use crate::port::{AcceptBid, LeadContext, RecordDryRun, StoreError, WorkKind, WorkSignal};

/// An accepted request (specification, `LeadActionAck`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BidAccepted {
    /// The bid is queued.
    Queued,
    /// The bid was simulated, and nothing queued: what its `bid_complete` reports.
    Simulated(Box<DryRun>),
}

impl BidAccepted {
    /// Whether nothing was queued.
    pub const fn is_dry_run(&self) -> bool {
        matches!(self, Self::Simulated(_))
    }
}

/// Takes bids (specification, POST …/bid; decisions A1, A6 to A8, B2).
#[derive(Debug)]
pub struct SubmitBid {
    /// Finds leads and records requests.
    pub requests: LeadRequests,
    /// Wakes the workers after a bid is accepted.
    pub signal: Arc<dyn WorkSignal>,
    /// Addresses of jobs.
    pub links: Links,
    /// `submission.deadline_ms`.
    pub deadline: Duration,
}

impl SubmitBid {
    /// Validates the request in the order of decision A1, and queues or simulates the bid. An `Err` as the request is why
    /// the driving adapter could not read it.
    pub async fn execute(
        &self,
        requester: &Requester,
        campaign: &CampaignId,
        lead: impl Into<LeadAddress> + Send,
        request: Result<BidRequest, LeadError>,
    ) -> Result<BidAccepted, LeadError> {
        let lead = lead.into();
        let found = self.requests.find(requester, campaign, &lead, &request).await?;
        let dry_run = matches!(&request, Ok(request) if request.dry_run);
        let judged = match request {
            Ok(request) => self.judge(requester, &found, request).await,
            Err(fault) => Err(fault),
        };
        match judged {
            Ok(accepted) => {
                self.signal.wake(if accepted.is_dry_run() {
                    WorkKind::Deliveries
                } else {
                    WorkKind::Submissions
                });
                Ok(accepted)
            }
            Err(error) => {
                let mut entry = self.entry(requester, &found);
                entry.dry_run = dry_run;
                Err(self.requests.refuse(requester, entry, error).await)
            }
        }
    }

    async fn judge(
        &self,
        requester: &Requester,
        found: &LeadContext,
        request: BidRequest,
    ) -> Result<BidAccepted, LeadError> {
        let campaign = found.campaign.as_ref().ok_or(LeadError::CampaignUnknown)?;
        let lead = &found.lead.lead;
        let post = JobPost::parse(&found.lead.job_json)
            .map_err(|fault| StoreError::Corrupt(format!("job {}: {fault}", lead.job_id)))?;
        let questions = post.questions.clone().unwrap_or_default();
        let config = effective(
            &request.bidding_config,
            &lead.bidding_config,
            &campaign.bidding_config,
        );
        let is_requested = |field: &str| config.source_of(field) == ConfigSource::Request;
        if let Some(fault) = config.shape_fault(is_requested) {
            return Err(LeadError::Malformed(vec![fault]));
        }
        let faults = check_bid(&questions, &request.question_answer_pairs, &config);
        if !faults.is_empty() {
            return Err(LeadError::Rules(faults));
        }
        if request.dry_run {
            let simulated = self.simulate(requester, found, campaign, &post, &config).await?;
            return Ok(BidAccepted::Simulated(Box::new(simulated)));
        }
        let answers = in_lead_order(&questions, &request.question_answer_pairs)
            .into_iter()
            .cloned()
            .collect();
        let now = self.requests.clock.now();
        let bid = NewBid {
            id: BidId(self.requests.entropy.uuid()),
            organization_id: lead.organization_id.clone(),
            campaign_id: lead.campaign_id.clone(),
            lead_id: lead.id.clone(),
            job_id: lead.job_id.clone(),
            posted_at: post.posted_at,
            cover_letter: request.cover_letter,
            answers,
            config,
            queued_at: now,
            deadline: now.plus(self.deadline),
            trace_parent: requester.trace_parent,
        };
        let mut entry = self.entry(requester, found);
        let facts = json!({ "bidId": bid.id, "biddingConfig": bid.config });
        entry.details = details_on(&requester.authorization, facts);
        let leads = &self.requests.leads;
        match leads.accept_bid(&requester.authorization, &bid, &entry).await? {
            AcceptBid::Accepted => Ok(BidAccepted::Queued),
            AcceptBid::NotAuthorized(why) => Err(LeadError::NotAuthorized(why)),
            AcceptBid::LeadUnknown => Err(LeadError::LeadUnknown),
            AcceptBid::LeadNotNew(status) => Err(LeadError::BidTooLate(status)),
            AcceptBid::NoConnectedAccount => Err(LeadError::NoConnectedAccount),
            AcceptBid::QuotaUsedUp(usage) => Err(LeadError::QuotaUsedUp(usage)),
        }
    }

    /// A dry run (specification, submitBid, rule 6; decision C1): computes what is known and sends a simulated
    /// `bid_complete`.
    async fn simulate(
        &self,
        requester: &Requester,
        found: &LeadContext,
        campaign: &Campaign,
        post: &JobPost,
        config: &EffectiveConfig,
    ) -> Result<DryRun, LeadError> {
        let lead = &found.lead.lead;
        let (simulated, payload) = simulated_bid(lead, campaign, post, config, &self.links);
        let mut entry = self.entry(requester, found);
        entry.dry_run = true;
        "Dry run: the bid would be queued.".clone_into(&mut entry.message);
        let facts = json!({ "steps": simulated.steps, "biddingConfig": config });
        entry.details = details_on(&requester.authorization, facts);
        let event = NewEvent {
            id: EventId(entry.id.0),
            organization_id: lead.organization_id.clone(),
            campaign_id: lead.campaign_id.clone(),
            lead_id: lead.id.clone(),
            payload,
            trace_parent: requester.trace_parent,
        };
        let leads = &self.requests.leads;
        let recorded = leads.record_dry_run(&requester.authorization, &entry, &event);
        match recorded.await? {
            RecordDryRun::Recorded => Ok(simulated),
            RecordDryRun::NotAuthorized(why) => Err(LeadError::NotAuthorized(why)),
            RecordDryRun::TooManyPending => Err(LeadError::ReceiverOverloaded),
        }
    }

    fn entry(&self, requester: &Requester, found: &LeadContext) -> Activity {
        let message = "Bid queued for submission.";
        self.requests
            .accepted(requester, &found.lead.lead, ActivityKind::Bid, message)
    }
}

/// What a dry run on the lead computes, and its `bid_complete` (decision C1).
pub(super) fn simulated_bid(
    lead: &Lead,
    campaign: &Campaign,
    post: &JobPost,
    config: &EffectiveConfig,
    links: &Links,
) -> (DryRun, EventPayload) {
    let account = campaign.account.as_ref();
    let profile_rate = account.and_then(|account| account.profile_hourly_rate);
    let simulated = simulate(config, &JobTerms::of(post), profile_rate);
    let job_url = links.job_url(&post.url);
    let data = BidCompleteData::simulated(
        lead,
        &job_url,
        &post.title,
        simulated.terms,
        simulated.boost_connects,
    );
    let payload = data.payload();
    (simulated, payload)
}
