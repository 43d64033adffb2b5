//! Authenticate: from a bearer credential to a [`Caller`]. Tests: `tests/use_case/authenticate.rs`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hashbrown::HashMap;

use super::key_leases::KeyLeases;
use crate::model::{
    Actor, ApiKey, ApiKeyHash, ApiKeyId, Authorization, FoundApiKey, OrganizationId, Timestamp,
};
use crate::port::{ApiKeyStore, Clock, StoreError};

/// A program whose key was accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The key's organization; the caller sees no other.
    pub organization_id: OrganizationId,
    /// The key.
    pub key_id: ApiKeyId,
    /// Its name, shown in the Activity record.
    pub key_name: String,
    /// Its digest.
    pub key_hash: ApiKeyHash,
}

impl Caller {
    /// The caller as the Activity record names it.
    pub fn actor(&self) -> Actor {
        Actor::api_key(&self.key_id, &self.key_name)
    }

    /// What the caller's requests are accepted on.
    pub fn authorization(&self) -> Authorization {
        Authorization::ApiKey(self.key_hash.clone())
    }
}

/// Why a caller was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuthenticateError {
    /// The key is missing, malformed, unknown, revoked or expired, or the subscription is inactive. All have the same
    /// answer, so that it reveals nothing about other organizations.
    #[error("missing or invalid API key, or no active paid subscription")]
    Refused,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Checks API keys (specification, Authentication; decisions D5 and D6). A key that was found is not looked up again for
/// less than a second: see [`KeyLeases`]. A request that changes something is checked again when it is accepted: see
/// [`Authorization`].
#[derive(Debug)]
pub struct Authenticate {
    /// API keys.
    pub keys: Arc<dyn ApiKeyStore>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Uses that are not stored yet; empty at first.
    pub uses: KeyUses,
    /// Keys that were found shortly before; empty at first.
    pub leases: KeyLeases,
}

/// When keys were used since the last [`flush_uses`](Authenticate::flush_uses).
#[derive(Debug, Default)]
pub struct KeyUses(Mutex<HashMap<(OrganizationId, ApiKeyId), Timestamp>>);

impl KeyUses {
    fn locked(&self) -> MutexGuard<'_, HashMap<(OrganizationId, ApiKeyId), Timestamp>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Authenticate {
    /// Finds the caller by its key. `presented` is the text after `Bearer `; `None` if there was no such header.
    pub async fn execute(&self, presented: Option<&str>) -> Result<Caller, AuthenticateError> {
        let key = presented
            .and_then(|text| ApiKey::parse(text).ok())
            .ok_or(AuthenticateError::Refused)?;
        let now = self.clock.now();
        let key_hash = key.hash();
        let found = self.find(&key_hash).await?.filter(|found| found.works_at(now));
        let found = found.ok_or(AuthenticateError::Refused)?;
        let record = &found.record;
        let key = (record.organization_id.clone(), record.id.clone());
        self.uses.locked().insert(key, now);
        Ok(Caller {
            organization_id: record.organization_id.clone(),
            key_id: record.id.clone(),
            key_name: record.name.clone(),
            key_hash,
        })
    }

    async fn find(&self, hash: &ApiKeyHash) -> Result<Option<Arc<FoundApiKey>>, StoreError> {
        let asked_at = self.clock.monotonic();
        if let Some(key) = self.leases.key(hash, asked_at) {
            return Ok(Some(key));
        }
        let found = self.keys.find(hash).await?.map(Arc::new);
        if let Some(key) = found.as_ref().filter(|key| key.works_at(self.clock.now())) {
            self.leases.keep(hash, key, asked_at);
        }
        Ok(found)
    }

    /// Asks again for keys in steady use before their [leases](KeyLeases) end, so that no request waits for that. Call it
    /// [so often](KeyLeases::RENEWED_EVERY). If the store fails, requests ask as they do without it.
    pub async fn renew_leases(&self) -> Result<(), StoreError> {
        let asked_at = self.clock.monotonic();
        let hashes = self.leases.to_renew(asked_at);
        if hashes.is_empty() {
            return Ok(());
        }
        let mut found = self.keys.find_each(&hashes).await?;
        let now = self.clock.now();
        for hash in &hashes {
            match found.remove(hash).filter(|key| key.works_at(now)) {
                Some(key) => self.leases.keep(hash, &Arc::new(key), asked_at),
                None => self.leases.end(hash),
            }
        }
        Ok(())
    }

    /// Stores when keys were last used. Call it every few seconds and before the process stops. If the store fails, the
    /// uses are kept for the next call.
    pub async fn flush_uses(&self) -> Result<(), StoreError> {
        let taken = std::mem::take(&mut *self.uses.locked());
        if taken.is_empty() {
            return Ok(());
        }
        let uses: Vec<_> = taken
            .iter()
            .map(|((org, key), at)| (org.clone(), key.clone(), *at))
            .collect();
        let stored = self.keys.record_uses(&uses).await;
        if stored.is_err() {
            let mut waiting = self.uses.locked();
            for (key, at) in taken {
                waiting.entry(key).or_insert(at);
            }
        }
        stored
    }
}
