//! Leases of API keys: a key that was found is accepted for a moment without another look-up.
//!
//! A command that changes a key, or ends its organization's access, reports that only when no lease from before can be alive
//! in any process. So the end holds for every later request (decision D7). What a request changes is accepted on the key's state
//! in the store anyway: see [`Authorization`](crate::model::Authorization).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hashbrown::HashMap;

use crate::model::{ApiKeyHash, ApiKeyRecord, FoundApiKey, OrganizationId};
use crate::port::{Pause, ProvisioningSnapshot};
use crate::provisioning::ProvisioningChange;

/// How long a key is accepted after it was asked for.
const LEASE: Duration = Duration::from_millis(900);
/// When all leases from before are over, clocks that run unequally included.
const ENDED: Duration = Duration::from_secs(1);
/// The most leases of a process. More are not kept: their keys are looked up with each request.
const MAX_LEASES: usize = 10_000;

/// The leases of a process.
#[derive(Debug, Default)]
pub struct KeyLeases(Mutex<HashMap<ApiKeyHash, Lease>>);

#[derive(Debug)]
struct Lease {
    key: Arc<FoundApiKey>,
    asked_at: Duration,
    /// Whether a request was accepted on it.
    is_used: bool,
}

impl Lease {
    fn is_alive(&self, now: Duration) -> bool {
        now < self.asked_at + LEASE
    }
}

impl KeyLeases {
    /// How often keys in steady use are asked for again, if their leases are as old as this. The rest of a lease is time for the
    /// answer.
    pub const RENEWED_EVERY: Duration = Duration::from_millis(300);

    /// The key, if it was asked for less than a lease before `now`, a monotonic time.
    pub(super) fn key(&self, hash: &ApiKeyHash, now: Duration) -> Option<Arc<FoundApiKey>> {
        let mut leases = self.locked();
        let lease = leases.get_mut(hash).filter(|lease| lease.is_alive(now))?;
        lease.is_used = true;
        Some(Arc::clone(&lease.key))
    }

    /// The keys to ask for again: their leases were used, and end soon. Leases that have ended go.
    pub(super) fn to_renew(&self, now: Duration) -> Vec<ApiKeyHash> {
        let mut leases = self.locked();
        leases.retain(|_, lease| lease.is_alive(now));
        let used = leases
            .iter()
            .filter(|(_, lease)| lease.is_used && now >= lease.asked_at + Self::RENEWED_EVERY);
        used.map(|(hash, _)| hash.clone()).collect()
    }

    /// Ends a lease before its time.
    pub(super) fn end(&self, hash: &ApiKeyHash) {
        self.locked().remove(hash);
    }

    /// Keeps a key that was found. `asked_at` is the monotonic time before it was asked for.
    pub(super) fn keep(&self, hash: &ApiKeyHash, key: &Arc<FoundApiKey>, asked_at: Duration) {
        let mut leases = self.locked();
        if leases.len() >= MAX_LEASES {
            leases.retain(|_, lease| lease.is_alive(asked_at));
        }
        if leases.len() < MAX_LEASES || leases.contains_key(hash) {
            let lease = Lease {
                key: Arc::clone(key),
                asked_at,
                is_used: false,
            };
            leases.insert(hash.clone(), lease);
        }
    }

    fn locked(&self) -> MutexGuard<'_, HashMap<ApiKeyHash, Lease>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns when no process accepts a key any more on what it read before now.
pub(super) async fn leases_end(pause: &dyn Pause) {
    pause.pause(ENDED).await;
}

/// Whether a lease from before the changes may say what is not so after them: that a key is accepted, or what it is called.
pub(super) fn end_leases(before: &ProvisioningSnapshot, changes: &[ProvisioningChange]) -> bool {
    let known = |id: &OrganizationId| before.organizations.iter().find(|known| known.id == *id);
    let unreadable = |id: &OrganizationId| before.unreadable.iter().any(|row| row.organization_id == *id);
    changes.iter().any(|change| match change {
        ProvisioningChange::RemoveOrganization(_) | ProvisioningChange::RemoveApiKey(..) => true,
        // The access of one that is not active may have been ended by another command a moment ago.
        ProvisioningChange::PutOrganization { id, subscription, .. } => {
            !subscription.is_active() && (unreadable(id) || known(id).is_some())
        }
        ProvisioningChange::PutApiKey(id, key, _) => {
            let is_known = |(known, _): &(ApiKeyRecord, ApiKeyHash)| known.id == key.id;
            unreadable(id) || known(id).is_some_and(|known| known.api_keys.iter().any(is_known))
        }
        _ => false,
    })
}
