//! [`BodiesInFlight`]: the bytes of bodies that the service holds, shared fairly among keys and organizations.
//!
//! The interface has no rate limit. This is the limit of what fits at once: beyond it, a request is answered 503 and may
//! be repeated (decision A3). A request's body counts as it arrives, whatever length it declares, until the request is
//! answered. A page of leads counts until it is written, as fast as the caller reads.

use std::collections::HashMap;
use std::hash::Hash;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bidloop_domain::model::{ApiKeyId, OrganizationId};
use bidloop_domain::use_case::{Caller, LeadError};
use bytes::Bytes;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use bidloop_http_server::SHORT_BODY_BYTES;

const MB: u64 = 1_048_576;

/// The most bytes of bodies at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodyLimits {
    /// Bids and rejections, which are held in memory. While one is read, its buffer and its parsed texts take up to four
    /// times its length.
    pub json_bytes: u64,
    /// Uploads, which are staged on disk, or in the parts of an upload to a bucket.
    pub upload_bytes: u64,
    /// Pages of leads that callers have not read yet, which are held in memory.
    pub page_bytes: u64,
}

impl BodyLimits {
    /// 32 MB of JSON: ten of the largest bodies, or thousands of usual ones. 2 GB of files: sixteen of the largest uploads.
    /// 128 MB of pages: hundreds of them, each with a hundred leads.
    pub const DEFAULT: Self = Self {
        json_bytes: 32 * MB,
        upload_bytes: 2_048 * MB,
        page_bytes: 128 * MB,
    };
}

/// The bodies of all requests of a process.
#[derive(Debug)]
pub(crate) struct BodiesInFlight {
    pub(crate) json: Arc<Pool>,
    pub(crate) uploads: Arc<Pool>,
    pub(crate) pages: Arc<Pool>,
    /// Permits parsing a long body: one at a time.
    long_bodies: Semaphore,
}

impl BodiesInFlight {
    pub(crate) fn new(limits: BodyLimits) -> Self {
        Self {
            json: Pool::of(limits.json_bytes),
            uploads: Pool::of(limits.upload_bytes),
            pages: Pool::of(limits.page_bytes),
            long_bodies: Semaphore::new(1),
        }
    }

    /// Parses a body. A short one takes less than a millisecond, where its request is served. Long ones take turns on a thread of their own, so that they delay each other and not the use cases,
    /// which share a few threads.
    pub(crate) async fn parse<T: Send + 'static>(
        &self,
        body: Bytes,
        parse: fn(&[u8]) -> Result<T, LeadError>,
    ) -> Result<T, LeadError> {
        if body.len() <= SHORT_BODY_BYTES {
            return parse(&body);
        }
        let _turn = self.long_bodies.acquire().await;
        match spawn_blocking(move || parse(&body)).await {
            Ok(parsed) => parsed,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                // The process is stopping.
                Err(_) => Err(LeadError::Overloaded),
            },
        }
    }
}

/// The bytes of one kind of body.
///
/// An organization may hold as many bytes as it leaves free, and a key half as many. So alone, an organization gets half
/// of all, and however many share, some room is left for the next one.
#[derive(Debug)]
pub(crate) struct Pool {
    total: u64,
    held: Mutex<HeldBytes>,
}

#[derive(Debug, Default)]
struct HeldBytes {
    all: u64,
    by_organization: HashMap<OrganizationId, u64>,
    by_key: HashMap<(OrganizationId, ApiKeyId), u64>,
}

impl Pool {
    fn of(total: u64) -> Arc<Self> {
        Arc::new(Self {
            total,
            held: Mutex::default(),
        })
    }

    /// The share of one request. It holds nothing yet.
    pub(crate) fn share_of(self: &Arc<Self>, caller: &Caller) -> Share {
        Share {
            pool: self.clone(),
            key: (caller.organization_id.clone(), caller.key_id.clone()),
            bytes: 0,
        }
    }

    fn locked(&self) -> MutexGuard<'_, HeldBytes> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HeldBytes {
    fn add(&mut self, key: &(OrganizationId, ApiKeyId), bytes: u64) {
        self.all += bytes;
        *self.by_organization.entry(key.0.clone()).or_default() += bytes;
        *self.by_key.entry(key.clone()).or_default() += bytes;
    }

