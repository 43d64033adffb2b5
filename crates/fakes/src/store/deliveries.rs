//! [`DeliveryStore`] in memory.

use std::collections::HashMap;

use async_trait::async_trait;
use bidloop_domain::model::{
    Activity, ActivityId, ActivityKind, Actor, DeliveryState, DeliveryTarget, EndpointId, EventKind,
    OrganizationId, Timestamp,
};
use bidloop_domain::port::{BegunDelivery, DeliveryEnd, DeliveryStore, PendingDelivery, StoreError};
use serde_json::json;

use super::{Delivery, Lease, MemoryStore, State, count, length};

#[async_trait]
impl DeliveryStore for MemoryStore {
    async fn pending(
        &self,
        busy: &[(OrganizationId, EndpointId)],
        per_endpoint: u32,
        limit: u32,
    ) -> Result<Vec<PendingDelivery>, StoreError> {
        let state = self.state()?;
        let mut waiting: Vec<&Delivery> = state
            .deliveries
            .iter()
            .filter(|delivery| delivery.state == DeliveryState::Pending)
            .collect();
        waiting.sort_by_key(|delivery| delivery.created_at);
        let mut taken: HashMap<(&OrganizationId, &EndpointId), u32> = HashMap::new();
        Ok(waiting
            .into_iter()
            .filter(|delivery| {
                !busy.iter().any(|(organization, endpoint)| {
                    organization == &delivery.organization_id && endpoint == &delivery.endpoint_id
                })
            })
            .filter(|delivery| {
                let taken = taken
                    .entry((&delivery.organization_id, &delivery.endpoint_id))
                    .or_default();
                *taken += 1;
                *taken <= per_endpoint
            })
            .take(length(limit))
            .map(|delivery| PendingDelivery {
                organization_id: delivery.organization_id.clone(),
                id: delivery.id,
                endpoint_id: delivery.endpoint_id.clone(),
            })
            .collect())
    }

    async fn begin(
        &self,
        deliveries: &[PendingDelivery],
        owner: &str,
        now: Timestamp,
        deadline: Timestamp,
    ) -> Result<Vec<BegunDelivery>, StoreError> {
        let mut state = self.state()?;
        let mut begun = Vec::new();
        for asked in deliveries {
            let Some(place) = state.pending_place(asked) else {
                continue;
            };
            match state.target(place, now) {
                Some(target) => {
                    begun.push(state.begun(place, target)?);
                    let delivery = &mut state.deliveries[place];
                    delivery.state = DeliveryState::Sending;
                    delivery.sender = Some(Lease::new(owner, deadline));
                }
                None => state.fail(
                    place,
                    "endpoint_removed",
                    "The endpoint was removed or switched off.",
                    now,
                ),
            }
        }
        Ok(begun)
    }

    async fn finish(&self, end: &DeliveryEnd, owner: &str, activity: &Activity) -> Result<bool, StoreError> {
        let mut state = self.state()?;
        let Some(place) = state.delivery_index.get(&end.id).copied() else {
            return Ok(false);
        };
        let delivery = &mut state.deliveries[place];
        let is_owners = delivery.organization_id == end.organization_id
            && delivery
                .sender
                .as_ref()
                .is_some_and(|sender| sender.owner == owner);
        if !is_owners {
            return Ok(false);
        }
        delivery.state = if end.delivered {
            DeliveryState::Delivered
        } else {
            DeliveryState::Failed
        };
        delivery.sender = None;
        state.record_activity(activity);
        Ok(true)
    }

    async fn interrupt_overdue(&self, now: Timestamp) -> Result<u64, StoreError> {
        let mut state = self.state()?;
        let overdue: Vec<usize> = state
            .deliveries
            .iter()
            .enumerate()
            .filter(|(_, delivery)| delivery.sender.as_ref().is_some_and(|sender| sender.until < now))
            .map(|(place, _)| place)
            .collect();
        for place in &overdue {
            state.fail(
                *place,
                "interrupted",
                "The service stopped while it was sending.",
                now,
            );
        }
        Ok(count(overdue.len()))
    }

    async fn pending_count(&self) -> Result<u64, StoreError> {
        let state = self.state()?;
        let pending = state
            .deliveries
            .iter()
            .filter(|delivery| delivery.state == DeliveryState::Pending);
        Ok(count(pending.count()))
    }
}

impl State {
    fn pending_place(&self, asked: &PendingDelivery) -> Option<usize> {
        let place = *self.delivery_index.get(&asked.id)?;
        let delivery = &self.deliveries[place];
        (delivery.organization_id == asked.organization_id && delivery.state == DeliveryState::Pending)
            .then_some(place)
    }

    /// Where the delivery goes; `None` if its endpoint gets nothing any more.
    fn target(&self, place: usize, now: Timestamp) -> Option<DeliveryTarget> {
        let delivery = &self.deliveries[place];
        let webhook = self
            .organizations
            .get(&delivery.organization_id)?
            .webhooks
            .get(&delivery.endpoint_id)?;
        if !webhook.endpoint.active {
            return None;
        }
        let previous = webhook.previous_secret.iter().filter(|(_, until)| now < *until);
        Some(DeliveryTarget {
            endpoint_id: delivery.endpoint_id.clone(),
            url: webhook.endpoint.url.clone(),
            secrets: std::iter::once(&webhook.secret)
                .chain(previous.map(|(secret, _)| secret))
                .cloned()
                .collect(),
        })
    }

    fn begun(&self, place: usize, target: DeliveryTarget) -> Result<BegunDelivery, StoreError> {
        let delivery = &self.deliveries[place];
        let campaign = self.campaign(&delivery.organization_id, &delivery.campaign_id);
        let lead = match delivery.payload.kind() {
            EventKind::JobNew => self.leads.get(&delivery.lead_id),
            EventKind::BidComplete => None,
        };
        Ok(BegunDelivery {
            organization_id: delivery.organization_id.clone(),
            id: delivery.id,
            campaign_id: delivery.campaign_id.clone(),
            lead_id: delivery.lead_id.clone(),
            campaign_name: campaign.map(|campaign| campaign.record.name.clone()),
            target,
            payload: delivery.payload.clone(),
            created_at: delivery.created_at,
            lead: lead.map(|entry| self.lead_with_job(entry)).transpose()?,
        })
    }

    /// Fails a delivery that was not answered, with its Activity.
    fn fail(&mut self, place: usize, reason: &str, message: &str, at: Timestamp) {
        let delivery = &mut self.deliveries[place];
        delivery.state = DeliveryState::Failed;
        delivery.sender = None;
        let details = json!({
            "deliveryId": delivery.id,
            "event": delivery.payload.kind(),
            "endpointId": delivery.endpoint_id,
            "url": delivery.url,
            "responseStatus": null,
            "durationMs": null,
            "responseBody": "",
            "reason": reason,
        });
        let activity = Activity {
            id: ActivityId::of_delivery(delivery.id),
            at,
            organization_id: delivery.organization_id.clone(),
            campaign_id: Some(delivery.campaign_id.clone()),
            lead_id: Some(delivery.lead_id.clone()),
            kind: ActivityKind::Delivery,
            actor: Actor::service(),
            outcome: "failed".to_owned(),
            http_status: None,
            dry_run: delivery.payload.is_dry_run(),
            message: message.to_owned(),
            details: details.as_object().cloned().unwrap_or_default(),
        };
        self.record_activity(&activity);
    }
}
