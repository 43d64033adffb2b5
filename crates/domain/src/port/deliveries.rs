//! Webhook deliveries in the store.

use async_trait::async_trait;

use super::StoreError;
use crate::model::{
    Activity, CampaignId, DeliveryId, DeliveryTarget, EndpointId, EventPayload, LeadId, LeadWithJob,
    OrganizationId, Timestamp,
};

/// A delivery not yet tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingDelivery {
    /// Whose.
    pub organization_id: OrganizationId,
    /// Its id.
    pub id: DeliveryId,
    /// To which endpoint.
    pub endpoint_id: EndpointId,
}

/// A delivery that this process has marked as sending and must now send.
#[derive(Debug, Clone)]
pub struct BegunDelivery {
    /// Whose.
    pub organization_id: OrganizationId,
    /// Its id.
    pub id: DeliveryId,
    /// The lead's campaign.
    pub campaign_id: CampaignId,
    /// The lead.
    pub lead_id: LeadId,
    /// The campaign's name as it is now; `None` if the campaign was removed.
    pub campaign_name: Option<String>,
    /// Where to, and what signs it.
    pub target: DeliveryTarget,
    /// What happened.
    pub payload: EventPayload,
    /// When the event happened.
    pub created_at: Timestamp,
    /// The lead and its job as they are now, for a `job.new`.
    pub lead: Option<LeadWithJob>,
}

/// How a delivery ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryEnd {
    /// Whose.
    pub organization_id: OrganizationId,
    /// Which.
    pub id: DeliveryId,
    /// Whether it was answered 200.
    pub delivered: bool,
    /// `interrupted`, `endpoint_removed`, or the code of a
    /// [`WebhookFailureKind`](super::WebhookFailureKind).
    pub reason: Option<String>,
    /// The status answered.
    pub response_status: Option<u16>,
    /// Milliseconds.
    pub duration_ms: Option<u64>,
    /// First 2 KiB of the answer.
    pub response_body: String,
}

/// Deliveries, each sent at most once (decision C5).
#[async_trait]
pub trait DeliveryStore: Send + Sync + std::fmt::Debug {
    /// Up to `limit` pending deliveries, oldest first, at most `per_endpoint` to one endpoint and none to the
    /// `busy` ones. A hint: [`begin`](Self::begin) decides.
    async fn pending(
        &self,
        busy: &[(OrganizationId, EndpointId)],
        per_endpoint: u32,
        limit: u32,
    ) -> Result<Vec<PendingDelivery>, StoreError>;

    /// Marks those of `deliveries` that are still pending as sending, durably, by `owner` until `deadline`, and
    /// returns them. To be called just before their connections are opened. One whose endpoint was removed or
    /// is inactive ends as failed with the reason `endpoint_removed`, its Activity included, and is not
    /// returned.
    async fn begin(
        &self,
        deliveries: &[PendingDelivery],
        owner: &str,
        now: Timestamp,
        deadline: Timestamp,
    ) -> Result<Vec<BegunDelivery>, StoreError>;

    /// Records the end of a delivery that `owner` began, with its Activity; false (and nothing recorded) if it
    /// is not `owner`'s any more.
    async fn finish(&self, end: &DeliveryEnd, owner: &str, activity: &Activity) -> Result<bool, StoreError>;

    /// Fails, with the reason `interrupted` and an Activity entry each, what is marked as sending beyond its
    /// deadline; returns how many.
    async fn interrupt_overdue(&self, now: Timestamp) -> Result<u64, StoreError>;

    /// How many are pending.
    async fn pending_count(&self) -> Result<u64, StoreError>;
}
