//! Queueing the deliveries of events, in the transaction of the command that causes them.

use std::collections::{BTreeSet, HashMap};

use bidloop_domain::model::{
    DeliveryId, DeliveryState, EndpointId, EventPayload, NewEvent, Timestamp, WebhookEndpoint, receivers,
};

use super::prelude::*;

/// An endpoint, with what is needed of one that cannot be read as a whole.
type EndpointRow = (
    String,
    Attempt<Col<EndpointId>>,
    Attempt<Option<String>>,
    Tried<WebhookEndpoint>,
);

/// Queues one delivery to each receiver of an event (decision C7) and returns how many are new. An event that was
/// queued before is not queued again: its deliveries have the same ids.
///
/// An endpoint that cannot be read may be a receiver. Its delivery waits until it can be read; then it is sent if the
/// endpoint has subscribed to the event, so that no event is lost meanwhile.
pub(super) async fn queue_events(
    conn: &mut Conn,
    quarantine: &Quarantine,
    events: &[NewEvent],
    at: Timestamp,
) -> Result<u64, Failure> {
    let organizations: BTreeSet<&str> = events
        .iter()
        .map(|event| event.organization_id.as_str())
        .collect();
    let organizations: Vec<&str> = organizations.into_iter().collect();
    let rows: Vec<EndpointRow> = load_in_parts!(conn, organizations, |some| {
        webhook_endpoints::table
            .filter(webhook_endpoints::organization_id.eq_any(some))
            .select((
                webhook_endpoints::organization_id,
                webhook_endpoints::id,
                webhook_endpoints::campaign_id,
                Tried::<WebhookEndpoint>::as_select(),
            ))
    });
    let mut endpoints: HashMap<String, Vec<WebhookEndpoint>> = HashMap::new();
    let mut unreadable: HashMap<String, Vec<(EndpointId, Option<String>)>> = HashMap::new();
    for (organization, Attempt(id), Attempt(scope), endpoint) in rows {
        if let Some(endpoint) = endpoint.or_aside(quarantine) {
            endpoints.entry(organization).or_default().push(endpoint);
        } else if let (Ok(Col(id)), Ok(scope)) = (id, scope) {
            unreadable.entry(organization).or_default().push((id, scope));
        }
    }
    let mut receivers_of: HashMap<_, Vec<&WebhookEndpoint>> = HashMap::new();
    let mut new = Vec::new();
    for event in events {
        let scope = (&event.organization_id, &event.campaign_id, event.payload.kind());
        let receivers = receivers_of.entry(scope).or_insert_with(|| {
            let known = endpoints
                .get(event.organization_id.as_str())
                .map_or(&[][..], Vec::as_slice);
            receivers(known, &event.campaign_id, event.payload.kind())
        });
        new.extend(receivers.iter().map(|endpoint| (event, &endpoint.id)));
        let waiting = unreadable
            .get(event.organization_id.as_str())
            .into_iter()
            .flatten();
        let waiting = waiting.filter(|(_, scope)| {
            scope
                .as_ref()
                .is_none_or(|scope| scope == event.campaign_id.as_str())
        });
        new.extend(waiting.map(|(id, _)| (event, id)));
    }
    let queued = Batch::of("deliveries", &new)
        .with(deliveries::organization_id, |(event, _)| {
            event.organization_id.as_str()
        })
        .with(deliveries::id, |(event, endpoint)| {
            DeliveryId::derive(event.id, &event.organization_id, endpoint).to_string()
        })
        .with(deliveries::endpoint_id, |(_, endpoint)| endpoint.as_str())
        .with(deliveries::campaign_id, |(event, _)| event.campaign_id.as_str())
        .with(deliveries::lead_id, |(event, _)| event.lead_id.as_str())
        .with(deliveries::event, |(event, _)| event.payload.kind().as_str())
        .with(deliveries::data, |(event, _)| match &event.payload {
            EventPayload::JobNew => None,
            EventPayload::BidComplete { data, .. } => Some(data.as_str()),
        })
        .with(deliveries::created_at, |_| at.as_millis())
        .with(deliveries::state, |_| DeliveryState::Pending.as_str())
        .run(conn, Write::InsertNew)
        .await?;
    Ok(queued as u64)
}
