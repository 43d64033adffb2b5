//! Deliver webhooks: each event to each receiver, at most once (decisions C2 to C7).
//!
//! The caller runs [`begin`](DeliverWebhooks::begin), then [`send`](DeliverWebhooks::send) of each delivery side
//! by side, then [`record`](DeliverWebhooks::record), which may be repeated until the store takes it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::model::{
    Activity, ActivityId, ActivityKind, Actor, CampaignId, DeliveryId, EndpointId, EventKind, EventPayload,
    JobPost, LeadForm, LeadId, Links, OrganizationId, Timestamp, details, envelope, lead_document, sign,
};
use crate::port::{
    BegunDelivery, Clock, DeliveryEnd, DeliveryStore, OutgoingWebhook, StoreError, WebhookAttempt,
    WebhookSender,
};

/// How many deliveries are under way at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeliveryLimits {
    /// In this process.
    pub in_flight: u32,
    /// To one endpoint, so that a slow one leaves room for the others (decision C5); fewer when room gets scarce.
    pub per_endpoint: u32,
}

impl Default for DeliveryLimits {
    fn default() -> Self {
        Self {
            in_flight: 256,
            per_endpoint: 16,
        }
    }
}

/// A delivery that was sent and must be recorded.
#[derive(Debug, Clone)]
pub struct SentDelivery {
    end: DeliveryEnd,
    activity: Activity,
    /// What was sent.
    pub event: EventKind,
    /// From the job's posting to the delivery of its `job.new`.
    pub since_posting: Option<Duration>,
}

impl SentDelivery {
    /// Whether it was answered 200.
    pub fn delivered(&self) -> bool {
        self.end.delivered
    }

    /// The code of the failure, if it failed.
    pub fn reason(&self) -> Option<&str> {
        self.end.reason.as_deref()
    }
}

/// Sends what is pending.
#[derive(Debug)]
pub struct DeliverWebhooks {
    store: Arc<dyn DeliveryStore>,
    sender: Arc<dyn WebhookSender>,
    clock: Arc<dyn Clock>,
    links: Links,
    owner: String,
    limits: DeliveryLimits,
    in_flight: Mutex<HashMap<(OrganizationId, EndpointId), u32>>,
}

/// One endpoint gets at most this part of the room that is left, but one delivery in any case (decision C5): the more
/// receivers are slow, the less each of them holds, so that there is room for one that is not.
const SHARE_OF_ROOM: u32 = 16;

/// How long a mark as sending lasts: the 10 seconds of decision C4 and time to record the outcome. Not
/// longer, since it is how long a delivery that a crash interrupted looks as if it were under way.
const SENDING_LASTS: Duration = Duration::from_secs(14);

impl DeliverWebhooks {
    /// Over its ports. `owner` names this process and no other.
    pub fn new(
        store: Arc<dyn DeliveryStore>,
        sender: Arc<dyn WebhookSender>,
        clock: Arc<dyn Clock>,
        links: Links,
        owner: String,
        limits: DeliveryLimits,
    ) -> Self {
        Self {
            store,
            sender,
            clock,
            links,
            owner,
            limits,
            in_flight: Mutex::default(),
        }
    }

    /// Marks as many pending deliveries as there is room for; each must now be [sent](Self::send).
    pub async fn begin(&self) -> Result<Vec<BegunDelivery>, StoreError> {
        let mut taken = self
            .in_flight
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let mut room = self.limits.in_flight.saturating_sub(taken.values().sum());
        if room == 0 {
            return Ok(Vec::new());
        }
        let per_endpoint = self.per_endpoint(room);
        let busy: Vec<_> = taken
            .iter()
            .filter(|(_, count)| **count >= per_endpoint)
            .map(|(endpoint, _)| endpoint.clone())
            .collect();
        let mut chosen = self.store.pending(&busy, per_endpoint, room).await?;
        chosen.retain(|delivery| {
            let count = taken
                .entry((delivery.organization_id.clone(), delivery.endpoint_id.clone()))
                .or_default();
            let fits = *count < self.per_endpoint(room);
            if fits {
                *count += 1;
                room -= 1;
            }
            fits
        });
        if chosen.is_empty() {
            return Ok(Vec::new());
        }
        let now = self.clock.now();
        let begun = self
            .store
            .begin(&chosen, &self.owner, now, now.plus(SENDING_LASTS))
            .await?;
        let mut in_flight = self.in_flight.lock().unwrap_or_else(PoisonError::into_inner);
        for delivery in &begun {
            *in_flight.entry(endpoint_of(delivery)).or_default() += 1;
        }
        Ok(begun)
    }

