//! The Activity record in the store.

use async_trait::async_trait;

use super::StoreError;
use crate::model::{
    Activity, ActivityId, ActivityPlace, ActivityQuery, ActivitySearch, FoundActivities, OrganizationId,
};

/// Writes and lists Activity entries (decision C8). Commands of other ports write their own entries; this port is for
/// refused requests, which change nothing else.
#[async_trait]
pub trait ActivityStore: Send + Sync + std::fmt::Debug {
    /// Stores an entry, unless one with its id is stored. An entry of an organization that does not exist is dropped:
    /// what a removed one had is being erased.
    async fn record(&self, activity: &Activity) -> Result<(), StoreError>;

    /// The entries that match, newest first.
    async fn list(&self, query: &ActivityQuery) -> Result<Vec<Activity>, StoreError>;

    /// Up to `limit` entries that the search finds, newest first, below a place if one is given. The work is bounded: a
    /// step may find fewer than there are and tell where the search goes on.
    async fn search(
        &self,
        search: &ActivitySearch,
        below: Option<ActivityPlace>,
        limit: u32,
    ) -> Result<FoundActivities, StoreError>;

    /// Up to `query.limit` entries that match behind a place, oldest first.
    async fn behind(&self, query: &ActivityQuery, place: ActivityPlace) -> Result<Vec<Activity>, StoreError>;

    /// How many entries that the search finds are newer than a place, up to `at_most`. The work is bounded: of conditions
    /// that many entries meet each, but few together, it may count too few.
    async fn newer(
        &self,
        search: &ActivitySearch,
        than: ActivityPlace,
        at_most: u32,
    ) -> Result<u64, StoreError>;

    /// The organization's entry.
    async fn find(
        &self,
        organization: &OrganizationId,
        id: ActivityId,
    ) -> Result<Option<Activity>, StoreError>;
}
