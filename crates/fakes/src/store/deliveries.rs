//! [`DeliveryStore`] in memory.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bidloop_domain::model::{
    Actor, Authorization, DeliveryId, DeliveryState, DeliveryTarget, EndpointId, EventKind, NewEvent,
    NewLead, OrganizationId, Tally, Timestamp,
};
use bidloop_domain::port::{
    BeginTry, ClaimedDelivery, Clock, DeliveryEnd, DeliveryFacts, DeliveryOutcome, DeliveryStore, LeaseOwner,
    MAX_TRIES, MAX_TRIGGERED, NewTry, PendingDelivery, SendAtOnce, StoreError, TRIES_WITHIN, TriedReceivers,
};

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

    async fn claim(
        &self,
        deliveries: &[PendingDelivery],
        owner: &LeaseOwner,
        clock: &Arc<dyn Clock>,
        lasts: Duration,
    ) -> Result<Vec<ClaimedDelivery>, StoreError> {
        let mut state = self.state()?;
        let now = clock.now();
        let mut claimed = Vec::new();
        for asked in deliveries {
            let Some(place) = state.pending_place(asked) else {
                continue;
            };
            match state.target(place, now) {
                Some(target) => {
                    claimed.push(state.claimed_delivery(place, target)?);
                    let delivery = &mut state.deliveries[place];
                    delivery.state = DeliveryState::Sending;
                    delivery.sender = Some(Lease::new(owner, now.plus(lasts)));
                }
                None => state.fail(place, &DeliveryOutcome::EndpointRemoved, now),
            }
        }
        Ok(claimed)
    }

    async fn begin_try(
        &self,
        authorization: &Authorization,
        wanted: NewTry<'_>,
        owner: &LeaseOwner,
        clock: &Arc<dyn Clock>,
        lasts: Duration,
    ) -> Result<BeginTry, StoreError> {
        let mut state = self.state()?;
        let now = clock.now();
        let NewTry { event, job, to, by } = wanted;
        let organization = &event.organization_id;
        if let Err(why) = state.active(authorization, organization, now) {
            return Ok(BeginTry::NotAuthorized(why));
        }
        let is_fresh = state.make_listed((organization, &event.campaign_id), &event.lead_id, job);
        let begun = state.begin_try(event, (to, by), owner, now, lasts);
        let has_begun = matches!(&begun, Ok(BeginTry::Begun(deliveries)) if !deliveries.is_empty());
        state.forget(&event.lead_id, is_fresh && !has_begun);
        begun
    }

    async fn finish(&self, end: &Arc<DeliveryEnd>, owner: &LeaseOwner) -> Result<bool, StoreError> {
        let mut state = self.state()?;
        let Some(place) = state.delivery_index.get(&end.delivery.id).copied() else {
            return Ok(false);
        };
        let delivery = &mut state.deliveries[place];
        let sender = delivery.sender.as_ref();
        if delivery.organization_id != end.delivery.organization_id
            || sender.is_none_or(|sender| sender.owner != *owner)
        {
            return Ok(false);
        }
        delivery.state = if end.outcome.is_delivered() {
            DeliveryState::Delivered
        } else {
            DeliveryState::Failed
        };
        delivery.sender = None;
        delivery.ended_at = Some(end.activity.at);
        state.record_activity(&end.activity);
        state.count_end(place, &end.outcome, end.activity.at);
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
            state.fail(*place, &DeliveryOutcome::Interrupted, now);
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
    fn begin_try(
        &mut self,
        event: &NewEvent,
        (to, by): (TriedReceivers<'_>, &Actor),
        owner: &LeaseOwner,
        now: Timestamp,
        lasts: Duration,
    ) -> Result<BeginTry, StoreError> {
        let organization = &event.organization_id;
        let lead = self.lead_of(organization, &event.lead_id);
        let Some(lead) = lead.filter(|entry| entry.lead.campaign_id == event.campaign_id) else {
            return Ok(BeginTry::LeadUnknown);
        };
        let status = lead.lead.status;
        if to == TriedReceivers::All && !status.is_open() {
            return Ok(BeginTry::LeadNotNew(status));
        }
        let endpoints = match to {
            TriedReceivers::All => {
                let mut all = self.receivers_of(event);
                all.sort();
                all
            }
            TriedReceivers::One(endpoint) if self.is_of_campaign(event, endpoint) => vec![endpoint.clone()],
            TriedReceivers::One(_) => return Ok(BeginTry::EndpointUnknown),
        };
        if endpoints.len() > MAX_TRIGGERED {
            return Ok(BeginTry::TooManyReceivers);
        }
        for endpoint in &endpoints {
            if let Some(again_at) = self.wait(organization, endpoint, now) {
                let endpoint = endpoint.clone();
                return Ok(BeginTry::TooManyTries { endpoint, again_at });
            }
        }
        let mut begun = Vec::with_capacity(endpoints.len());
        for endpoint in endpoints {
            let place = self.deliveries.len();
            let delivery = Delivery {
                organization_id: organization.clone(),
                id: DeliveryId::derive(event.id, organization, &endpoint),
                endpoint_id: endpoint.clone(),
                campaign_id: event.campaign_id.clone(),
                lead_id: event.lead_id.clone(),
                payload: event.payload.clone(),
                created_at: now,
                state: DeliveryState::Sending,
                ended_at: None,
                sender: Some(Lease::new(owner, now.plus(lasts))),
                is_test: to != TriedReceivers::All,
                sent_by: Some(by.clone()),
                trace_parent: event.trace_parent,
            };
            self.delivery_index.insert(delivery.id, place);
            self.deliveries.push(delivery);
            let tries = self.endpoint_tries.entry((organization.clone(), endpoint));
            tries.or_default().push(now);
            let target = self.secrets_of(place, now);
            let target = target.ok_or_else(|| StoreError::Corrupt("no such endpoint".to_owned()))?;
            begun.push(self.claimed_delivery(place, target)?);
        }
        Ok(BeginTry::Begun(begun))
    }

    /// Marks the deliveries from this place on as sending, as far as `by` has places for them.
    pub(super) fn claim_new(
        &mut self,
        first: usize,
        by: &SendAtOnce,
    ) -> Result<Vec<ClaimedDelivery>, StoreError> {
        let now = by.clock.now();
        let mut claimed = Vec::new();
        for place in first..self.deliveries.len() {
            let delivery = &self.deliveries[place];
            if !by.places.take(&delivery.organization_id, &delivery.endpoint_id) {
                continue;
            }
            let target = self.target(place, now);
            let target = target.ok_or_else(|| StoreError::Corrupt("no such endpoint".to_owned()))?;
            claimed.push(self.claimed_delivery(place, target)?);
            let delivery = &mut self.deliveries[place];
            delivery.state = DeliveryState::Sending;
            delivery.sender = Some(Lease::new(&by.owner, now.plus(by.lasts)));
        }
        Ok(claimed)
    }

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
        webhook.endpoint.active.then(|| self.secrets_of(place, now))?
    }

    /// Where the delivery goes, be the endpoint active or not.
    fn secrets_of(&self, place: usize, now: Timestamp) -> Option<DeliveryTarget> {
        let delivery = &self.deliveries[place];
        let organization = self.organizations.get(&delivery.organization_id)?;
        let webhook = organization.webhooks.get(&delivery.endpoint_id)?;
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

    /// Whether the endpoint receives what happens in the event's campaign.
    fn is_of_campaign(&self, event: &NewEvent, endpoint: &EndpointId) -> bool {
        let organization = self.organizations.get(&event.organization_id);
        let webhook = organization.and_then(|organization| organization.webhooks.get(endpoint));
        let scope = webhook.map(|webhook| webhook.endpoint.campaign_id.as_ref());
        scope.is_some_and(|scope| scope.is_none_or(|scope| scope == &event.campaign_id))
    }

    /// From when on the endpoint can be tried, if it cannot be now.
    fn wait(
        &mut self,
        organization: &OrganizationId,
        endpoint: &EndpointId,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let tries = self
            .endpoint_tries
            .get_mut(&(organization.clone(), endpoint.clone()))?;
        tries.retain(|at| now < at.plus(TRIES_WITHIN));
        tries.sort();
        let last = tries.len().checked_sub(length(MAX_TRIES))?;
        Some(tries[last].plus(TRIES_WITHIN))
    }

    fn claimed_delivery(&self, place: usize, target: DeliveryTarget) -> Result<ClaimedDelivery, StoreError> {
        let delivery = &self.deliveries[place];
        let campaign = self.campaign(&delivery.organization_id, &delivery.campaign_id);
        let lead = match delivery.payload.kind() {
            EventKind::JobNew => self.leads.get(&delivery.lead_id),
            EventKind::BidComplete => None,
        };
        let lead = match lead {
            Some(entry) => Some(NewLead::read(self.lead_with_job(entry)?)?),
            None => None,
        };
        Ok(ClaimedDelivery {
            organization_id: delivery.organization_id.clone(),
            id: delivery.id,
            campaign_id: delivery.campaign_id.clone(),
            lead_id: delivery.lead_id.clone(),
            campaign_name: campaign.map(|campaign| campaign.record.name.clone()),
            target,
            payload: delivery.payload.clone(),
            created_at: delivery.created_at,
            lead,
            is_test: delivery.is_test,
            sent_by: delivery.sent_by.clone(),
            trace_parent: delivery.trace_parent,
        })
    }

    /// Ends a delivery that was not sent or not answered, with its Activity.
    fn fail(&mut self, place: usize, outcome: &DeliveryOutcome, at: Timestamp) {
        let delivery = &mut self.deliveries[place];
        delivery.state = DeliveryState::Failed;
        delivery.ended_at = Some(at);
        delivery.sender = None;
        let organization = self.organizations.get(&delivery.organization_id);
        let webhook = organization.and_then(|organization| organization.webhooks.get(&delivery.endpoint_id));
        let facts = DeliveryFacts {
            organization_id: &delivery.organization_id,
            campaign_id: &delivery.campaign_id,
            lead_id: &delivery.lead_id,
            id: delivery.id,
            event: delivery.payload.kind(),
            dry_run: delivery.payload.is_dry_run(),
            endpoint_id: &delivery.endpoint_id,
            url: webhook.map_or("", |webhook| &webhook.endpoint.url),
            is_test: delivery.is_test,
            sent_by: delivery.sent_by.as_ref(),
        };
        let activity = facts.activity(outcome, at);
        self.record_activity(&activity);
        self.count_end(place, outcome, at);
    }

    /// Counts the end of a delivery. What people try from the console is not counted.
    fn count_end(&mut self, place: usize, outcome: &DeliveryOutcome, at: Timestamp) {
        let delivery = self.deliveries[place].clone();
        if delivery.is_test {
            return;
        }
        let (organization, campaign) = (&delivery.organization_id, &delivery.campaign_id);
        let mut tally = Tally::default();
        if delivery.payload.kind() == EventKind::JobNew {
            if !outcome.is_delivered() {
                tally.delivery_failed(organization, campaign);
            } else if self.delivered_leads.insert(delivery.lead_id.clone()) {
                tally.delivered(organization, campaign, at, self.posted_at(&delivery.lead_id));
            }
        }
        if let Some(took) = outcome.was_sent() {
            tally.endpoint_sent(organization, &delivery.endpoint_id, outcome.is_delivered(), took);
        }
        self.count(at, &tally);
    }
}
