//! Webhook deliveries in the store.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::json;

use super::{Clock, LeaseOwner, StoreError, WebhookAttempt};
use crate::model::{
    Activity, ActivityId, ActivityKind, ActivityOutcome, Actor, Authorization, CampaignId, DeliveryId,
    DeliveryTarget, EndpointId, EventKind, EventPayload, JobId, LeadId, LeadStatus, NewEvent, NewLead,
    OrganizationId, Timestamp, TraceParent, Unauthorized, details,
};

/// A delivery not yet tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingDelivery {
    /// The event's organization.
    pub organization_id: OrganizationId,
    /// The delivery.
    pub id: DeliveryId,
    /// The receiver.
    pub endpoint_id: EndpointId,
}

/// A delivery that this process has marked as sending and must now send.
#[derive(Debug, Clone)]
pub struct ClaimedDelivery {
    /// The event's organization.
    pub organization_id: OrganizationId,
    /// The delivery.
    pub id: DeliveryId,
    /// The lead's campaign.
    pub campaign_id: CampaignId,
    /// The lead.
    pub lead_id: LeadId,
    /// The campaign's name as it is now; `None` if the campaign was removed.
    pub campaign_name: Option<String>,
    /// The receiver's address and the secrets that sign.
    pub target: DeliveryTarget,
    /// What happened.
    pub payload: EventPayload,
    /// When the event happened.
    pub created_at: Timestamp,
    /// The lead and its job's post as they are now, for a `job.new`.
    pub lead: Option<NewLead>,
    /// Whether a person tests the endpoint with it (decision E6).
    pub is_test: bool,
    /// Who had it sent at once (decision E6); `None` for the service.
    pub sent_by: Option<Actor>,
    /// The trace that it belongs to, which its receiver is told.
    pub trace_parent: Option<TraceParent>,
}

/// The most tries of an endpoint, tests and triggered events, within [`TRIES_WITHIN`] (decision E6).
pub const MAX_TRIES: u32 = 10;
/// The time in which tries of an endpoint are counted (decision E6).
pub const TRIES_WITHIN: Duration = Duration::from_secs(60);
/// The most receivers of a triggered event: they are all sent to at once.
pub const MAX_TRIGGERED: usize = 100;

/// Whom a person sends an event to at once (decision E6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TriedReceivers<'a> {
    /// All receivers of the event; the lead must be `new`.
    All,
    /// This endpoint, be it active or not, which receives the events of the lead's campaign; a test.
    One(&'a EndpointId),
}

/// An event that a person sends at once (decision E6).
#[derive(Debug, Clone, Copy)]
pub struct NewTry<'a> {
    /// The event.
    pub event: &'a NewEvent,
    /// The job of its lead.
    pub job: &'a JobId,
    /// Whom it is sent to.
    pub to: TriedReceivers<'a>,
    /// Who sends it: the actor of each delivery's end, be it recorded by the sender or later.
    pub by: &'a Actor,
}

/// The outcome of [`DeliveryStore::begin_try`]. Only `Begun` changed anything.
#[derive(Debug, Clone)]
pub enum BeginTry {
    /// Marked as sending. Each must now be sent. None, if the event has no receiver.
    Begun(Vec<ClaimedDelivery>),
    /// The authorization has ended.
    NotAuthorized(Unauthorized),
    /// There is no such lead.
    LeadUnknown,
    /// The lead is not `new`.
    LeadNotNew(LeadStatus),
    /// The organization has no such endpoint, or it is another campaign's.
    EndpointUnknown,
    /// The event has more than [`MAX_TRIGGERED`] receivers.
    TooManyReceivers,
    /// One of the receivers had [`MAX_TRIES`] tries within [`TRIES_WITHIN`].
    TooManyTries {
        /// The receiver.
        endpoint: EndpointId,
        /// From when on it can be tried again.
        again_at: Timestamp,
    },
}

/// How a delivery ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeliveryOutcome {
    /// The one attempt was made. It delivered the event unless it has a failure.
    Attempted(WebhookAttempt),
    /// The event could not be written, for this reason; nothing was sent.
    CorruptPayload(String),
    /// The endpoint was removed or is inactive; nothing was sent.
    EndpointRemoved,
    /// The process that marked the delivery as sending did not record an outcome in time.
    Interrupted,
}

