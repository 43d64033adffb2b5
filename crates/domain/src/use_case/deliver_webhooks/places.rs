//! The places in which a process sends deliveries at the same time, and who waits for one.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::model::{EndpointId, OrganizationId};
use crate::port::{ClaimedDelivery, SendingPlaces};

/// One endpoint gets at most this fraction of the free places, but at least one delivery (decision C5). The more
/// receivers are slow, the fewer places each of them has, so that a fast receiver always finds one.
const SHARE_OF_ROOM: u32 = 32;

/// An endpoint gets more when at most this fraction of its places is taken, so that a claim takes several deliveries: its
/// cost depends little on their number.
const SHARE_STILL_TAKEN: u32 = 4;

/// An endpoint with its organization.
pub(super) type Endpoint = (OrganizationId, EndpointId);

/// The number of deliveries in flight to each endpoint, and whether others may wait for their places.
#[derive(Debug, Clone, Default)]
pub struct InFlight(Arc<Mutex<Places>>);

impl InFlight {
    pub(super) fn locked(&self) -> MutexGuard<'_, Places> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Places that are taken.
#[derive(Debug, Default)]
pub(super) struct Places {
    of_endpoint: HashMap<Endpoint, u32>,
    all: u32,
    waiting: Waiting,
}

/// To which endpoints pending deliveries may wait for a place.
#[derive(Debug, Default)]
struct Waiting {
    /// These, by the last look that ended; `None` if it left some and others are unknown.
    found: Option<HashSet<Endpoint>>,
    /// Those that were refused a place since the last look began, which it need not have found.
    refused: HashSet<Endpoint>,
}

impl Waiting {
    fn has(&self, endpoint: &Endpoint) -> bool {
        self.refused.contains(endpoint) || self.found.as_ref().is_none_or(|found| found.contains(endpoint))
    }

    fn has_some(&self) -> bool {
        !self.refused.is_empty() || self.found.as_ref().is_none_or(|found| !found.is_empty())
    }

    /// What was refused before is for the look to find, and waits until its end.
    fn begin_look(&mut self) {
        let refused = self.refused.drain();
        if let Some(found) = &mut self.found {
            found.extend(refused);
        }
    }
}

impl Places {
    /// Begins a look for pending deliveries: the endpoints that get no more now, and how many of `at_most` places are free.
    pub(super) fn begin_look(&mut self, at_most: u32) -> (Vec<Endpoint>, u32) {
        self.waiting.begin_look();
        let room = self.room(at_most);
        let busy = self.of_endpoint.iter();
        let busy = busy.filter(|(_, count)| !is_free_enough(**count, share_of(room)));
        (busy.map(|(endpoint, _)| endpoint.clone()).collect(), room)
    }

    /// Ends a look. If it found all there was, no other pending delivery is left, unless its endpoint was not looked at or
    /// has its share now.
    pub(super) fn end_look(&mut self, found_all: bool, busy: Vec<Endpoint>, at_most: u32) {
        let share = share_of(self.room(at_most));
        let full = self.of_endpoint.iter().filter(|(_, count)| **count >= share);
        let full = full.map(|(endpoint, _)| endpoint.clone());
        self.waiting.found = found_all.then(|| full.chain(busy).collect());
    }

    /// Whether the next look can find more for the endpoint, and there may be some.
    pub(super) fn makes_room(&self, endpoint: &Endpoint, at_most: u32) -> bool {
        self.waiting.has_some() && is_free_enough(self.count(endpoint), share_of(self.room(at_most)))
    }

    /// How many places are free.
    const fn room(&self, at_most: u32) -> u32 {
        at_most.saturating_sub(self.all)
    }

    fn count(&self, endpoint: &Endpoint) -> u32 {
        self.of_endpoint.get(endpoint).copied().unwrap_or(0)
    }

