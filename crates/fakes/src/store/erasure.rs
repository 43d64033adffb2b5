//! [`ErasureStore`] in memory.

use std::collections::HashSet;

use async_trait::async_trait;
use bidloop_domain::model::{OrganizationId, Timestamp};
use bidloop_domain::port::{ErasureStore, LeaseOwner, StoreError};

use super::{Lease, MemoryStore, State, count, length};

#[async_trait]
impl ErasureStore for MemoryStore {
    async fn removed(&self, limit: u32) -> Result<Vec<OrganizationId>, StoreError> {
        let state = self.state()?;
        let removed = state.removed_organizations.iter().map(|(id, _)| id.clone());
        Ok(removed.take(length(limit)).collect())
    }

    async fn claim_erasure(
        &self,
        organization: &OrganizationId,
        owner: &LeaseOwner,
        now: Timestamp,
        lease_until: Timestamp,
    ) -> Result<bool, StoreError> {
        let mut state = self.state()?;
        let removed = state.removed_organizations.iter_mut();
        let Some((_, lease)) = removed.into_iter().find(|(id, _)| id == organization) else {
            return Ok(false);
        };
        if Lease::is_live(lease.as_ref(), now) && !is_of(lease.as_ref(), owner) {
            return Ok(false);
        }
        *lease = Some(Lease::new(owner, lease_until));
        Ok(true)
    }

    async fn erase(
        &self,
        organization: &OrganizationId,
        owner: &LeaseOwner,
        limit: u32,
    ) -> Result<Option<u64>, StoreError> {
        let mut state = self.state()?;
        if !state.is_erased_by(organization, owner) {
            return Ok(None);
        }
        Ok(Some(count(state.erase(organization, length(limit)))))
    }

    async fn finish_erasure(
        &self,
        organization: &OrganizationId,
        owner: &LeaseOwner,
    ) -> Result<bool, StoreError> {
        let mut state = self.state()?;
        if !state.is_erased_by(organization, owner) || state.clone().erase(organization, 1) > 0 {
            return Ok(false);
        }
        state.removed_organizations.retain(|(id, _)| id != organization);
        Ok(true)
    }
}

fn is_of(lease: Option<&Lease>, owner: &LeaseOwner) -> bool {
    lease.is_some_and(|lease| lease.owner == *owner)
}

impl State {
    fn is_erased_by(&self, organization: &OrganizationId, owner: &LeaseOwner) -> bool {
        let mut removed = self.removed_organizations.iter();
        removed.any(|(id, lease)| id == organization && is_of(lease.as_ref(), owner))
    }

    /// Removes up to `limit` things of the organization. Returns how many.
    fn erase(&mut self, organization: &OrganizationId, limit: usize) -> usize {
        let mut removed = 0;
        let mut goes = |of: &OrganizationId| {
            let goes = removed < limit && of == organization;
            removed += usize::from(goes);
            goes
        };
        self.counted
            .retain(|(_, _, counted), _| !counted.organization_id.as_ref().is_some_and(&mut goes));
        self.intents
            .retain(|waiting| !goes(&waiting.intent.organization_id));
        self.billed
            .retain(|_, record| !record.organization_id.as_ref().is_some_and(&mut goes));
        self.endpoint_tries.retain(|(of, _), _| !goes(of));
        self.deliveries
            .retain(|delivery| !goes(&delivery.organization_id));
        self.bids.retain(|bid| !goes(&bid.queued.organization_id));
        self.leads.retain(|_, entry| !goes(&entry.lead.organization_id));
        self.activities.retain(|entry| !goes(&entry.organization_id));
        let mut forgotten_to = self.filters_logged_since;
        self.filter_changes.retain(|(of, _), revision| {
            let goes = goes(of);
            if goes {
                forgotten_to = forgotten_to.max(*revision);
            }
            !goes
        });
        self.filters_logged_since = forgotten_to;
        let deliveries = self.deliveries.iter().enumerate();
        self.delivery_index = deliveries.map(|(place, delivery)| (delivery.id, place)).collect();
        let bids = self.bids.iter().enumerate();
        self.bid_index = bids.map(|(place, bid)| (bid.queued.id, place)).collect();
        let kept: HashSet<_> = self.activities.iter().map(|entry| entry.id).collect();
        self.activity_ids = kept;
        removed
    }
}
