//! Erasing what removed organizations had, in small steps.

use async_trait::async_trait;

use super::{LeaseOwner, StoreError};
use crate::model::{OrganizationId, Timestamp};

/// What is left of removed organizations. Any number of processes may erase at once; one organization is erased by one
/// at a time, since its files may be deleted only as long as no other organization can have its id.
#[async_trait]
pub trait ErasureStore: Send + Sync + std::fmt::Debug {
    /// Up to `limit` organizations that were removed and are not erased yet, in the order of their removal.
    async fn removed(&self, limit: u32) -> Result<Vec<OrganizationId>, StoreError>;

    /// Claims the erasing of a removed organization until `lease_until`, or renews the claim. Returns false if another
    /// process has claimed it, or if it is erased.
    async fn claim_erasure(
        &self,
        organization: &OrganizationId,
        owner: &LeaseOwner,
        now: Timestamp,
        lease_until: Timestamp,
    ) -> Result<bool, StoreError>;

    /// One atomic step: removes up to `limit` rows of the organization, of any table, and returns how many; 0 once
    /// nothing is left. `None` if the claim on it is not the owner's: then nothing is removed.
    async fn erase(
        &self,
        organization: &OrganizationId,
        owner: &LeaseOwner,
        limit: u32,
    ) -> Result<Option<u64>, StoreError>;

    /// Forgets that the organization was removed, so that another one can have its id. Returns false, and changes
    /// nothing, if rows of it are left or the claim on it is not the owner's. The digests of its keys stay.
    async fn finish_erasure(
        &self,
        organization: &OrganizationId,
        owner: &LeaseOwner,
    ) -> Result<bool, StoreError>;
}
