//! Which deliveries may be sent next.
//!
//! A look reads some of the oldest ones, and more while most of those may be sent. Where those of receivers that get no more
//! now are in front, a second look reads the oldest of each other endpoint. So a long queue of one endpoint hides no other,
//! and is not read with each look. The second look costs as much as there are endpoints, so a few deliveries that may not be
//! sent do not call for it.
//!
//! Each of the two begins at a mark of its own.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use bidloop_domain::model::{DeliveryId, EndpointId, OrganizationId};
use bidloop_domain::port::PendingDelivery;
use diesel::sql_types::{BigInt, Text};

use super::super::prelude::*;
use super::others_from::OthersFrom;
use super::{DELIVERIES, ENDPOINTS, is_oldest_pending, key};
use crate::low_water::LowWater;

/// How many of the oldest are read at first: twice as many as one endpoint gets at most.
const FIRST_READ: usize = 64;
/// The most unreadable endpoints that the second look leaves out. Deliveries to more of them take places of others.
const ENDPOINTS_LEFT_OUT: usize = 1_000;

/// When a pending delivery was queued, and the columns that it is read from.
type PendingRow = (BigInt, ((Text, Text), Text, Text, Text));

/// From where on looks search.
#[derive(Debug, Default)]
pub(crate) struct PendingFrom {
    oldest: LowWater,
    of_others: OthersFrom,
}

/// What cannot be read hides nothing either: unreadable endpoints count as busy, and a look is longer by the number of
/// unreadable deliveries, and repeated if it finds more of them.
pub(super) async fn pending(
    conn: &mut Conn,
    quarantine: &Quarantine,
    marks: &PendingFrom,
    busy: &[(OrganizationId, EndpointId)],
    per_endpoint: u32,
    limit: u32,
) -> Result<Vec<PendingDelivery>, Failure> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut found = Found {
        quarantine,
        per_endpoint,
        limit,
        full: busy.iter().cloned().collect(),
        shares: HashMap::new(),
        seen: HashSet::new(),
        chosen: Vec::new(),
    };
    let low = &marks.oldest;
    let mut from = low.from();
    let mut read = limit.min(FIRST_READ);
    loop {
        let held = quarantine.count(DELIVERIES);
        let looked_at = read.saturating_add(held);
        let began = Instant::now();
        let oldest = deliveries::table
            .filter(is_oldest_pending())
            .filter(deliveries::created_at.ge(from))
            .order(deliveries::created_at)
            .limit(stored(looked_at))
            .select((deliveries::created_at, Tried::<PendingDelivery>::as_select()));
        let rows: Vec<(i64, Tried<PendingDelivery>)> = oldest.load(conn).await?;
        let is_complete = rows.len() < looked_at;
        let rows = found.readable(rows);
        low.note(from, began, rows.iter().map(|(queued_at, _)| *queued_at).next());
        found.choose_of(rows);
        if found.is_enough() || (is_complete && low.suffices(from)) {
            return Ok(found.chosen);
        }
        // Those of one receiver alone, which gets no more than half of the first ones, are not looked at further. The longest
        // look reads some two rows for each delivery that it finds.
        let most_fit = found.chosen.len() * 2 > read;
        if is_complete {
            from = LowWater::START;
        } else if most_fit {
            read = limit.max(read.saturating_add(read / 2));
        } else if quarantine.count(DELIVERIES) == held {
            break;
        }
    }
    of_others(conn, &mut found, &marks.of_others, from).await?;
    Ok(found.chosen)
}

/// Looks at the oldest of each endpoint that gets more.
async fn of_others(
    conn: &mut Conn,
    found: &mut Found<'_>,
    others: &OthersFrom,
    oldest_from: i64,
) -> Result<(), Failure> {
    let quarantine = found.quarantine;
    let unreadable = quarantine.ids(ENDPOINTS);
    let mut from_start = false;
    loop {
        let held = quarantine.count(DELIVERIES);
        let of_each = stored(held).saturating_add(i64::from(found.per_endpoint));
        let limit = found.limit.saturating_add(held);
        let full = found.full.iter();
        let full = full.map(|(organization, endpoint)| key(organization, endpoint));
        let look = others.begin(full.collect(), from_start);
        let left_out = look.apart().chain(unreadable.iter().take(ENDPOINTS_LEFT_OUT));
        let left_out: Vec<&String> = left_out.collect();
        let oldest = oldest_of_each!(oldest_from.max(look.from), of_each, left_out, stored(limit));
        let mut rows: Vec<(i64, Tried<PendingDelivery>)> = oldest.load(conn).await?;
        if !look.returning.is_empty() {
            let returning = look.returning.iter().filter_map(|(endpoint, begins)| {
                let (organization, id) = endpoint.split_once('/')?;
                Some((organization, id, oldest_from.max(*begins)))
            });
            let returning: Vec<(&str, &str, i64)> = returning.collect();
            let oldest = oldest_of_these!(returning, of_each, stored(limit));
            let of_returning: Vec<(i64, Tried<PendingDelivery>)> = oldest.load(conn).await?;
            rows.extend(of_returning);
            rows.sort_by_key(|(queued_at, _)| *queued_at);
        }
        let are_more = rows.len() >= limit;
        let rows = found.readable(rows);
        let queued = rows.iter().map(|(queued_at, delivery)| {
            let endpoint = key(&delivery.organization_id, &delivery.endpoint_id);
            (*queued_at, endpoint)
        });
        let suffices = others.end(look, queued, are_more);
        found.choose_of(rows);
        let is_read = quarantine.count(DELIVERIES) == held;
        if found.is_enough() || (is_read && suffices) {
            return Ok(());
        }
        from_start = is_read;
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

    /// Those of the rows that can be read.
    fn readable(&self, rows: Vec<(i64, Tried<PendingDelivery>)>) -> Vec<(i64, PendingDelivery)> {
        let readable = rows.into_iter().filter_map(|(queued_at, row)| {
            let delivery = row.or_aside(self.quarantine)?;
            let is_held = self
                .quarantine
                .holds(DELIVERIES, &delivery.organization_id, delivery.id);
            (!is_held).then_some((queued_at, delivery))
        });
        readable.collect()
    }

    fn choose_of(&mut self, rows: Vec<(i64, PendingDelivery)>) {
        for (_, delivery) in rows {
            self.choose(delivery);
        }
    }

    fn choose(&mut self, delivery: PendingDelivery) {
        let organization = &delivery.organization_id;
        let endpoint = (organization.clone(), delivery.endpoint_id.clone());
        if self.is_enough()
            || self.full.contains(&endpoint)
            || self
                .quarantine
                .holds(ENDPOINTS, organization, &delivery.endpoint_id)
            || !self.seen.insert((organization.clone(), delivery.id))
        {
            return;
        }
        let share = self.shares.entry(endpoint.clone()).or_default();
        *share += 1;
        if *share >= self.per_endpoint {
            self.full.insert(endpoint);
        }
        self.chosen.push(delivery);
    }
}
