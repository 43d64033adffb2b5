//! Who reads the feed.

use async_trait::async_trait;

use super::{LeaseOwner, StoreError};
use crate::model::Timestamp;

/// The lease under which one process at a time reads the feed. It saves the others the work and guards nothing: a page is
/// recorded only if the feed's position is still where it was read from, so no job is missed or acted on twice although
/// two processes read.
#[async_trait]
pub trait FeedLeaseStore: Send + Sync + std::fmt::Debug {
    /// Takes the lease until `until`, or renews it. Returns false, and changes nothing, if another owner holds it at `now`.
    async fn hold(&self, owner: &LeaseOwner, now: Timestamp, until: Timestamp) -> Result<bool, StoreError>;

    /// Gives the lease up, if the owner holds it.
    async fn release(&self, owner: &LeaseOwner) -> Result<(), StoreError>;
}
