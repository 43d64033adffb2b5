//! [`BillingStore`] in memory.

use async_trait::async_trait;
use bidloop_domain::model::{BilledSubscriptionId, CustomerId, OrganizationId};
use bidloop_domain::port::{
    BilledOrganization, BilledRecord, BillingChange, BillingStore, Revision, StoreError,
};

use super::MemoryStore;

#[async_trait]
impl BillingStore for MemoryStore {
    async fn billed(
        &self,
        id: &BilledSubscriptionId,
    ) -> Result<(Revision, Option<BilledRecord>), StoreError> {
        let state = self.state()?;
        Ok((Revision(state.revision), state.billed.get(id).cloned()))
    }

    async fn billed_organizations(
        &self,
        ids: &[OrganizationId],
        customer: Option<&CustomerId>,
    ) -> Result<Vec<BilledOrganization>, StoreError> {
        let state = self.state()?;
        let asked = state.organizations.iter().filter(|(id, organization)| {
            let pays = organization.record.subscription.customer.as_ref();
            ids.contains(id) || (customer.is_some() && pays == customer)
        });
        let organizations = asked.map(|(id, organization)| BilledOrganization {
            id: id.clone(),
            subscription: organization.record.subscription.clone(),
            paid_by: state
                .billed
                .values()
                .filter(|record| record.organization_id.as_ref() == Some(id))
                .cloned()
                .collect(),
        });
        Ok(organizations.collect())
    }

    async fn commit_billing(&self, expected: Revision, change: &BillingChange) -> Result<bool, StoreError> {
        let mut state = self.state()?;
        if state.revision != expected.0 {
            return Ok(false);
        }
        state.revision += 1;
        let record = &change.record;
        state.billed.insert(record.id.clone(), record.clone());
        for (id, subscription, entry) in &change.subscriptions {
            if let Some(organization) = state.organizations.get_mut(id) {
                organization.record.subscription = subscription.clone();
            }
            state.record_activity(entry);
        }
        Ok(true)
    }
}
