//! Queueing the deliveries of events, in the transaction of the command that causes them.

use std::collections::{BTreeSet, HashMap};

use bidloop_domain::model::{
    DeliveryId, DeliveryState, EventPayload, NewEvent, Timestamp, WebhookEndpoint, receivers,
};

use super::prelude::*;

/// Queues one delivery to each receiver of an event (decision C7) and returns how many are new. An event that was
/// queued before is not queued again: its deliveries have the same ids.
pub(super) async fn queue_events(
    conn: &mut Conn,
    events: &[NewEvent],
    at: Timestamp,
) -> Result<u64, Failure> {
    let organizations: BTreeSet<&str> = events
        .iter()
        .map(|event| event.organization_id.as_str())
        .collect();
    let organizations: Vec<&str> = organizations.into_iter().collect();
    let rows: Vec<(String, Row<WebhookEndpoint>)> = load_in_parts!(conn, organizations, |some| {
        webhook_endpoints::table
            .filter(webhook_endpoints::organization_id.eq_any(some))
            .select((
                webhook_endpoints::organization_id,
                Row::<WebhookEndpoint>::as_select(),
            ))
    });
    let mut endpoints: HashMap<String, Vec<WebhookEndpoint>> = HashMap::new();
    for (organization, Row(endpoint)) in rows {
        endpoints.entry(organization).or_default().push(endpoint);
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
