//! The Activity record in the store.

use async_trait::async_trait;

use super::StoreError;
use crate::model::{Activity, ActivityQuery};

/// Writes and lists Activity entries (decision C8). Commands of other ports write their own entries; this port is for
/// refused requests, which change nothing else.
#[async_trait]
pub trait ActivityStore: Send + Sync + std::fmt::Debug {
    /// Stores an entry, unless one with its id is stored. An entry of an organization that does not exist is dropped:
    /// what a removed one had is being erased.
    async fn record(&self, activity: &Activity) -> Result<(), StoreError>;

    /// The entries that match, newest first.
    async fn list(&self, query: &ActivityQuery) -> Result<Vec<Activity>, StoreError>;
}