    /// Takes a place for a delivery to the endpoint, which has its share of the free ones of `at_most`, or notes that the
    /// endpoint waits.
    fn take(&mut self, endpoint: Endpoint, at_most: u32) -> bool {
        let room = self.room(at_most);
        let fits = room > 0 && self.count(&endpoint) < share_of(room);
        if fits {
            *self.of_endpoint.entry(endpoint).or_default() += 1;
            self.all += 1;
        } else {
            self.waiting.refused.insert(endpoint);
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
pub(in super::super) struct TakenPlaces {
    in_flight: InFlight,
    at_most: u32,
    taken: Mutex<HashMap<Endpoint, u32>>,
}

impl TakenPlaces {
    /// Takes none yet.
    pub(super) fn none(in_flight: &InFlight, at_most: u32) -> Self {
        Self {
            in_flight: in_flight.clone(),
            at_most,
            taken: Mutex::default(),
        }
    }

    fn taken(&self) -> MutexGuard<'_, HashMap<Endpoint, u32>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn take_from(&self, places: &mut Places, endpoint: Endpoint) -> bool {
        let fits = places.take(endpoint.clone(), self.at_most);
        if fits {
            *self.taken().entry(endpoint).or_default() += 1;
        }
        fits
    }

    /// Leaves the places to these deliveries, which are to be sent.
    pub(in super::super) fn keep(&self, claimed: &[ClaimedDelivery]) {
        let mut taken = self.taken();
        for delivery in claimed {
            if let Some(count) = taken.get_mut(&endpoint_of(delivery)) {
                *count = count.saturating_sub(1);
            }
        }
    }
}

impl SendingPlaces for TakenPlaces {
    fn take(&self, organization: &OrganizationId, endpoint: &EndpointId) -> bool {
        let endpoint = (organization.clone(), endpoint.clone());
        let mut places = self.in_flight.locked();
        if places.waiting.has(&endpoint) {
            // What is stored now waits, too, and must be behind the others.
            places.waiting.refused.insert(endpoint);
            return false;
        }
        self.take_from(&mut places, endpoint)
    }
}

impl Drop for TakenPlaces {
    fn drop(&mut self) {
        let taken = std::mem::take(&mut *self.taken());
        let mut places = self.in_flight.locked();
        for (endpoint, count) in taken {
            (0..count).for_each(|_| places.give_back(&endpoint));
        }
    }
}

/// The largest number of deliveries in flight to one endpoint while `room` places are free in all.
pub(super) fn share_of(room: u32) -> u32 {
    (room / SHARE_OF_ROOM).max(1)
}

/// Whether an endpoint with so many deliveries in flight gets more.
const fn is_free_enough(in_flight: u32, at_most: u32) -> bool {
    in_flight * SHARE_STILL_TAKEN <= at_most
}

/// One of an endpoint's places in flight. Dropped, it is free.
pub(super) struct Place<'a> {
    pub(super) in_flight: &'a InFlight,
    pub(super) endpoint: &'a Endpoint,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.in_flight.locked().give_back(self.endpoint);
    }
}

pub(super) fn endpoint_of(delivery: &ClaimedDelivery) -> Endpoint {
    (
        delivery.organization_id.clone(),
        delivery.target.endpoint_id.clone(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(id: &str) -> Endpoint {
        let organization = OrganizationId::parse("org_acme").unwrap();
        (organization, EndpointId::parse(id).unwrap())
    }

    fn take(places: &TakenPlaces, (organization, endpoint): &Endpoint) -> bool {
        places.take(organization, endpoint)
    }

    /// A look that finds all there is.
    fn look(in_flight: &InFlight, meanwhile: impl FnOnce()) {
        let (busy, _) = in_flight.locked().begin_look(SHARE_OF_ROOM);
        meanwhile();
        in_flight.locked().end_look(true, busy, SHARE_OF_ROOM);
    }

    #[test]
    fn places_that_were_taken_in_vain_are_free_again() {
        let in_flight = InFlight::default();
        let new = || TakenPlaces::none(&in_flight, SHARE_OF_ROOM);
        let (one, other) = (endpoint("wh_1"), endpoint("wh_2"));
        assert!(!take(&new(), &one), "others may wait");
        look(&in_flight, || ());
        let vain = new();
        assert!(take(&vain, &one));
        assert!(!take(&vain, &one), "its share is taken");
        assert!(take(&vain, &other));
        drop(vain);
        assert_eq!(in_flight.locked().all, 0);
        assert!(!take(&new(), &one), "one was refused, and waits");
        look(&in_flight, || ());
        assert!(take(&new(), &one));
    }

    #[test]
    fn a_look_hides_neither_free_places_nor_who_is_refused_meanwhile() {
        let in_flight = InFlight::default();
        let new = || TakenPlaces::none(&in_flight, SHARE_OF_ROOM);
        let (one, other) = (endpoint("wh_1"), endpoint("wh_2"));
        look(&in_flight, || ());
        look(&in_flight, || {
            let places = new();
            assert!(take(&places, &one));
            assert!(!take(&places, &one));
        });
        assert!(!take(&new(), &one), "the look need not have found it");
        look(&in_flight, || {
            assert!(!take(&new(), &one), "that none waits is not known yet");
        });
        assert!(!take(&new(), &one));
        assert!(take(&new(), &other));
        look(&in_flight, || ());
        assert!(take(&new(), &one));
    }
}
