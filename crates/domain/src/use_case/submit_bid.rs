//! Submit bid: validates a proposal and queues it, or simulates it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::lead_request::{LeadRefusal, LeadRequests, fault_details};
use super::{Caller, RequestFault};
use crate::bidding::{JobTerms, QuotaUsage, ValidationFault, check_bid, in_lead_order, simulate};
use crate::model::{
    Activity, ActivityKind, Actor, BidCompleteData, BidId, BidRequest, Campaign, CampaignId, ConfigSource,
    EffectiveConfig, EventId, EventPayload, JobPost, LeadId, LeadStatus, Links, NewBid, NewEvent,
    OrganizationId, details, effective,
};
use crate::port::{
    AcceptBid, ActivityStore, Clock, Ids, LeadContext, LeadStore, StoreError, WorkKind, WorkSignal,
};

/// An accepted request (specification, `LeadActionAck`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BidAccepted {
    /// True: simulated, and nothing queued.
    pub dry_run: bool,
}

/// Why a bid was refused. Nothing but the Activity record has changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SubmitBidError {
    /// The organization has no such campaign.
    #[error("campaign not found")]
    CampaignUnknown,
    /// The campaign has no such lead.
    #[error("lead not found")]
    LeadUnknown,
    /// The request's wrapping or shape.
    #[error(transparent)]
    Request(#[from] RequestFault),
    /// The bidding rules (specification, submitBid, rules 1 to 3).
    #[error("the bid breaks the bidding rules")]
    Rules(Vec<ValidationFault>),
    /// The lead was bid on or rejected before.
    #[error("the lead is already {0}: it takes no further bid")]
    LeadNotNew(LeadStatus),
    /// Decision A8.
    #[error("the campaign has no connected bidder account: connect one, or send a dry run")]
    NoConnectedAccount,
    /// The plan's quota is used up.
    #[error("the plan's proposal limit for this billing period is reached")]
    QuotaUsedUp(QuotaUsage),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl SubmitBidError {
    /// The status it is answered with (specification, Errors); `None` for a failure of the service.
    pub const fn http_status(&self) -> Option<u16> {
        match self {
            Self::CampaignUnknown | Self::LeadUnknown => Some(404),
            Self::Request(fault) => Some(fault.http_status()),
            Self::Rules(_) | Self::NoConnectedAccount => Some(400),
            Self::LeadNotNew(_) => Some(409),
            Self::QuotaUsedUp(_) => Some(402),
            Self::Store(_) => None,
        }
    }
}

impl LeadRefusal for SubmitBidError {
    const CAMPAIGN_UNKNOWN: Self = Self::CampaignUnknown;
    const LEAD_UNKNOWN: Self = Self::LeadUnknown;

    fn answered_with(&self) -> Option<u16> {
        self.http_status()
    }

    fn details(&self) -> Map<String, Value> {
        match self {
            Self::Rules(faults) => details(json!({ "errors": faults })),
            Self::Request(fault) => fault_details(fault),
            Self::QuotaUsedUp(usage) => details(json!({
                "code": "proposal_limit_reached",
                "currentUsage": usage.used,
                "limit": usage.limit,
                "currentPeriodEnd": usage.period_end.as_seconds(),
            })),
            _ => Map::new(),
        }
    }
}

/// Who bids: a program with a key, or the service for an automatic campaign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bidder {
    /// Whose leads it may bid on.
    pub organization_id: OrganizationId,
    /// As the Activity record names it.
    pub actor: Actor,
    /// Whether the outcome is answered over HTTP.
    pub over_http: bool,
}

impl From<&Caller> for Bidder {
    fn from(caller: &Caller) -> Self {
        Self {
            organization_id: caller.organization_id.clone(),
            actor: caller.actor(),
            over_http: true,
        }
    }
}

/// Takes bids (specification, POST …/bid; decisions A1, A6 to A8, B2).
#[derive(Debug)]
pub struct SubmitBid {
    requests: LeadRequests,
    signal: Arc<dyn WorkSignal>,
    links: Links,
    deadline: Duration,
}

impl SubmitBid {
    /// Over its ports; `deadline` is `submission.deadline_ms`.
    pub fn new(
        leads: Arc<dyn LeadStore>,
        activities: Arc<dyn ActivityStore>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn Ids>,
        signal: Arc<dyn WorkSignal>,
        links: Links,
        deadline: Duration,
    ) -> Self {
        Self {
            requests: LeadRequests {
                leads,
                activities,
                clock,
                ids,
            },
            signal,
            links,
            deadline,
        }
    }

