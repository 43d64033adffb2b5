//! [`FeedLeaseStore`] in memory.

use async_trait::async_trait;
use bidloop_domain::model::Timestamp;
use bidloop_domain::port::{FeedLeaseStore, LeaseOwner, StoreError};

use super::{Lease, MemoryStore};

#[async_trait]
impl FeedLeaseStore for MemoryStore {
    async fn hold(&self, owner: &LeaseOwner, now: Timestamp, until: Timestamp) -> Result<bool, StoreError> {
        let mut state = self.state()?;
        let held = state.feed_lease.as_ref();
        if Lease::is_live(held, now) && held.is_some_and(|lease| lease.owner != *owner) {
            return Ok(false);
        }
        state.feed_lease = Some(Lease::new(owner, until));
        Ok(true)
    }

    async fn release(&self, owner: &LeaseOwner) -> Result<(), StoreError> {
        let mut state = self.state()?;
        state.feed_lease.take_if(|lease| lease.owner == *owner);
        Ok(())
    }
}
