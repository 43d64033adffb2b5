//! What is stored of an endpoint's deliveries.

use async_trait::async_trait;

use super::StoreError;
use crate::model::{
    Activity, CampaignId, DeliveryId, DeliveryState, EndpointId, EventPayload, LeadId, LeadWithJob,
    OrganizationId, Timestamp, WebhookEndpoint,
};

/// A delivery, ended or not.
#[derive(Debug, Clone)]
pub struct RecordedDelivery {
    /// The delivery.
    pub id: DeliveryId,
    /// The lead's campaign.
    pub campaign_id: CampaignId,
    /// The campaign's name as it is now; `None` if the campaign was removed.
    pub campaign_name: Option<String>,
    /// The lead.
    pub lead_id: LeadId,
    /// The lead and its job as they are now, if they can be read.
    pub lead: Option<LeadWithJob>,
    /// What happened.
    pub payload: EventPayload,
    /// Where it stands.
    pub state: DeliveryState,
    /// When the event happened.
    pub created_at: Timestamp,
    /// When the delivery ended.
    pub ended_at: Option<Timestamp>,
    /// The end in the Activity record, as long as that keeps it.
    pub end: Option<Activity>,
    /// Whether a person tests the endpoint with it.
    pub is_test: bool,
}

/// Reads deliveries for people (decision C8).
#[async_trait]
pub trait DeliveryRecords: Send + Sync + std::fmt::Debug {
    /// The organization's endpoint; `None` if it has no such endpoint, or it cannot be read.
    async fn endpoint(
        &self,
        organization: &OrganizationId,
        endpoint: &EndpointId,
    ) -> Result<Option<WebhookEndpoint>, StoreError>;

    /// The last deliveries to the organization's endpoint, newest first. Those that cannot be read are left out.
    async fn of_endpoint(
        &self,
        organization: &OrganizationId,
        endpoint: &EndpointId,
        limit: u32,
    ) -> Result<Vec<RecordedDelivery>, StoreError>;
}