    fn remove(&mut self, key: &(OrganizationId, ApiKeyId), bytes: u64) {
        self.all -= bytes;
        subtract(&mut self.by_organization, &key.0, bytes);
        subtract(&mut self.by_key, key, bytes);
    }
}

fn subtract<K: Hash + Eq>(counts: &mut HashMap<K, u64>, key: &K, bytes: u64) {
    if let Some(count) = counts.get_mut(key) {
        *count -= bytes;
        if *count == 0 {
            counts.remove(key);
        }
    }
}

/// The bytes that one request holds. Dropping it gives them back.
#[derive(Debug)]
pub(crate) struct Share {
    pool: Arc<Pool>,
    key: (OrganizationId, ApiKeyId),
    bytes: u64,
}

impl Share {
    /// Holds further bytes, or refuses the request because too many are held.
    pub(crate) fn take(&mut self, bytes: usize) -> Result<(), LeadError> {
        let bytes = bytes as u64;
        let mut held = self.pool.locked();
        let of = |held: Option<&u64>| held.copied().unwrap_or_default() + bytes;
        let free = self.pool.total.saturating_sub(held.all + bytes);
        let is_fair =
            of(held.by_organization.get(&self.key.0)) <= free && of(held.by_key.get(&self.key)) <= free / 2;
        if !is_fair {
            return Err(LeadError::Overloaded);
        }
        held.add(&self.key, bytes);
        self.bytes += bytes;
        Ok(())
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.pool.locked().remove(&self.key, self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use bidloop_domain::model::ApiKeyHash;

    use super::*;

    fn caller(organization: &str, key: &str) -> Caller {
        Caller {
            organization_id: OrganizationId::parse(organization).unwrap(),
            key_id: ApiKeyId::parse(key).unwrap(),
            key_name: String::new(),
            key_hash: ApiKeyHash::from_stored(String::new()),
        }
    }

    /// Takes one byte at a time until no more are to be had.
    fn fill(share: &mut Share) -> u64 {
        while share.take(1).is_ok() {}
        share.bytes
    }

    #[test]
    fn a_key_alone_gets_a_third_and_an_organization_alone_a_half() {
        let pool = Pool::of(600);
        let mut first = pool.share_of(&caller("a", "k1"));
        assert_eq!(fill(&mut first), 200);
        let mut of_the_same_key = pool.share_of(&caller("a", "k1"));
        assert_eq!(fill(&mut of_the_same_key), 0);
        let mut others: Vec<Share> = (2..9)
            .map(|key| pool.share_of(&caller("a", &format!("k{key}"))))
            .collect();
        let taken: u64 = others.iter_mut().map(fill).sum();
        assert_eq!(taken, 100);
    }

    #[test]
    fn whatever_others_hold_there_is_room_for_the_next() {
        let pool = Pool::of(1_000_000);
        let mut held = Vec::new();
        for organization in 0..12 {
            let mut share = pool.share_of(&caller(&format!("o{organization}"), "k"));
            let mut piece = 1_000_000;
            while piece > 0 {
                if share.take(piece).is_err() {
                    piece /= 2;
                }
            }
            assert!(
                share.bytes > 1_000,
                "organization {organization}: {}",
                share.bytes
            );
            held.push(share);
        }
    }

    #[test]
    fn what_a_request_held_is_free_when_it_ends() {
        let pool = Pool::of(600);
        for _ in 0..3 {
            assert_eq!(fill(&mut pool.share_of(&caller("a", "k"))), 200);
        }
        let held = pool.locked();
        assert_eq!(
            (held.all, held.by_organization.len(), held.by_key.len()),
            (0, 0, 0)
        );
    }

    #[test]
    fn a_piece_that_does_not_fit_holds_nothing() {
        let pool = Pool::of(600);
        let mut share = pool.share_of(&caller("a", "k"));
        assert_eq!(share.take(201), Err(LeadError::Overloaded));
        assert_eq!(share.take(200), Ok(()));
    }
}