    /// Makes the one attempt.
    pub async fn send(&self, delivery: &BegunDelivery) -> SentDelivery {
        let (attempt, since_posting) = match self.write(delivery) {
            Ok((webhook, posted_at)) => {
                let attempt = self.sender.send(webhook).await;
                let delivered = attempt.failure.is_none();
                (
                    Ok(attempt),
                    posted_at
                        .filter(|_| delivered)
                        .map(|posted| self.clock.now().since(posted)),
                )
            }
            Err(fault) => (Err(fault), None),
        };
        self.release(delivery);
        let event = delivery.payload.kind();
        let end = end_of(delivery, &attempt);
        let activity = activity_of(delivery, event, &end, &attempt, self.clock.now());
        SentDelivery {
            end,
            activity,
            event,
            since_posting,
        }
    }

    /// Records the outcome; false if the mark had passed its deadline and was failed as interrupted.
    pub async fn record(&self, sent: &SentDelivery) -> Result<bool, StoreError> {
        self.store.finish(&sent.end, &self.owner, &sent.activity).await
    }

    /// Fails what a crash left marked as sending, once its deadline has passed (decision C5).
    pub async fn interrupt_overdue(&self) -> Result<u64, StoreError> {
        self.store.interrupt_overdue(self.clock.now()).await
    }

    /// How many deliveries may be under way to one endpoint while there is `room` for so many.
    fn per_endpoint(&self, room: u32) -> u32 {
        (room / SHARE_OF_ROOM).clamp(1, self.limits.per_endpoint)
    }

    fn release(&self, delivery: &BegunDelivery) {
        let mut in_flight = self.in_flight.lock().unwrap_or_else(PoisonError::into_inner);
        let endpoint = endpoint_of(delivery);
        if let Some(count) = in_flight.get_mut(&endpoint) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                in_flight.remove(&endpoint);
            }
        }
    }

    fn write(&self, delivery: &BegunDelivery) -> Result<(OutgoingWebhook, Option<Timestamp>), String> {
        let now = self.clock.now();
        let (data, posted_at) = match &delivery.payload {
            EventPayload::JobNew => self.job_new(delivery)?,
            EventPayload::BidComplete(data) => (
                RawValue::from_string(data.clone()).map_err(|error| error.to_string())?,
                None,
            ),
        };
        let body = envelope(delivery.id, delivery.payload.kind(), delivery.created_at, &data)
            .map_err(|error| error.to_string())?;
        let signature = sign(
            &delivery.target.secrets,
            &delivery.id.to_string(),
            now.as_seconds(),
            &body,
        );
        let headers = vec![
            ("content-type", "application/json".to_owned()),
            (
                "user-agent",
                concat!("bidloop/", env!("CARGO_PKG_VERSION")).to_owned(),
            ),
            ("x-service-delivery-id", delivery.id.to_string()),
            ("webhook-id", delivery.id.to_string()),
            ("webhook-timestamp", now.as_seconds().to_string()),
            ("webhook-signature", signature),
        ];
        Ok((
            OutgoingWebhook {
                url: delivery.target.url.clone(),
                headers,
                body,
            },
            posted_at,
        ))
    }

    fn job_new(&self, delivery: &BegunDelivery) -> Result<(Box<RawValue>, Option<Timestamp>), String> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct JobNew<'a> {
            organization_id: &'a OrganizationId,
            campaign_id: &'a CampaignId,
            lead_id: &'a LeadId,
            bid_url: String,
            reject_url: String,
            lead: Box<RawValue>,
        }
        let stored = delivery
            .lead
            .as_ref()
            .ok_or("the delivery's lead is not stored")?;
        let campaign_name = delivery.campaign_name.as_deref();
        let lead = lead_document(
            &stored.lead,
            campaign_name,
            &stored.job_json,
            &self.links,
            LeadForm::Pushed,
        )
        .map_err(|error| error.to_string())?;
        let data = JobNew {
            organization_id: &delivery.organization_id,
            campaign_id: &delivery.campaign_id,
            lead_id: &delivery.lead_id,
            bid_url: self.links.bid_url(&delivery.campaign_id, &delivery.lead_id),
            reject_url: self.links.reject_url(&delivery.campaign_id, &delivery.lead_id),
            lead,
        };
        let data = serde_json::value::to_raw_value(&data).map_err(|error| error.to_string())?;
        let posted_at = JobPost::parse(&stored.job_json).ok().map(|post| post.posted_at);
        Ok((data, posted_at))
    }
}

