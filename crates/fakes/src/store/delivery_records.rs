//! [`DeliveryRecords`] in memory.

use async_trait::async_trait;
use bidloop_domain::model::{ActivityId, EndpointId, OrganizationId, WebhookEndpoint};
use bidloop_domain::port::{DeliveryRecords, RecordedDelivery, StoreError};

use super::{Delivery, MemoryStore, length};

#[async_trait]
impl DeliveryRecords for MemoryStore {
    async fn endpoint(
        &self,
        organization: &OrganizationId,
        endpoint: &EndpointId,
    ) -> Result<Option<WebhookEndpoint>, StoreError> {
        let state = self.state()?;
        let organization = state.organizations.get(organization);
        let known = organization.and_then(|organization| organization.webhooks.get(endpoint));
        Ok(known.map(|webhook| webhook.endpoint.clone()))
    }

    async fn of_endpoint(
        &self,
        organization: &OrganizationId,
        endpoint: &EndpointId,
        limit: u32,
    ) -> Result<Vec<RecordedDelivery>, StoreError> {
        let state = self.state()?;
        let of_endpoint = |delivery: &&Delivery| {
            &delivery.organization_id == organization && &delivery.endpoint_id == endpoint
        };
        let mut deliveries: Vec<&Delivery> = state.deliveries.iter().filter(of_endpoint).collect();
        deliveries.sort_by_key(|delivery| std::cmp::Reverse((delivery.created_at, delivery.id.to_string())));
        deliveries.truncate(length(limit));
        Ok(deliveries
            .into_iter()
            .map(|delivery| {
                let lead = state.leads.get(&delivery.lead_id);
                let campaign = state.campaign(organization, &delivery.campaign_id);
                let end = ActivityId::of_delivery(delivery.id);
                RecordedDelivery {
                    id: delivery.id,
                    campaign_id: delivery.campaign_id.clone(),
                    campaign_name: campaign.map(|campaign| campaign.record.name.clone()),
                    lead_id: delivery.lead_id.clone(),
                    lead: lead.and_then(|entry| state.lead_with_job(entry).ok()),
                    payload: delivery.payload.clone(),
                    is_test: delivery.is_test,
                    state: delivery.state,
                    created_at: delivery.created_at,
                    ended_at: delivery.ended_at,
                    end: state.activities.iter().find(|entry| entry.id == end).cloned(),
                }
            })
            .collect())
    }
}
