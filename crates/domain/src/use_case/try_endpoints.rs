//! Try endpoints: a person triggers a lead's `job.new` anew, or tests one endpoint (decision E6). Tests:
//! `tests/use_case/try_endpoints.rs`.
//!
//! Each delivery is stored as already being sent, is sent once, and its end is recorded with the person as actor. A crash
//! in between ends it as interrupted, as any other delivery (decision C5).

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;

use super::deliver_webhooks::SENDING_LASTS;
use super::submit_bid::simulated_bid;
use super::{DeliverWebhooks, FindLead, LeadAddress, Requester, SentDelivery};
use crate::model::{
    Activity, BiddingConfig, CampaignId, DeliveryId, EndpointId, EventId, EventKind, EventPayload, JobPost,
    LeadId, LeadStatus, NewEvent, Timestamp, Unauthorized, WebhookEndpoint, effective,
};
use crate::port::{
    BeginTry, ClaimedDelivery, DeliveryEnd, DeliveryOutcome, DeliveryRecords, Entropy, LeadContext,
    MAX_TRIGGERED, NewTry, Pause, StoreError, TriedReceivers,
};

/// How often the end of a delivery is recorded before it is left to be found as interrupted.
const RECORDED_TIMES: u32 = 5;
/// The time between two tries to record it.
const BETWEEN_RECORDS: Duration = Duration::from_millis(200);