fn endpoint_of(delivery: &BegunDelivery) -> (OrganizationId, EndpointId) {
    (
        delivery.organization_id.clone(),
        delivery.target.endpoint_id.clone(),
    )
}

fn end_of(delivery: &BegunDelivery, attempt: &Result<WebhookAttempt, String>) -> DeliveryEnd {
    let (organization_id, id) = (delivery.organization_id.clone(), delivery.id);
    match attempt {
        Ok(attempt) => DeliveryEnd {
            organization_id,
            id,
            delivered: attempt.failure.is_none(),
            reason: attempt
                .failure
                .as_ref()
                .map(|failure| failure.kind.as_str().to_owned()),
            response_status: attempt.response_status,
            duration_ms: Some(u64::try_from(attempt.duration.as_millis()).unwrap_or(u64::MAX)),
            response_body: attempt.response_body.clone(),
        },
        Err(_) => DeliveryEnd {
            organization_id,
            id,
            delivered: false,
            reason: Some("corrupt_payload".to_owned()),
            response_status: None,
            duration_ms: None,
            response_body: String::new(),
        },
    }
}

fn activity_of(
    delivery: &BegunDelivery,
    event: EventKind,
    end: &DeliveryEnd,
    attempt: &Result<WebhookAttempt, String>,
    at: Timestamp,
) -> Activity {
    let message = match attempt {
        Ok(WebhookAttempt { failure: None, .. }) => format!("{event} delivered."),
        Ok(WebhookAttempt {
            failure: Some(failure),
            ..
        }) => {
            format!("{event} not delivered: {}.", failure.message)
        }
        Err(fault) => format!("{event} could not be written: {fault}."),
    };
    delivery_activity(
        &DeliveryFacts {
            organization_id: &delivery.organization_id,
            campaign_id: &delivery.campaign_id,
            lead_id: &delivery.lead_id,
            id: delivery.id,
            event,
            dry_run: delivery.payload.is_dry_run(),
            endpoint_id: &delivery.target.endpoint_id,
            url: &delivery.target.url,
        },
        end,
        message,
        at,
    )
}

/// What the Activity entry of a delivery names, whoever writes it.
#[derive(Debug, Clone, Copy)]
pub struct DeliveryFacts<'a> {
    /// Whose.
    pub organization_id: &'a OrganizationId,
    /// The lead's campaign.
    pub campaign_id: &'a CampaignId,
    /// The lead.
    pub lead_id: &'a LeadId,
    /// The delivery.
    pub id: DeliveryId,
    /// What was, or was not, sent.
    pub event: EventKind,
    /// Whether that tells of a dry run.
    pub dry_run: bool,
    /// To which endpoint.
    pub endpoint_id: &'a EndpointId,
    /// Where to.
    pub url: &'a str,
}

/// The Activity entry of a delivery's end (contract section 1, `bidloop activity`). Stores use it for the ends
/// that they bring about themselves: `interrupted` and `endpoint_removed`.
pub fn delivery_activity(
    facts: &DeliveryFacts<'_>,
    end: &DeliveryEnd,
    message: String,
    at: Timestamp,
) -> Activity {
    Activity {
        id: ActivityId::of_delivery(facts.id),
        at,
        organization_id: facts.organization_id.clone(),
        campaign_id: Some(facts.campaign_id.clone()),
        lead_id: Some(facts.lead_id.clone()),
        kind: ActivityKind::Delivery,
        actor: Actor::service(),
        outcome: if end.delivered { "delivered" } else { "failed" }.to_owned(),
        http_status: None,
        dry_run: facts.dry_run,
        message,
        details: details(json!({
            "deliveryId": facts.id,
            "event": facts.event,
            "endpointId": facts.endpoint_id,
            "url": facts.url,
            "responseStatus": end.response_status,
            "durationMs": end.duration_ms,
            "responseBody": end.response_body,
            "reason": end.reason,
        })),
    }
}
