//! Webhook deliveries as they are queued.

use bidloop_domain::model::{DeliveryId, DeliveryState, EndpointId, EventPayload, NewEvent, Timestamp};
use diesel::prelude::*;

use crate::schema::deliveries;

/// The columns of `deliveries` that a new one has.
#[derive(Debug, Clone, Insertable)]
#[diesel(table_name = deliveries)]
pub(crate) struct NewDeliveryRow {
    organization_id: String,
    id: String,
    endpoint_id: String,
    campaign_id: String,
    lead_id: String,
    event: &'static str,
    data: Option<String>,
    created_at: i64,
    state: &'static str,
}

impl NewDeliveryRow {
    pub(crate) fn new(event: &NewEvent, endpoint: &EndpointId, at: Timestamp) -> Self {
        Self {
            organization_id: event.organization_id.to_string(),
            id: DeliveryId::derive(event.id, &event.organization_id, endpoint).to_string(),
            endpoint_id: endpoint.to_string(),
            campaign_id: event.campaign_id.to_string(),
            lead_id: event.lead_id.to_string(),
            event: event.payload.kind().as_str(),
            data: match &event.payload {
                EventPayload::JobNew => None,
                EventPayload::BidComplete(data) => Some(data.clone()),
            },
            created_at: at.as_millis(),
            state: DeliveryState::Pending.as_str(),
        }
    }
}
