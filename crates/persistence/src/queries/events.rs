//! Queueing the deliveries of events, in the transaction of the command that causes them.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use bidloop_domain::model::{
    DeliveryId, DeliveryState, EndpointId, EventPayload, NewEvent, Timestamp, WebhookEndpoint, receivers,
};

use bidloop_domain::port::DRY_RUN_BACKLOG;
use diesel::dsl::sql;
use diesel::sql_types::{Bool, Text};

use super::deliveries::is_pending;
use super::prelude::*;

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
    insert_deliveries(conn, &endpoints.receivers(events)).await
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
    for ((event, _), endpoint) in &receivers {
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
    insert_deliveries(conn, &receivers).await?;
    Ok(true)
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
    fn receivers<'a>(&'a self, events: &[TimedEvent<'a>]) -> Vec<(TimedEvent<'a>, &'a EndpointId)> {
        let mut receivers_of: HashMap<_, Vec<&WebhookEndpoint>> = HashMap::new();
        let mut all = Vec::new();
        for &(event, at) in events {
            let organization = event.organization_id.as_str();
            let scope = (&event.organization_id, &event.campaign_id, event.payload.kind());
            let receivers = receivers_of.entry(scope).or_insert_with(|| {
                let known = self.readable.get(organization).map_or(&[][..], Vec::as_slice);
                receivers(known, &event.campaign_id, event.payload.kind())
            });
            all.extend(receivers.iter().map(|endpoint| ((event, at), &endpoint.id)));
            let waiting = self.unreadable.get(organization).into_iter().flatten();
            let waiting = waiting.filter(|(_, scope)| {
                scope
                    .as_ref()
                    .is_none_or(|scope| scope == event.campaign_id.as_str())
            });
            all.extend(waiting.map(|(id, _)| ((event, at), id)));
        }
        all
    }
}

async fn insert_deliveries(conn: &mut Conn, new: &[(TimedEvent<'_>, &EndpointId)]) -> Result<u64, Failure> {
    let queued = Batch::of("deliveries", new)
        .with(deliveries::organization_id, |((event, _), _)| {
            event.organization_id.as_str()
        })
        .with(deliveries::id, |((event, _), endpoint)| {
            DeliveryId::derive(event.id, &event.organization_id, endpoint).to_string()
        })
        .with(deliveries::endpoint_id, |(_, endpoint)| endpoint.as_str())
        .with(deliveries::campaign_id, |((event, _), _)| {
            event.campaign_id.as_str()
        })
        .with(deliveries::lead_id, |((event, _), _)| event.lead_id.as_str())
        .with(deliveries::event, |((event, _), _)| event.payload.kind().as_str())
        .with(deliveries::data, |((event, _), _)| match &event.payload {
            EventPayload::JobNew => None,
            EventPayload::BidComplete { data, .. } => Some(data.as_str()),
        })
        .with(deliveries::created_at, |((_, at), _)| at.as_millis())
        .with(deliveries::state, |_| DeliveryState::Pending.as_str())
        .with(deliveries::trace_parent, |((event, _), _)| {
            event.trace_parent.map(|trace| Cow::from(trace.to_string()))
        })
        .run(conn, Write::InsertNew)
        .await?;
    Ok(queued as u64)
}
