//! Show deliveries: what an endpoint was sent last, and what it answered (decision C8). Tests:
//! `tests/use_case/show_deliveries.rs`.

use std::sync::Arc;

use super::deliver_webhooks::TEST_HEADER;
use super::webhook_body::WebhookBody;
use crate::model::{
    Activity, CampaignId, DeliveryId, DeliveryState, EndpointId, EventKind, JobPost, LeadId, Links, NewLead,
    OrganizationId, Timestamp,
};
use crate::port::{DeliveryRecords, RecordedDelivery, StoreError};

/// Deliveries that are shown of an endpoint.
pub const SHOWN_DELIVERIES: u32 = 20;

/// A delivery with its request and its answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ShownDelivery {
    /// The delivery, which is its `webhook-id` too.
    pub id: DeliveryId,
    /// The event.
    pub event: EventKind,
    /// The lead's campaign.
    pub campaign_id: CampaignId,
    /// The lead.
    pub lead_id: LeadId,
    /// The job's title, if it is known.
    pub title: Option<String>,
    /// Where the delivery stands.
    pub state: DeliveryState,
    /// When the event happened.
    pub created_at: Timestamp,
    /// When the delivery ended.
    pub ended_at: Option<Timestamp>,
    /// The names and values of the headers that are the same at every delivery or name this one. The signature is not
    /// among them.
    pub headers: Vec<(&'static str, String)>,
    /// The body. That of a `job.new` is written from the lead and the job as they are now; of a `bid_complete` it is what
    /// was sent. `None` if it cannot be written any more.
    pub body: Option<String>,
    /// The end as the Activity record has it: status, duration, answer and reason are in its details.
    pub end: Option<Activity>,
    /// Whether a person tested the endpoint with it (decision E6).
    pub is_test: bool,
}

/// Shows an endpoint's last deliveries.
#[derive(Debug)]
pub struct ShowDeliveries {
    /// What endpoints were sent.
    pub deliveries: Arc<dyn DeliveryRecords>,
    /// Addresses of operations and jobs.
    pub links: Links,
}

impl ShowDeliveries {
    /// The last [`SHOWN_DELIVERIES`], newest first; none for an endpoint that the organization does not have.
    pub async fn execute(
        &self,
        organization: &OrganizationId,
        endpoint: &EndpointId,
    ) -> Result<Vec<ShownDelivery>, StoreError> {
        let recorded = self
            .deliveries
            .of_endpoint(organization, endpoint, SHOWN_DELIVERIES)
            .await?;
        Ok(recorded
            .into_iter()
            .map(|delivery| self.shown(delivery))
            .collect())
    }

    fn shown(&self, delivery: RecordedDelivery) -> ShownDelivery {
        let event = delivery.payload.kind();
        let post = delivery
            .lead
            .as_ref()
            .and_then(|lead| JobPost::parse(&lead.job_json).ok());
        let id = delivery.id.to_string();
        let mut headers = vec![
            ("content-type", "application/json".to_owned()),
            ("x-service-delivery-id", id.clone()),
            ("webhook-id", id),
        ];
        if delivery.is_test {
            headers.push((TEST_HEADER, "true".to_owned()));
        }
        ShownDelivery {
            headers,
            is_test: delivery.is_test,
            body: self.body(&delivery),
            title: post.map(|post| post.title),
            id: delivery.id,
            event,
            campaign_id: delivery.campaign_id,
            lead_id: delivery.lead_id,
            state: delivery.state,
            created_at: delivery.created_at,
            ended_at: delivery.ended_at,
            end: delivery.end,
        }
    }

    fn body(&self, delivery: &RecordedDelivery) -> Option<String> {
        let lead = delivery.lead.clone().and_then(|lead| NewLead::read(lead).ok());
        let body = WebhookBody {
            id: delivery.id,
            created_at: delivery.created_at,
            payload: &delivery.payload,
            lead: lead.as_ref(),
            campaign_name: delivery.campaign_name.as_deref(),
        };
        String::from_utf8(body.write(&self.links)?.into()).ok()
    }
}
