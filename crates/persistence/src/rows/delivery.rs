//! Webhook deliveries as they are queued.

use bidloop_domain::model::{DeliveryId, DeliveryState, EndpointId, EventPayload, NewEvent, Timestamp};
use diesel::prelude::*;

use crate::schema::deliveries;

/// The columns of `deliveries` that a new one has.
#[derive(Debug, Clone, Insertable)]
#[diesel(table_name = deliveries)]
pub(crate) struct NewDeliveryRow {
    pub(crate) organization_id: String,
    pub(crate) id: String,
    pub(crate) endpoint_id: String,
    pub(crate) campaign_id: String,
    pub(crate) lead_id: String,
    pub(crate) event: &'static str,
    pub(crate) data: Option<String>,
    pub(crate) created_at: i64,
    pub(crate) state: &'static str,
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
                EventPayload::BidComplete { data, .. } => Some(data.clone()),
            },
            created_at: at.as_millis(),
            state: DeliveryState::Pending.as_str(),
        }
    }
}
