//! Queueing the deliveries of events, in the transaction of the command that causes them.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};

use bidloop_domain::model::{
    DeliveryId, DeliveryState, EndpointId, NewEvent, Timestamp, WebhookEndpoint, receivers,
};

use bidloop_domain::port::{ClaimedDelivery, DRY_RUN_BACKLOG, LeaseOwner, SendAtOnce};
use diesel::dsl::sql;
use diesel::sql_types::{Bool, Text};

use super::deliveries::claim::Context;
use super::deliveries::{data_of, delivery_of, is_pending};
use super::prelude::*;
use crate::records::Delivery;
use crate::sealing::Sealer;

/// An endpoint, with what is needed of one that cannot be read as a whole.
type EndpointRow = (
    String,
    Attempt<Col<EndpointId>>,
    Attempt<Option<String>>,
    Tried<WebhookEndpoint>,
);

/// An event, and when it happened.
pub(super) type TimedEvent<'e> = (&'e NewEvent, Timestamp);

/// Queues one delivery to each receiver of an event (decision C7) and returns how many are new. An event that was
/// queued before is not queued again: its deliveries have the same ids.
pub(super) async fn queue_events(
    conn: &mut Conn,
    quarantine: &Quarantine,
    events: &[TimedEvent<'_>],
) -> Result<u64, Failure> {
    let endpoints = Endpoints::load(conn, quarantine, events).await?;
    let queued = batch(&endpoints.receivers(events), None)
        .run(conn, Write::InsertNew)
        .await?;
    Ok(queued as u64)
}

/// The same, with deliveries that are marked as sending from the start: those for which `by` has a place. Returns them, too.
pub(super) async fn queue_and_claim(
    conn: &mut Conn,
    quarantine: &Quarantine,
    sealer: &Sealer,
    events: &[TimedEvent<'_>],
    by: &SendAtOnce,
) -> Result<(u64, Vec<ClaimedDelivery>), Failure> {
    let endpoints = Endpoints::load(conn, quarantine, events).await?;
    let mut new = endpoints.receivers(events);
    for delivery in &mut new {
        delivery.is_sent_at_once =
            delivery.is_readable && by.places.take(&delivery.event.organization_id, delivery.endpoint);
    }
    let now = by.clock.now();
    let mark = Some((&by.owner, now.plus(by.lasts)));
    let stored: Vec<String> =
        write_returning(conn, batch(&new, mark), Write::InsertNew, deliveries::id).await?;
    let queued = stored.len() as u64;
    let stored: HashSet<String> = stored.into_iter().collect();
    let marked = new.iter().filter(|delivery| delivery.is_sent_at_once);
    let marked = marked.map(|new| delivery_of(new.event, new.endpoint, new.at));
    let marked: Vec<Delivery> = marked
        .filter(|delivery| stored.contains(&delivery.id.to_string()))
        .collect();
    if marked.is_empty() {
        return Ok((queued, Vec::new()));
    }
    let context = Context::load(conn, quarantine, sealer, &marked).await?;
    let claimed = context
        .settle(conn, quarantine, &marked, HashSet::new(), now)
        .await?;
    Ok((queued, claimed))
}

/// Queues the deliveries of a dry run, unless one of the receivers has enough of them. Returns whether it did.
pub(super) async fn queue_dry_run(
    conn: &mut Conn,
    quarantine: &Quarantine,
    event: &NewEvent,
    at: Timestamp,
) -> Result<bool, Failure> {
    let events = [(event, at)];
    let endpoints = Endpoints::load(conn, quarantine, &events).await?;
    let receivers = endpoints.receivers(&events);
    for NewDelivery { event, endpoint, .. } in &receivers {
        // The entry of the index on pending deliveries that lies so many behind the endpoint's first. In the order of
        // that index, so that no other way to it seems shorter to PostgreSQL.
        let from_first = sql::<Bool>("(organization_id, endpoint_id) >= (")
            .bind::<Text, _>(event.organization_id.as_str())
            .sql(", ")
            .bind::<Text, _>(endpoint.as_str())
            .sql(")");
        let beyond: Option<(String, String)> = deliveries::table
            .filter(is_pending())
            .filter(from_first)
            .order((
                deliveries::organization_id,
                deliveries::endpoint_id,
                deliveries::created_at,
            ))
            .offset(i64::from(DRY_RUN_BACKLOG))
            .select((deliveries::organization_id, deliveries::endpoint_id))
            .first(conn)
            .await
            .optional()?;
        if beyond.is_some_and(|(organization, of)| {
            organization == event.organization_id.as_str() && of == endpoint.as_str()
        }) {
            return Ok(false);
        }
    }
    batch(&receivers, None).run(conn, Write::InsertNew).await?;
    Ok(true)
}

/// A delivery that is to be stored.
struct NewDelivery<'e> {
    event: &'e NewEvent,
    at: Timestamp,
    endpoint: &'e EndpointId,
    /// Whether the endpoint can be read.
    is_readable: bool,
    /// Whether it is marked as sending from the start.
    is_sent_at_once: bool,
}

impl NewDelivery<'_> {
    fn id(&self) -> DeliveryId {
        DeliveryId::derive(self.event.id, &self.event.organization_id, self.endpoint)
    }
}