/// Why nothing was sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TryEndpointsError {
    /// The session or the subscription has ended (decision E4).
    #[error(transparent)]
    NotAuthorized(#[from] Unauthorized),
    /// The organization has no such lead.
    #[error("the campaign has no such lead")]
    LeadUnknown,
    /// Only a `new` lead can be triggered.
    #[error("the lead is {0}: only a new lead can be triggered")]
    LeadNotNew(LeadStatus),
    /// The organization has no such endpoint.
    #[error("the organization has no such endpoint")]
    EndpointUnknown,
    /// The endpoint is not subscribed to the event.
    #[error("the endpoint is not subscribed to {0}")]
    NotSubscribed(EventKind),
    /// The event has no receiver.
    #[error("no active endpoint of the campaign or the organization is subscribed to job.new")]
    NoReceiver,
    /// The event has too many receivers.
    #[error("more than {MAX_TRIGGERED} endpoints would receive the event")]
    TooManyReceivers,
    /// An endpoint was tried too often.
    #[error("the endpoint {endpoint} was tried 10 times within a minute")]
    TooManyTries {
        /// The endpoint.
        endpoint: EndpointId,
        /// From when on it can be tried again.
        again_at: Timestamp,
    },
    /// There is no lead to build the event from.
    #[error("there is no lead to test with yet")]
    NoLead {
        /// Whether the latest matching job can be made a lead.
        can_make: bool,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// How one delivery ended.
#[derive(Debug, Clone, PartialEq)]
pub struct TriedDelivery {
    /// The delivery, which is its `webhook-id` too.
    pub id: DeliveryId,
    /// The receiver.
    pub endpoint_id: EndpointId,
    /// Its address.
    pub url: String,
    /// The event.
    pub event: EventKind,
    /// Whether the receiver answered 200 in time.
    pub delivered: bool,
    /// The answer's status, if there was one.
    pub response_status: Option<u16>,
    /// How long it took, if it was sent.
    pub took: Option<Duration>,
    /// What went wrong, as the end of a sentence; `None` if it was delivered.
    pub fault: Option<String>,
    /// The entry of the Activity record.
    pub end: Activity,
}

/// What to test an endpoint with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TestWith {
    /// The event; `None`: `job.new` if the endpoint is subscribed to it, else its first.
    pub event: Option<EventKind>,
    /// Whether the latest matching job is made a lead if there is none.
    pub make_lead: bool,
}

/// Sends events at once, for people.
#[derive(Debug)]
pub struct TryEndpoints {
    /// Sends. Its places in flight are of no account here: the limit of tries bounds what is sent.
    pub deliver: DeliverWebhooks,
    /// Leads and matches.
    pub find: FindLead,
    /// Endpoints.
    pub records: Arc<dyn DeliveryRecords>,
    /// Makes ids.
    pub entropy: Arc<dyn Entropy>,
    /// Waits between two tries to record an end.
    pub pause: Arc<dyn Pause>,
}

impl TryEndpoints {
    /// Sends a new `job.new` of a `new` lead to its receivers, whatever the campaign's mode and state. A match without a
    /// record becomes a lead if something is sent.
    pub async fn trigger(
        &self,
        requester: &Requester,
        campaign: &CampaignId,
        lead: impl Into<LeadAddress> + Send,
    ) -> Result<Vec<TriedDelivery>, TryEndpointsError> {
        let found = self.lead(requester, campaign, &lead.into()).await?;
        let event = self.event(&found, EventPayload::JobNew);
        let tried = self.send(requester, &found, &event, TriedReceivers::All).await?;
        if tried.is_empty() {
            return Err(TryEndpointsError::NoReceiver);
        }
        Ok(tried)
    }

    /// Tests an endpoint with an event of the most recent lead of its campaign or, for the organization's endpoint, of the
    /// organization. The delivery carries `X-Service-Test: true`.
    pub async fn test(
        &self,
        requester: &Requester,
        endpoint: &EndpointId,
        with: TestWith,
    ) -> Result<TriedDelivery, TryEndpointsError> {
        let organization = &requester.organization_id;
        let known = self.records.endpoint(organization, endpoint).await?;
        let known = known.ok_or(TryEndpointsError::EndpointUnknown)?;
        let kind = tested_event(&known, with.event)?;
        // The match becomes a lead with the delivery, or not at all.
        let (campaign, lead) = self.newest_lead(requester, &known, with.make_lead).await?;
        let found = self.lead(requester, &campaign, &lead).await?;
        let payload = match kind {
            EventKind::JobNew => EventPayload::JobNew,
            EventKind::BidComplete => self.simulated(&found)?,
        };
        let event = self.event(&found, payload);
        let tried = self
            .send(requester, &found, &event, TriedReceivers::One(endpoint))
            .await?;
        tried.into_iter().next().ok_or(TryEndpointsError::EndpointUnknown)
    }

    async fn newest_lead(
        &self,
        requester: &Requester,
        endpoint: &WebhookEndpoint,
        make_lead: bool,
    ) -> Result<(CampaignId, LeadAddress), TryEndpointsError> {
        let organization = &requester.organization_id;
        let scope = endpoint.campaign_id.as_ref();
        let newest = self.find.feed.newest(organization, scope).await?;
        if let Some(lead) = newest.lead {
            let (campaign, lead) = lead;
            return Ok((campaign, lead.into()));
        }
        let can_make = newest.matched.is_some();
        let Some((campaign, job)) = newest.matched.filter(|_| make_lead) else {
            return Err(TryEndpointsError::NoLead { can_make });
        };
        let address = LeadAddress {
            lead: LeadId::derive(organization, &campaign, &job),
            job: Some(job),
        };
        Ok((campaign, address))
    }

    async fn lead(
        &self,
        requester: &Requester,
        campaign: &CampaignId,
        lead: &LeadAddress,
    ) -> Result<LeadContext, TryEndpointsError> {
        let organization = &requester.organization_id;
        let found = self.find.find(organization, campaign, lead).await?;
        found.ok_or(TryEndpointsError::LeadUnknown)
    }

    /// The `bid_complete` of a dry run on the lead without overrides.
    fn simulated(&self, found: &LeadContext) -> Result<EventPayload, TryEndpointsError> {
        let campaign = found.campaign.as_ref().ok_or(TryEndpointsError::LeadUnknown)?;
        let lead = &found.lead.lead;
        let post = JobPost::parse(&found.lead.job_json)
            .map_err(|fault| StoreError::Corrupt(format!("job {}: {fault}", lead.job_id)))?;
        let none = BiddingConfig::default();
        let config = effective(&none, &lead.bidding_config, &campaign.bidding_config);
        Ok(simulated_bid(lead, campaign, &post, &config, &self.deliver.links).1)
    }

    fn event(&self, found: &LeadContext, payload: EventPayload) -> NewEvent {
        let lead = &found.lead.lead;
        NewEvent {
            id: EventId(self.entropy.uuid()),
            organization_id: lead.organization_id.clone(),
            campaign_id: lead.campaign_id.clone(),
            lead_id: lead.id.clone(),
            payload,
            trace_parent: None,
        }
    }

    async fn send(
        &self,
        requester: &Requester,
        found: &LeadContext,
        event: &NewEvent,
        to: TriedReceivers<'_>,
    ) -> Result<Vec<TriedDelivery>, TryEndpointsError> {
        let deliver = &self.deliver;
        let begun = deliver
            .store
            .begin_try(
                &requester.authorization,
                NewTry {
                    event,
                    job: &found.lead.lead.job_id,
                    to,
                    by: &requester.actor,
                },
                &deliver.owner,
                &deliver.clock,
                SENDING_LASTS,
            )
            .await?;
        let begun = match begun {
            BeginTry::Begun(begun) => begun,
            BeginTry::NotAuthorized(why) => return Err(why.into()),
            BeginTry::LeadUnknown => return Err(TryEndpointsError::LeadUnknown),
            BeginTry::LeadNotNew(status) => return Err(TryEndpointsError::LeadNotNew(status)),
            BeginTry::EndpointUnknown => return Err(TryEndpointsError::EndpointUnknown),
            BeginTry::TooManyReceivers => return Err(TryEndpointsError::TooManyReceivers),
            BeginTry::TooManyTries { endpoint, again_at } => {
                return Err(TryEndpointsError::TooManyTries { endpoint, again_at });
            }
        };
        let sent = begun.into_iter().map(|delivery| self.send_one(delivery));
        join_all(sent).await.into_iter().collect()
    }

    async fn send_one(&self, delivery: ClaimedDelivery) -> Result<TriedDelivery, TryEndpointsError> {
        let sent = self.deliver.send(delivery).await;
        self.record(&sent).await?;
        Ok(tried(&sent.end))
    }

    /// One that cannot be recorded is found as interrupted later.
    async fn record(&self, sent: &SentDelivery) -> Result<(), StoreError> {
        let mut times = 1;
        loop {
            match self.deliver.record(sent).await {
                Ok(_) => return Ok(()),
                Err(StoreError::Unavailable(_)) if times < RECORDED_TIMES => {
                    times += 1;
                    self.pause.pause(BETWEEN_RECORDS).await;
                }
                Err(error) => return Err(error),
            }
        }
    }
}

fn tested_event(
    endpoint: &WebhookEndpoint,
    asked: Option<EventKind>,
) -> Result<EventKind, TryEndpointsError> {
    let takes = |event: EventKind| endpoint.events.contains(&event);
    match asked {
        Some(event) if takes(event) => Ok(event),
        Some(event) => Err(TryEndpointsError::NotSubscribed(event)),
        None if takes(EventKind::BidComplete) && !takes(EventKind::JobNew) => Ok(EventKind::BidComplete),
        None => Ok(EventKind::JobNew),
    }
}

fn tried(end: &DeliveryEnd) -> TriedDelivery {
    let (response_status, fault) = match &end.outcome {
        DeliveryOutcome::Attempted(attempt) => (
            attempt.response_status,
            attempt.failure.as_ref().map(|failure| failure.message.clone()),
        ),
        DeliveryOutcome::CorruptPayload(fault) => (None, Some(fault.clone())),
        DeliveryOutcome::EndpointRemoved | DeliveryOutcome::Interrupted => {
            (None, end.outcome.reason().map(str::to_owned))
        }
    };
    let delivery = &end.delivery;
    TriedDelivery {
        id: delivery.id,
        endpoint_id: delivery.target.endpoint_id.clone(),
        url: delivery.target.url.clone(),
        event: delivery.payload.kind(),
        delivered: end.outcome.is_delivered(),
        response_status,
        took: end.outcome.was_sent().flatten(),
        fault,
        end: end.activity.clone(),
    }
}
