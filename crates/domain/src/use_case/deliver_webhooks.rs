//! Deliver webhooks: each event to each receiver, at most once (decisions C2 to C7). Tests:
//! `tests/use_case/deliver_webhooks.rs`.
//!
//! The caller runs [`claim`](DeliverWebhooks::claim), then [`send`](DeliverWebhooks::send) for all claimed deliveries in
//! parallel, then [`record`](DeliverWebhooks::record) for each, which may be repeated until it succeeds. What a page of the
//! feed queues is mostly claimed when it is stored ([`ClaimNew`]).

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::webhook_body::WebhookBody;
use crate::model::{EndpointId, Links, OrganizationId, TRACE_PARENT_HEADER, sign};
use crate::port::{
    ClaimedDelivery, Clock, DeliveryEnd, DeliveryOutcome, DeliveryStore, LeaseOwner, OutgoingWebhook,
    SendAtOnce, SendingPlaces, StoreError, WebhookSender,
};

/// The largest number of deliveries that a process sends at the same time.
pub const MAX_IN_FLIGHT: u32 = 512;

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

/// An endpoint with its organization.
type Endpoint = (OrganizationId, EndpointId);

/// The number of deliveries in flight to each endpoint, and whether others may wait for their places.
#[derive(Debug, Clone, Default)]
pub struct InFlight(Arc<Mutex<Places>>);

impl InFlight {
    fn locked(&self) -> MutexGuard<'_, Places> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Places that are taken.
#[derive(Debug, Default)]
struct Places {
    of_endpoint: HashMap<Endpoint, u32>,
    all: u32,
    waiting: Waiting,
}

/// To which endpoints pending deliveries may wait for a place.
#[derive(Debug, Default)]
enum Waiting {
    /// It is not known.
    #[default]
    Any,
    /// To these.
    To(HashSet<Endpoint>),
}

impl Waiting {
    fn has(&self, endpoint: &Endpoint) -> bool {
        match self {
            Self::Any => true,
            Self::To(endpoints) => endpoints.contains(endpoint),
        }
    }

    fn has_some(&self) -> bool {
        match self {
            Self::Any => true,
            Self::To(endpoints) => !endpoints.is_empty(),
        }
    }

    fn add(&mut self, endpoint: Endpoint) {
        if let Self::To(endpoints) = self {
            endpoints.insert(endpoint);
        }
    }
}

impl Places {
    /// Takes a place for a delivery to the endpoint, which has its share of the free ones of `at_most`.
    fn take(&mut self, endpoint: Endpoint, at_most: u32) -> bool {
        let room = at_most.saturating_sub(self.all);
        let count = self.of_endpoint.get(&endpoint).copied().unwrap_or(0);
        let fits = room > 0 && count < share_of(room);
        if fits {
            *self.of_endpoint.entry(endpoint).or_default() += 1;
            self.all += 1;
        }
        fits
    }

    fn give_back(&mut self, endpoint: &Endpoint) {
        if let Some(count) = self.of_endpoint.get_mut(endpoint) {
            *count -= 1;
            self.all -= 1;
            if *count == 0 {
                self.of_endpoint.remove(endpoint);
            }
        }
    }
}

/// Places that are taken for deliveries before these are marked as sending. Dropped, it gives back those that it was not told
/// to [keep](Self::keep).
#[derive(Debug)]
pub(super) struct ClaimNew {
    in_flight: InFlight,
    at_most: u32,
    taken: Mutex<HashMap<Endpoint, u32>>,
}

impl ClaimNew {
    fn taken(&self) -> MutexGuard<'_, HashMap<Endpoint, u32>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_from(&self, places: &mut Places, endpoint: Endpoint) -> bool {
        let fits = places.take(endpoint.clone(), self.at_most);
        if fits {
            *self.taken().entry(endpoint).or_default() += 1;
        }
        fits
    }

    /// Leaves the places to these deliveries, which are to be sent.
    pub(super) fn keep(&self, claimed: &[ClaimedDelivery]) {
        let mut taken = self.taken();
        for delivery in claimed {
            if let Some(count) = taken.get_mut(&endpoint_of(delivery)) {
                *count = count.saturating_sub(1);
            }
        }
    }
}

impl SendingPlaces for ClaimNew {
    fn take(&self, organization: &OrganizationId, endpoint: &EndpointId) -> bool {
        let endpoint = (organization.clone(), endpoint.clone());
        let mut places = self.in_flight.locked();
        if places.waiting.has(&endpoint) {
            return false;
        }
        let fits = self.take_from(&mut places, endpoint.clone());
        if !fits {
            // Those behind it must not get in front of it.
            places.waiting.add(endpoint);
        }
        fits
    }
}

impl Drop for ClaimNew {
    fn drop(&mut self) {
        let taken = std::mem::take(&mut *self.taken());
        let mut places = self.in_flight.locked();
        for (endpoint, count) in taken {
            (0..count).for_each(|_| places.give_back(&endpoint));
        }
    }
}

/// How often a claim looks for pending deliveries if none of those it found could be claimed.
const MAX_LOOKS: u32 = 16;