/// The endpoints of the events' organizations.
///
/// An endpoint that cannot be read may be a receiver. Its delivery waits until it can be read; then it is sent if the
/// endpoint has subscribed to the event, so that no event is lost meanwhile.
struct Endpoints {
    readable: HashMap<String, Vec<WebhookEndpoint>>,
    /// Their ids and campaigns.
    unreadable: HashMap<String, Vec<(EndpointId, Option<String>)>>,
}

impl Endpoints {
    async fn load(
        conn: &mut Conn,
        quarantine: &Quarantine,
        events: &[TimedEvent<'_>],
    ) -> Result<Self, Failure> {
        let organizations: BTreeSet<&str> = events
            .iter()
            .map(|(event, _)| event.organization_id.as_str())
            .collect();
        let organizations: Vec<&str> = organizations.into_iter().collect();
        let rows: Vec<EndpointRow> = webhook_endpoints::table
            .filter(one_of_many!(webhook_endpoints::organization_id, organizations))
            .select((
                webhook_endpoints::organization_id,
                webhook_endpoints::id,
                webhook_endpoints::campaign_id,
                Tried::<WebhookEndpoint>::as_select(),
            ))
            .load(conn)
            .await?;
        let (mut readable, mut unreadable): (HashMap<_, Vec<_>>, HashMap<_, Vec<_>>) = Default::default();
        for (organization, Attempt(id), Attempt(scope), endpoint) in rows {
            if let Some(endpoint) = endpoint.or_aside(quarantine) {
                readable.entry(organization).or_default().push(endpoint);
            } else if let (Ok(Col(id)), Ok(scope)) = (id, scope) {
                unreadable.entry(organization).or_default().push((id, scope));
            }
        }
        Ok(Self { readable, unreadable })
    }

    /// Each event with each of its receivers.
    fn receivers<'a>(&'a self, events: &[TimedEvent<'a>]) -> Vec<NewDelivery<'a>> {
        let mut receivers_of: HashMap<_, Vec<&WebhookEndpoint>> = HashMap::new();
        let mut all = Vec::new();
        for &(event, at) in events {
            let organization = event.organization_id.as_str();
            let scope = (&event.organization_id, &event.campaign_id, event.payload.kind());
            let receivers = receivers_of.entry(scope).or_insert_with(|| {
                let known = self.readable.get(organization).map_or(&[][..], Vec::as_slice);
                receivers(known, &event.campaign_id, event.payload.kind())
            });
            let to = |endpoint, is_readable| NewDelivery {
                event,
                at,
                endpoint,
                is_readable,
                is_sent_at_once: false,
            };
            all.extend(receivers.iter().map(|endpoint| to(&endpoint.id, true)));
            let waiting = self.unreadable.get(organization).into_iter().flatten();
            let waiting = waiting.filter(|(_, scope)| {
                scope
                    .as_ref()
                    .is_none_or(|scope| scope == event.campaign_id.as_str())
            });
            all.extend(waiting.map(|(id, _)| to(id, false)));
        }
        all
    }
}

/// The deliveries' rows. `mark` says whose those that are sent at once are, and until when.
fn batch<'n>(
    new: &'n [NewDelivery<'n>],
    mark: Option<(&'n LeaseOwner, Timestamp)>,
) -> Batch<'n, NewDelivery<'n>> {
    let mark_of = move |delivery: &NewDelivery<'_>| mark.filter(|_| delivery.is_sent_at_once);
    Batch::of("deliveries", new)
        .with(deliveries::organization_id, |new| {
            new.event.organization_id.as_str()
        })
        .with(deliveries::id, |new| new.id().to_string())
        .with(deliveries::endpoint_id, |new| new.endpoint.as_str())
        .with(deliveries::campaign_id, |new| new.event.campaign_id.as_str())
        .with(deliveries::lead_id, |new| new.event.lead_id.as_str())
        .with(deliveries::event, |new| new.event.payload.kind().as_str())
        .with(deliveries::data, |new| data_of(&new.event.payload))
        .with(deliveries::created_at, |new| new.at.as_millis())
        .with(deliveries::state, move |new| {
            let is_marked = mark_of(new).is_some();
            if is_marked {
                DeliveryState::Sending
            } else {
                DeliveryState::Pending
            }
            .as_str()
        })
        .with(deliveries::owner, move |new| {
            mark_of(new).map(|(owner, _)| owner.as_str())
        })
        .with(deliveries::owner_until, move |new| {
            mark_of(new).map(|(_, until)| until.as_millis())
        })
        .with(deliveries::trace_parent, |new| {
            new.event.trace_parent.map(|trace| Cow::from(trace.to_string()))
        })
}
