//! [`AutomaticBidStore`] in memory.

use async_trait::async_trait;
use bidloop_domain::model::{Activity, Tally, Timestamp};
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
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let mut state = self.state()?;
        let before = state.intents.len();
        state.intents.retain(|waiting| &waiting.intent != intent);
        if state.intents.len() < before {
            if let Some(activity) = activity {
                state.record_activity(activity);
            }
            let mut tally = Tally::default();
            tally.handed_over(&intent.organization_id, &intent.campaign_id);
            state.count(at, &tally);
        }
        Ok(())
    }

    async fn automatic_count(&self) -> Result<u64, StoreError> {
        Ok(count(self.state()?.intents.len()))
    }
}
