//! [`AutomaticBidStore`] in memory.

use async_trait::async_trait;
use bidloop_domain::model::{Activity, Timestamp};
use bidloop_domain::port::{AutomaticBidIntent, AutomaticBidStore, LeaseOwner, StoreError};

use super::{Lease, MemoryStore, count, length};

#[async_trait]
impl AutomaticBidStore for MemoryStore {
    async fn claim(
        &self,
        owner: &LeaseOwner,
        now: Timestamp,
        lease_until: Timestamp,
        limit: u32,
    ) -> Result<Vec<AutomaticBidIntent>, StoreError> {
        let mut state = self.state()?;
        Ok(state
            .intents
            .iter_mut()
            .filter(|waiting| !Lease::is_live(waiting.lease.as_ref(), now))
            .take(length(limit))
            .map(|waiting| {
                waiting.lease = Some(Lease::new(owner, lease_until));
                waiting.intent.clone()
            })
            .collect())
    }

    async fn complete(
        &self,
        intent: &AutomaticBidIntent,
        activity: Option<&Activity>,
    ) -> Result<(), StoreError> {
        let mut state = self.state()?;
        let before = state.intents.len();
        state.intents.retain(|waiting| &waiting.intent != intent);
        if let Some(activity) = activity.filter(|_| state.intents.len() < before) {
            state.record_activity(activity);
        }
        Ok(())
    }

    async fn automatic_count(&self) -> Result<u64, StoreError> {
        Ok(count(self.state()?.intents.len()))
    }
}