impl DeliveryOutcome {
    /// Whether the receiver answered 200 in time.
    pub const fn is_delivered(&self) -> bool {
        matches!(self, Self::Attempted(WebhookAttempt { failure: None, .. }))
    }

    /// The code of the failure: of a [`WebhookFailureKind`](super::WebhookFailureKind), `corrupt_payload`,
    /// `endpoint_removed` or `interrupted`. `None` if it was delivered.
    pub fn reason(&self) -> Option<&'static str> {
        match self {
            Self::Attempted(attempt) => attempt.failure.as_ref().map(|failure| failure.kind.as_str()),
            Self::CorruptPayload(_) => Some("corrupt_payload"),
            Self::EndpointRemoved => Some("endpoint_removed"),
            Self::Interrupted => Some("interrupted"),
        }
    }

    /// How long an attempt took that was made; `Some(None)` if a crash interrupted it, `None` if nothing was sent.
    pub const fn was_sent(&self) -> Option<Option<Duration>> {
        match self {
            Self::Attempted(attempt) => Some(Some(attempt.duration)),
            Self::Interrupted => Some(None),
            Self::CorruptPayload(_) | Self::EndpointRemoved => None,
        }
    }

    fn message(&self, event: EventKind) -> String {
        match self {
            Self::Attempted(WebhookAttempt { failure: None, .. }) => format!("{event} delivered."),
            Self::Attempted(WebhookAttempt {
                failure: Some(failure),
                ..
            }) => {
                format!("{event} not delivered: {}.", failure.message)
            }
            Self::CorruptPayload(fault) => format!("{event} could not be written: {fault}."),
            Self::EndpointRemoved => {
                format!("{event} not delivered: its endpoint was removed or is inactive.")
            }
            Self::Interrupted => format!(
                "{event} not delivered: the service stopped while it was being sent; it is not sent again."
            ),
        }
    }
}

/// The facts for a delivery's Activity entry.
#[derive(Debug, Clone, Copy)]
pub struct DeliveryFacts<'a> {
    /// The event's organization.
    pub organization_id: &'a OrganizationId,
    /// The lead's campaign.
    pub campaign_id: &'a CampaignId,
    /// The lead.
    pub lead_id: &'a LeadId,
    /// The delivery.
    pub id: DeliveryId,
    /// The event's kind.
    pub event: EventKind,
    /// Whether the event is about a dry run.
    pub dry_run: bool,
    /// The receiver.
    pub endpoint_id: &'a EndpointId,
    /// The receiver's address.
    pub url: &'a str,
    /// Whether a person tests the endpoint with it.
    pub is_test: bool,
    /// Who had it sent at once; `None` for the service.
    pub sent_by: Option<&'a Actor>,
}

impl DeliveryFacts<'_> {
    /// The Activity entry of the delivery's end (contract section 1, `bidloop activity`). Stores use it for deliveries
    /// that they end themselves.
    pub fn activity(&self, outcome: &DeliveryOutcome, at: Timestamp) -> Activity {
        let attempt = match outcome {
            DeliveryOutcome::Attempted(attempt) => Some(attempt),
            _ => None,
        };
        let duration = attempt.map(|attempt| attempt.duration.as_millis());
        let id = ActivityId::of_delivery(self.id);
        let lead = (self.organization_id, self.campaign_id, self.lead_id);
        let actor = self.sent_by.cloned().unwrap_or_else(Actor::service);
        let mut facts = details(json!({
            "deliveryId": self.id,
            "event": self.event,
            "endpointId": self.endpoint_id,
            "url": self.url,
            "responseStatus": attempt.and_then(|attempt| attempt.response_status),
            "durationMs": duration.map(|millis| u64::try_from(millis).unwrap_or(u64::MAX)),
            "responseBody": attempt.map_or("", |attempt| &attempt.response_body),
            "reason": outcome.reason(),
        }));
        let mut message = outcome.message(self.event);
        if self.is_test {
            facts.insert("test".to_owned(), true.into());
            message.insert_str(0, "Test: ");
        }
        Activity {
            outcome: if outcome.is_delivered() {
                ActivityOutcome::Delivered
            } else {
                ActivityOutcome::Failed
            },
            dry_run: self.dry_run,
            message,
            details: facts,
            ..Activity::on_lead(id, at, lead, ActivityKind::Delivery, actor)
        }
    }
}

