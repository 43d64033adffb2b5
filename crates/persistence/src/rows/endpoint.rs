//! Webhook endpoints, without their secrets.

use bidloop_domain::model::{CampaignId, EndpointId, EventKind, Timestamp, WebhookEndpoint};
use diesel::prelude::*;

use crate::columns::{FreeText, Json, read};
use crate::failure::Failure;
use crate::schema::webhook_endpoints;

/// Some columns of `webhook_endpoints`.
#[derive(Debug, Clone, Insertable, AsChangeset, Queryable, Selectable)]
#[diesel(table_name = webhook_endpoints, primary_key(organization_id, id), treat_none_as_null = true)]
pub(crate) struct EndpointRow {
    id: String,
    campaign_id: Option<String>,
    url: FreeText,
    events: Json<Vec<EventKind>>,
    active: bool,
    created_at: i64,
}

impl EndpointRow {
    pub(crate) fn new(endpoint: &WebhookEndpoint) -> Self {
        Self {
            id: endpoint.id.to_string(),
            campaign_id: endpoint.campaign_id.as_ref().map(ToString::to_string),
            url: FreeText::from(endpoint.url.as_str()),
            events: Json(endpoint.events.clone()),
            active: endpoint.active,
            created_at: endpoint.created_at.as_millis(),
        }
    }

    pub(crate) fn into_endpoint(self) -> Result<WebhookEndpoint, Failure> {
        Ok(WebhookEndpoint {
            id: read("webhook_endpoints.id", &self.id, EndpointId::parse(&self.id))?,
            campaign_id: match &self.campaign_id {
                Some(id) => Some(read("webhook_endpoints.campaign_id", id, CampaignId::parse(id))?),
                None => None,
            },
            url: self.url.0,
            events: self.events.0,
            active: self.active,
            created_at: Timestamp::from_millis(self.created_at),
        })
    }
}
