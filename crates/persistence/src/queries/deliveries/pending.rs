//! Which deliveries may be sent next.
//!
//! A look reads some of the oldest ones, and more if most of those may be sent. Where those of receivers that get no more now
//! are in front, a second look reads the oldest of each other endpoint. So a long queue of one endpoint hides no other, and
//! is not read with each look.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use bidloop_domain::model::{DeliveryId, EndpointId, OrganizationId};
use bidloop_domain::port::PendingDelivery;
use diesel::sql_types::Text;

use super::super::prelude::*;
use super::{DELIVERIES, ENDPOINTS, is_pending, key};
use crate::low_water::LowWater;

/// How many of the oldest are read at first: twice as many as one endpoint gets at most.
const FIRST_READ: usize = 64;
/// The most unreadable endpoints that the second look leaves out. Deliveries to more of them take places of others.
const ENDPOINTS_LEFT_OUT: usize = 1_000;

/// The types of the columns that a pending delivery is read from.
type PendingRow = ((Text, Text), Text, Text, Text);

/// What cannot be read hides nothing either: unreadable endpoints count as busy, and a look is longer by the number of
/// unreadable deliveries, and repeated if it finds more of them.
pub(super) async fn pending(
    conn: &mut Conn,
    quarantine: &Quarantine,
    low: &LowWater,
    busy: &[(OrganizationId, EndpointId)],
    per_endpoint: u32,
    limit: u32,
) -> Result<Vec<PendingDelivery>, Failure> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let unreadable = quarantine.ids(ENDPOINTS);
    let mut found = Found {
        quarantine,
        per_endpoint,
        limit,
        full: busy.iter().cloned().collect(),
        shares: HashMap::new(),
        seen: HashSet::new(),
        chosen: Vec::new(),
    };
    let mut from = low.from();
    let mut read = limit.min(FIRST_READ);
    loop {
        let held = quarantine.count(DELIVERIES);
        let looked_at = read.saturating_add(held);
        let (began, chosen) = (Instant::now(), found.chosen.len());
        let oldest = deliveries::table
            .filter(is_pending())
            .filter(deliveries::created_at.ge(from))
            .order(deliveries::created_at)
            .limit(stored(looked_at))
            .select((deliveries::created_at, Tried::<PendingDelivery>::as_select()));
        let rows: Vec<(i64, Tried<PendingDelivery>)> = oldest.load(conn).await?;
        let is_complete = rows.len() < looked_at;
        low.note(from, began, found.choose_of(rows));
        if found.is_enough() || (is_complete && low.suffices(from)) {
            return Ok(found.chosen);
        }
        // Those of one receiver alone, which gets no more than half of the first ones, are not looked at further.
        let most_fit = (found.chosen.len() - chosen) * 2 > read;
        if is_complete {
            from = LowWater::START;
        } else if read < limit && most_fit {
            read = limit;
        } else if quarantine.count(DELIVERIES) == held {
            break;
        }
    }
    loop {
        let held = quarantine.count(DELIVERIES);
        let full = found.full.iter();
        let mut left_out: Vec<String> = full
            .map(|(organization, endpoint)| key(organization, endpoint))
            .collect();
        left_out.extend(unreadable.iter().take(ENDPOINTS_LEFT_OUT).cloned());
        let of_each = stored(held).saturating_add(i64::from(per_endpoint));
        let oldest = oldest_of_each!(from, of_each, left_out, stored(limit.saturating_add(held)));
        let rows: Vec<Tried<PendingDelivery>> = oldest.load(conn).await?;
        for row in rows {
            found.choose(row);
        }
        if found.is_enough() || quarantine.count(DELIVERIES) == held {
            return Ok(found.chosen);
        }
    }
}

/// What was found so far.
struct Found<'q> {
    quarantine: &'q Quarantine,
    per_endpoint: u32,
    limit: usize,
    /// The endpoints that get no more.
    full: HashSet<(OrganizationId, EndpointId)>,
    /// How many deliveries are chosen for each endpoint.
    shares: HashMap<(OrganizationId, EndpointId), u32>,
    seen: HashSet<(OrganizationId, DeliveryId)>,
    chosen: Vec<PendingDelivery>,
}

impl Found<'_> {
    fn is_enough(&self) -> bool {
        self.chosen.len() >= self.limit
    }

    /// Returns when the first one that can be read was queued.
    fn choose_of(&mut self, rows: Vec<(i64, Tried<PendingDelivery>)>) -> Option<i64> {
        let mut first = None;
        for (queued_at, row) in rows {
            if self.choose(row) {
                first.get_or_insert(queued_at);
            }
        }
        first
    }

    /// Returns whether it can be read.
    fn choose(&mut self, row: Tried<PendingDelivery>) -> bool {
        let Some(delivery) = row.or_aside(self.quarantine) else {
            return false;
        };
        let organization = &delivery.organization_id;
        if self.quarantine.holds(DELIVERIES, organization, delivery.id) {
            return false;
        }
        let endpoint = (organization.clone(), delivery.endpoint_id.clone());
        if self.is_enough()
            || self.full.contains(&endpoint)
            || self
                .quarantine
                .holds(ENDPOINTS, organization, &delivery.endpoint_id)
            || !self.seen.insert((organization.clone(), delivery.id))
        {
            return true;
        }
        let share = self.shares.entry(endpoint.clone()).or_default();
        *share += 1;
        if *share >= self.per_endpoint {
            self.full.insert(endpoint);
        }
        self.chosen.push(delivery);
        true
    }
}
