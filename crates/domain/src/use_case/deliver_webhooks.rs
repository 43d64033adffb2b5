//! Deliver webhooks: each event to each receiver, at most once (decisions C2 to C7). Tests:
//! `tests/use_case/deliver_webhooks.rs`.
//!
//! The caller runs [`claim`](DeliverWebhooks::claim), then [`send`](DeliverWebhooks::send) for all claimed deliveries in
//! parallel, then [`record`](DeliverWebhooks::record) for each, which may be repeated until it succeeds. What a page of the
//! feed queues is mostly claimed when it is stored ([`send_at_once`](DeliverWebhooks::send_at_once)).

use std::sync::Arc;
use std::time::Duration;

pub use self::places::InFlight;
use self::places::{Place, TakenPlaces, endpoint_of, share_of};
use super::webhook_body::WebhookBody;
use crate::model::{Links, TRACE_PARENT_HEADER, sign};
use crate::port::{
    ClaimedDelivery, Clock, DeliveryEnd, DeliveryOutcome, DeliveryStore, LeaseOwner, OutgoingWebhook,
    SendAtOnce, SendingPlaces, StoreError, WebhookSender,
};

mod places;

/// The largest number of deliveries that a process sends at the same time.
pub const MAX_IN_FLIGHT: u32 = 1_024;

/// A delivery that was sent and must be recorded.
#[derive(Debug, Clone)]
pub struct SentDelivery {
    /// What is recorded.
    pub end: Arc<DeliveryEnd>,
    /// From the job's posting to the delivery of its `job.new`.
    pub since_posting: Option<Duration>,
    /// Whether the next claim can take more deliveries to the endpoint, and there may be some.
    pub makes_room: bool,
}

/// Sends what is pending.
#[derive(Debug)]
pub struct DeliverWebhooks {
    /// Deliveries.
    pub store: Arc<dyn DeliveryStore>,
    /// Makes the attempts.
    pub sender: Arc<dyn WebhookSender>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Addresses of operations and jobs.
    pub links: Links,
    /// The name of this process, unique among all processes.
    pub owner: LeaseOwner,
    /// How many deliveries are sent at the same time, [`MAX_IN_FLIGHT`] in the program.
    pub max_in_flight: u32,
    /// Deliveries that are being sent; none at first.
    pub in_flight: InFlight,
}

/// How often a claim looks for pending deliveries if none of those it found could be claimed.
const MAX_LOOKS: u32 = 16;

/// How long a delivery may be marked as sending: the 10 seconds of decision C4 and time to record the outcome. After a
/// crash, a delivery is reported as interrupted only when this time is over.
pub(super) const SENDING_LASTS: Duration = Duration::from_secs(14);

/// The header of a test, `true` (decision E6).
pub(super) const TEST_HEADER: &str = "x-service-test";

impl DeliverWebhooks {
    /// Marks pending deliveries as sending, up to the limits. Each must then be [sent](Self::send).
    pub async fn claim(&self) -> Result<Vec<ClaimedDelivery>, StoreError> {
        // What cannot be read is known to the store after a look, and no longer hides what is behind it.
        for _ in 0..MAX_LOOKS {
            if let Some(claimed) = self.claim_once().await? {
                return Ok(claimed);
            }
        }
        Ok(Vec::new())
    }

    /// `None` if there were pending deliveries and none of them could be claimed.
    async fn claim_once(&self) -> Result<Option<Vec<ClaimedDelivery>>, StoreError> {
        let (busy, room) = self.in_flight.locked().begin_look(self.max_in_flight);
        if room == 0 {
            return Ok(Some(Vec::new()));
        }
        let mut chosen = self.store.pending(&busy, share_of(room), room).await?;
        let found_all = u32::try_from(chosen.len()).is_ok_and(|found| found < room);
        let taken = TakenPlaces::none(&self.in_flight, self.max_in_flight);
        {
            let mut places = self.in_flight.locked();
            chosen.retain(|delivery| {
                let endpoint = (delivery.organization_id.clone(), delivery.endpoint_id.clone());
                taken.take_from(&mut places, endpoint)
            });
            places.end_look(found_all, busy, self.max_in_flight);
        }
        if chosen.is_empty() {
            return Ok(Some(Vec::new()));
        }
        let claimed = self
            .store
            .claim(&chosen, &self.owner, &self.clock, SENDING_LASTS)
            .await?;
        taken.keep(&claimed);
        Ok(Some(claimed).filter(|claimed| !claimed.is_empty()))
    }

