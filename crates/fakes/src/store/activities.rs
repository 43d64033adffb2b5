//! [`ActivityStore`] in memory.

use async_trait::async_trait;
use bidloop_domain::model::{Activity, ActivityQuery};
use bidloop_domain::port::{ActivityStore, StoreError};

use super::{MemoryStore, length};

#[async_trait]
impl ActivityStore for MemoryStore {
    async fn record(&self, activity: &Activity) -> Result<(), StoreError> {
        let mut state = self.state()?;
        if state.organizations.contains_key(&activity.organization_id) {
            state.record_activity(activity);
        }
        Ok(())
    }

    async fn list(&self, query: &ActivityQuery) -> Result<Vec<Activity>, StoreError> {
        let state = self.state()?;
        let mut found: Vec<&Activity> = state
            .activities
            .iter()
            .rev()
            .filter(|entry| {
                query
                    .organization_id
                    .as_ref()
                    .is_none_or(|id| &entry.organization_id == id)
            })
            .filter(|entry| query.campaign_id.is_none() || entry.campaign_id == query.campaign_id)
            .filter(|entry| query.lead_id.is_none() || entry.lead_id == query.lead_id)
            .collect();
        found.sort_by_key(|entry| std::cmp::Reverse(entry.at));
        Ok(found.into_iter().take(length(query.limit)).cloned().collect())
    }
}
