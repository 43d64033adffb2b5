//! API keys in the store.

use std::collections::HashMap;

use async_trait::async_trait;

use super::StoreError;
use crate::model::{ApiKeyHash, ApiKeyId, ApiKeyRecord, FoundApiKey, OrganizationId, Timestamp};

/// The outcome of [`ApiKeyStore::create`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CreateApiKey {
    /// Stored.
    Created,
    /// There is no such organization.
    OrganizationUnknown,
    /// The organization has a key with this id.
    IdTaken,
}

/// The outcome of [`ApiKeyStore::revoke`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RevokeApiKey {
    /// Refused from now on.
    Revoked,
    /// It was revoked before, at this moment.
    RevokedBefore(Timestamp),
    /// The organization has no key with this id.
    Unknown,
}

/// Finds, creates and revokes API keys (decision D5).
#[async_trait]
pub trait ApiKeyStore: Send + Sync + std::fmt::Debug {
    /// The key with this digest, in any state, and its organization's subscription.
    async fn find(&self, hash: &ApiKeyHash) -> Result<Option<FoundApiKey>, StoreError>;

    /// Those of the keys that are there, by their digests, as [`find`](Self::find) finds them. A store that asks for all at once
    /// leaves out those that it cannot read.
    async fn find_each(&self, hashes: &[ApiKeyHash]) -> Result<HashMap<ApiKeyHash, FoundApiKey>, StoreError> {
        let mut found = HashMap::with_capacity(hashes.len());
        for hash in hashes {
            if let Some(key) = self.find(hash).await? {
                found.insert(hash.clone(), key);
            }
        }
        Ok(found)
    }

    /// Stores a key by its digest.
    async fn create(&self, record: &ApiKeyRecord, hash: &ApiKeyHash) -> Result<CreateApiKey, StoreError>;

    /// All of an organization's keys, oldest first; `None` if there is no such organization.
    async fn list(&self, organization: &OrganizationId) -> Result<Option<Vec<ApiKeyRecord>>, StoreError>;

    /// Marks the key as revoked. When this returns, no request is accepted on the key any more: those that were being
    /// accepted have been, or never are.
    async fn revoke(
        &self,
        organization: &OrganizationId,
        id: &ApiKeyId,
        at: Timestamp,
    ) -> Result<RevokeApiKey, StoreError>;

    /// Records when keys were last used. Never moves a key's time back; skips unknown keys.
    async fn record_uses(&self, uses: &[(OrganizationId, ApiKeyId, Timestamp)]) -> Result<(), StoreError>;
}