/// One endpoint gets at most this fraction of the free places, but at least one delivery (decision C5). The more
/// receivers are slow, the fewer places each of them has, so that a fast receiver always finds one.
const SHARE_OF_ROOM: u32 = 16;

/// An endpoint gets more when at most this fraction of its places is taken, so that a claim takes several deliveries: its
/// cost depends little on their number.
const SHARE_STILL_TAKEN: u32 = 4;

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
        let (busy, room) = {
            let mut places = self.in_flight.locked();
            // It is not known until the look is over.
            places.waiting = Waiting::Any;
            let room = self.max_in_flight.saturating_sub(places.all);
            let busy = places.of_endpoint.iter();
            let busy = busy.filter(|(_, count)| !is_free_enough(**count, share_of(room)));
            let busy: Vec<Endpoint> = busy.map(|(endpoint, _)| endpoint.clone()).collect();
            (busy, room)
        };
        if room == 0 {
            return Ok(Some(Vec::new()));
        }
        let mut chosen = self.store.pending(&busy, share_of(room), room).await?;
        let is_all = u32::try_from(chosen.len()).is_ok_and(|found| found < room);
        let new = self.claim_new();
        {
            let mut places = self.in_flight.locked();
            chosen.retain(|delivery| {
                let endpoint = (delivery.organization_id.clone(), delivery.endpoint_id.clone());
                new.take_from(&mut places, endpoint)
            });
            if is_all {
                // No other pending delivery is left, unless its endpoint was not looked at or has its share now.
                let share = share_of(self.max_in_flight.saturating_sub(places.all));
                let full = places.of_endpoint.iter().filter(|(_, count)| **count >= share);
                let full = full.map(|(endpoint, _)| endpoint.clone());
                places.waiting = Waiting::To(full.chain(busy).collect());
            }
        }
        if chosen.is_empty() {
            return Ok(Some(Vec::new()));
        }
        let claimed = self
            .store
            .claim(&chosen, &self.owner, &self.clock, SENDING_LASTS)
            .await?;
        new.keep(&claimed);
        Ok(Some(claimed).filter(|claimed| !claimed.is_empty()))
    }

    /// Takes no place yet.
    fn claim_new(&self) -> ClaimNew {
        ClaimNew {
            in_flight: self.in_flight.clone(),
            at_most: self.max_in_flight,
            taken: Mutex::default(),
        }
    }

    /// For a store that claims new deliveries for this process when it stores them. What it claimed is to be
    /// [kept](ClaimNew::keep) and sent.
    pub(super) fn send_at_once(&self) -> (Arc<ClaimNew>, SendAtOnce) {
        let new = Arc::new(self.claim_new());
        let send = SendAtOnce {
            owner: self.owner.clone(),
            clock: Arc::clone(&self.clock),
            lasts: SENDING_LASTS,
            places: Arc::clone(&new) as Arc<dyn SendingPlaces>,
        };
        (new, send)
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
            makes_room: self.makes_room(&endpoint),
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

    fn makes_room(&self, endpoint: &Endpoint) -> bool {
        let places = self.in_flight.locked();
        let room = self.max_in_flight.saturating_sub(places.all);
        let count = places.of_endpoint.get(endpoint).copied().unwrap_or(0);
        places.waiting.has_some() && is_free_enough(count, share_of(room))
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

/// The largest number of deliveries in flight to one endpoint while `room` places are free in all.
fn share_of(room: u32) -> u32 {
    (room / SHARE_OF_ROOM).max(1)
}

/// Whether an endpoint with so many deliveries in flight gets more.
const fn is_free_enough(in_flight: u32, at_most: u32) -> bool {
    in_flight * SHARE_STILL_TAKEN <= at_most
}

/// One of an endpoint's places in flight. Dropped, it is free.
struct Place<'a> {
    in_flight: &'a InFlight,
    endpoint: &'a Endpoint,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.in_flight.locked().give_back(self.endpoint);
    }
}

fn endpoint_of(delivery: &ClaimedDelivery) -> Endpoint {
    (
        delivery.organization_id.clone(),
        delivery.target.endpoint_id.clone(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_that_were_taken_in_vain_are_free_again() {
        let in_flight = InFlight::default();
        let new = || ClaimNew {
            in_flight: in_flight.clone(),
            at_most: SHARE_OF_ROOM,
            taken: Mutex::default(),
        };
        let organization = OrganizationId::parse("org_acme").unwrap();
        let endpoint = |id: &str| EndpointId::parse(id).unwrap();
        let (one, other) = (endpoint("wh_1"), endpoint("wh_2"));
        assert!(!new().take(&organization, &one), "others may wait");
        let nobody_waits = || in_flight.locked().waiting = Waiting::To(HashSet::new());
        nobody_waits();
        let vain = new();
        assert!(vain.take(&organization, &one));
        assert!(!vain.take(&organization, &one), "its share is taken");
        assert!(vain.take(&organization, &other));
        drop(vain);
        assert_eq!(in_flight.locked().all, 0);
        assert!(!new().take(&organization, &one), "one was refused, and waits");
        nobody_waits();
        assert!(new().take(&organization, &one));
    }
}