impl ClaimedDelivery {
    /// The facts for its Activity entry.
    pub fn facts(&self) -> DeliveryFacts<'_> {
        DeliveryFacts {
            organization_id: &self.organization_id,
            campaign_id: &self.campaign_id,
            lead_id: &self.lead_id,
            id: self.id,
            event: self.payload.kind(),
            dry_run: self.payload.is_dry_run(),
            endpoint_id: &self.target.endpoint_id,
            url: &self.target.url,
            is_test: self.is_test,
            sent_by: self.sent_by.as_ref(),
        }
    }

    /// When the job of a `job.new` was posted, if it is known.
    pub fn posted_at(&self) -> Option<Timestamp> {
        match self.payload {
            EventPayload::JobNew => self.lead.as_ref()?.post.posted_at(),
            EventPayload::BidComplete { .. } => None,
        }
    }
}

/// The end of a delivery by the process that claimed it.
#[derive(Debug, Clone)]
pub struct DeliveryEnd {
    /// The delivery as it was claimed.
    pub delivery: ClaimedDelivery,
    /// How it ended.
    pub outcome: DeliveryOutcome,
    /// Its Activity entry, at the time of the end.
    pub activity: Activity,
}

/// Deliveries, each sent at most once (decision C5).
#[async_trait]
pub trait DeliveryStore: Send + Sync + std::fmt::Debug {
    /// Up to `limit` pending deliveries, oldest first, at most `per_endpoint` to one endpoint and none to the
    /// `busy` ones. One that was stored as queued in the past may be found some 2 s late. A hint:
    /// [`claim`](Self::claim) decides.
    async fn pending(
        &self,
        busy: &[(OrganizationId, EndpointId)],
        per_endpoint: u32,
        limit: u32,
    ) -> Result<Vec<PendingDelivery>, StoreError>;

    /// Marks those of `deliveries` that are still pending as sending, durably, by `owner`, and returns them. To be called
    /// just before their connections are opened. The marks last for `lasts` from the moment at which the store has the
    /// deliveries to itself: it asks `clock` only then, since it may wait for that as long as an attempt takes. One whose
    /// endpoint was removed or is inactive ends as [`EndpointRemoved`](DeliveryOutcome::EndpointRemoved), its Activity
    /// included, and is not returned; so does one to an endpoint that is not subscribed to the event.
    ///
    /// A delivery that cannot be read, or whose endpoint, lead or job cannot, stays pending. It is set aside in the
    /// store's [`Quarantine`](super::Quarantine) and is not among the pending ones any more (decision D2).
    async fn claim(
        &self,
        deliveries: &[PendingDelivery],
        owner: &LeaseOwner,
        clock: &Arc<dyn Clock>,
        lasts: Duration,
    ) -> Result<Vec<ClaimedDelivery>, StoreError>;

    /// Stores deliveries of an event that a person sends at once, already marked as sending by `owner` (decisions C5 and E6),
    /// and counts them as tries of their endpoints. The marks last for `lasts` from the moment at which the store has the
    /// lead and the endpoints to itself, which is also the event's. Checks in this order, in one transaction: the
    /// authorization, the lead, the receivers, their tries. Of tries at the same moment no more than [`MAX_TRIES`] are begun.
    ///
    /// A match without a record becomes a lead (decision E5), unless nothing is begun.
    ///
    /// Tests are not counted in statistics, nor among an endpoint's last deliveries.
    async fn begin_try(
        &self,
        authorization: &Authorization,
        wanted: NewTry<'_>,
        owner: &LeaseOwner,
        clock: &Arc<dyn Clock>,
        lasts: Duration,
    ) -> Result<BeginTry, StoreError>;

    /// Records the end of a delivery that `owner` claimed, with its Activity. Returns false, and records nothing, if
    /// the delivery is no longer `owner`'s.
    async fn finish(&self, end: &Arc<DeliveryEnd>, owner: &LeaseOwner) -> Result<bool, StoreError>;

    /// Ends as [`Interrupted`](DeliveryOutcome::Interrupted), each with its Activity, the deliveries that are marked as
    /// sending beyond their deadline; returns how many.
    async fn interrupt_overdue(&self, now: Timestamp) -> Result<u64, StoreError>;

    /// The number of pending deliveries.
    async fn pending_count(&self) -> Result<u64, StoreError>;
}