    /// For a store that claims new deliveries for this process when it stores them. What it claimed is to be
    /// [kept](TakenPlaces::keep) and sent.
    pub(super) fn send_at_once(&self) -> (Arc<TakenPlaces>, SendAtOnce) {
        let taken = Arc::new(TakenPlaces::none(&self.in_flight, self.max_in_flight));
        let send = SendAtOnce {
            owner: self.owner.clone(),
            clock: Arc::clone(&self.clock),
            lasts: SENDING_LASTS,
            places: Arc::clone(&taken) as Arc<dyn SendingPlaces>,
        };
        (taken, send)
    }

    /// Makes the one attempt.
    ///
    /// The endpoint's place is free again when this ends, be it in a panic.
    pub async fn send(&self, delivery: ClaimedDelivery) -> SentDelivery {
        let endpoint = endpoint_of(&delivery);
        let place = Place {
            in_flight: &self.in_flight,
            endpoint: &endpoint,
        };
        let outcome = match self.write(&delivery) {
            Ok(webhook) => DeliveryOutcome::Attempted(self.sender.send(webhook).await),
            Err(fault) => DeliveryOutcome::CorruptPayload(fault),
        };
        drop(place);
        let now = self.clock.now();
        SentDelivery {
            since_posting: delivery
                .posted_at()
                .filter(|_| outcome.is_delivered())
                .map(|posted| now.since(posted)),
            makes_room: self.in_flight.locked().makes_room(&endpoint, self.max_in_flight),
            end: Arc::new(DeliveryEnd {
                activity: delivery.facts().activity(&outcome, now),
                delivery,
                outcome,
            }),
        }
    }

    /// Records the outcome. Returns false if the mark had passed its deadline and was failed as interrupted.
    pub async fn record(&self, sent: &SentDelivery) -> Result<bool, StoreError> {
        self.store.finish(&sent.end, &self.owner).await
    }

    /// Fails deliveries that are still marked as sending after their deadline, because of a crash (decision C5).
    pub async fn interrupt_overdue(&self) -> Result<u64, StoreError> {
        self.store.interrupt_overdue(self.clock.now()).await
    }

    fn write(&self, delivery: &ClaimedDelivery) -> Result<OutgoingWebhook, String> {
        let now = self.clock.now();
        let body = WebhookBody {
            id: delivery.id,
            created_at: delivery.created_at,
            payload: &delivery.payload,
            lead: delivery.lead.as_ref(),
            campaign_name: delivery.campaign_name.as_deref(),
        };
        let body = body
            .write(&self.links)
            .ok_or("the delivery's lead is not stored")?;
        let id = delivery.id.to_string();
        let signature = sign(&delivery.target.secrets, &id, now.as_seconds(), &body);
        let mut headers = vec![
            ("content-type", "application/json".to_owned()),
            (
                "user-agent",
                concat!("bidloop/", env!("CARGO_PKG_VERSION")).to_owned(),
            ),
            ("x-service-delivery-id", id.clone()),
            ("webhook-id", id),
            ("webhook-timestamp", now.as_seconds().to_string()),
            ("webhook-signature", signature),
        ];
        if delivery.is_test {
            headers.push((TEST_HEADER, "true".to_owned()));
        }
        if let Some(trace) = delivery.trace_parent {
            headers.push((TRACE_PARENT_HEADER, trace.to_string()));
        }
        Ok(OutgoingWebhook {
            url: delivery.target.url.clone(),
            headers,
            body,
        })
    }
}