    /// Judges the request in the order of decision A1 and queues or simulates the bid.
    pub async fn execute(
        &self,
        bidder: &Bidder,
        campaign: &CampaignId,
        lead: &LeadId,
        request: Result<BidRequest, RequestFault>,
    ) -> Result<BidAccepted, SubmitBidError> {
        let found = self
            .requests
            .find::<SubmitBidError, _>(&bidder.organization_id, campaign, lead, &request)
            .await?;
        let dry_run = matches!(&request, Ok(request) if request.dry_run);
        let judged = match request {
            Ok(request) => self.judge(bidder, &found, request).await,
            Err(fault) => Err(fault.into()),
        };
        match judged {
            Ok(accepted) => {
                self.signal.wake(if accepted.dry_run {
                    WorkKind::Deliveries
                } else {
                    WorkKind::Submissions
                });
                Ok(accepted)
            }
            Err(refusal) => {
                let mut entry = self.entry(bidder, &found);
                entry.dry_run = dry_run;
                Err(self.requests.refuse(entry, refusal).await)
            }
        }
    }

    async fn judge(
        &self,
        bidder: &Bidder,
        found: &LeadContext,
        request: BidRequest,
    ) -> Result<BidAccepted, SubmitBidError> {
        let campaign = found.campaign.as_ref().ok_or(SubmitBidError::CampaignUnknown)?;
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
            return Err(RequestFault::Shape(vec![fault]).into());
        }
        let faults = check_bid(&questions, &request.question_answer_pairs, &config);
        if !faults.is_empty() {
            return Err(SubmitBidError::Rules(faults));
        }
        if request.dry_run {
            self.simulate(bidder, found, campaign, &post, &config).await?;
            return Ok(BidAccepted { dry_run: true });
        }
        let answers = in_lead_order(&questions, &request.question_answer_pairs)
            .into_iter()
            .cloned()
            .collect();
        let now = self.requests.clock.now();
        let bid = NewBid {
            id: BidId(self.requests.ids.uuid()),
            organization_id: lead.organization_id.clone(),
            campaign_id: lead.campaign_id.clone(),
            lead_id: lead.id.clone(),
            cover_letter: request.cover_letter,
            answers,
            config,
            queued_at: now,
            deadline: now.plus(self.deadline),
        };
        let mut entry = self.entry(bidder, found);
        entry.details = details(json!({ "bidId": bid.id, "biddingConfig": bid.config }));
        match self.requests.leads.accept_bid(&bid, &entry).await? {
            AcceptBid::Accepted => Ok(BidAccepted { dry_run: false }),
            AcceptBid::LeadUnknown => Err(SubmitBidError::LeadUnknown),
            AcceptBid::LeadNotNew(status) => Err(SubmitBidError::LeadNotNew(status)),
            AcceptBid::NoConnectedAccount => Err(SubmitBidError::NoConnectedAccount),
            AcceptBid::QuotaUsedUp(usage) => Err(SubmitBidError::QuotaUsedUp(usage)),
        }
    }

    /// A dry run (specification, submitBid, rule 6; decision C1): computed from what is known, sent as a
    /// simulated `bid_complete`.
    async fn simulate(
        &self,
        bidder: &Bidder,
        found: &LeadContext,
        campaign: &Campaign,
        post: &JobPost,
        config: &EffectiveConfig,
    ) -> Result<(), StoreError> {
        let lead = &found.lead.lead;
        let profile_rate = campaign
            .account
            .as_ref()
            .and_then(|account| account.profile_hourly_rate);
        let simulated = simulate(config, &JobTerms::of(post), profile_rate);
        let job_url = self.links.job_url(&post.url);
        let data = BidCompleteData::simulated(
            lead,
            &job_url,
            &post.title,
            simulated.terms,
            simulated.boost_connects,
        );
        let mut entry = self.entry(bidder, found);
        entry.dry_run = true;
        "Dry run: the bid would be queued.".clone_into(&mut entry.message);
        entry.details = details(json!({ "steps": simulated.steps, "biddingConfig": config }));
        let event = NewEvent {
            id: EventId(entry.id.0),
            organization_id: lead.organization_id.clone(),
            campaign_id: lead.campaign_id.clone(),
            lead_id: lead.id.clone(),
            payload: EventPayload::BidComplete(data.to_json()),
        };
        self.requests.leads.record_dry_run(&entry, &event).await
    }

    fn entry(&self, bidder: &Bidder, found: &LeadContext) -> Activity {
        let lead = &found.lead.lead;
        let message = "Bid queued for submission.";
        let mut entry = self
            .requests
            .entry(ActivityKind::Bid, bidder.actor.clone(), lead, message);
        entry.http_status = bidder.over_http.then_some(200);
        entry
    }
}
