//! [`BytePool`]: the bytes of bodies that the service holds, shared fairly among callers and organizations.

use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

/// An organization, and one of its keys or people.
type Caller = (Arc<str>, Arc<str>);

/// There is no room for more bytes, or no fair share of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoRoom;

/// The bytes of one kind of body.
///
/// An organization may hold as many bytes as it leaves free, and a key or a person half as many. So alone, an organization
/// gets half of all, and however many share, some room is left for the next one.
#[derive(Debug)]
pub struct BytePool {
    total: u64,
    held: Mutex<HeldBytes>,
}

#[derive(Debug, Default)]
struct HeldBytes {
    all: u64,
    by_organization: HashMap<Arc<str>, u64>,
    /// By organization and caller.
    by_caller: HashMap<Caller, u64>,
}

impl BytePool {
    /// Room for so many bytes.
    pub fn of(total: u64) -> Arc<Self> {
        Arc::new(Self {
            total,
            held: Mutex::default(),
        })
    }

    /// What one request of a caller of an organization holds: nothing yet.
    pub fn share_of(
        self: &Arc<Self>,
        organization: impl Into<Arc<str>>,
        caller: impl Into<Arc<str>>,
    ) -> ByteShare {
        ByteShare {
            pool: self.clone(),
            caller: (organization.into(), caller.into()),
            bytes: 0,
        }
    }

    fn locked(&self) -> MutexGuard<'_, HeldBytes> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HeldBytes {
    /// Returns what the organization and the caller hold then.
    fn add(&mut self, caller: &Caller, bytes: u64) -> [u64; 2] {
        self.all += bytes;
        let of_organization = self.by_organization.entry(caller.0.clone()).or_default();
        *of_organization += bytes;
        let of_caller = self.by_caller.entry(caller.clone()).or_default();
        *of_caller += bytes;
        [*of_organization, *of_caller]
    }

    fn remove(&mut self, caller: &Caller, bytes: u64) {
        self.all -= bytes;
        subtract(&mut self.by_organization, caller.0.clone(), bytes);
        subtract(&mut self.by_caller, caller.clone(), bytes);
    }
}

fn subtract<K: Hash + Eq>(counts: &mut HashMap<K, u64>, key: K, bytes: u64) {
    if let Entry::Occupied(mut count) = counts.entry(key) {
        *count.get_mut() -= bytes;
        if *count.get() == 0 {
            count.remove();
        }
    }
}

/// The bytes that one request holds. Dropping it gives them back.
#[derive(Debug)]
pub struct ByteShare {
    pool: Arc<BytePool>,
    caller: Caller,
    bytes: u64,
}

impl ByteShare {
    /// Holds further bytes.
    ///
    /// # Errors
    /// None of them is held then.
    pub fn take(&mut self, bytes: usize) -> Result<(), NoRoom> {
        let bytes = bytes as u64;
        let mut held = self.pool.locked();
        let [of_organization, of_caller] = held.add(&self.caller, bytes);
        let free = self.pool.total.saturating_sub(held.all);
        if of_organization > free || of_caller > free / 2 {
            held.remove(&self.caller, bytes);
            return Err(NoRoom);
        }
        self.bytes += bytes;
        Ok(())
    }
}

impl Drop for ByteShare {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.pool.locked().remove(&self.caller, self.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes one byte at a time until no more are to be had.
    fn fill(share: &mut ByteShare) -> u64 {
        while share.take(1).is_ok() {}
        share.bytes
    }

    #[test]
    fn a_key_alone_gets_a_third_and_an_organization_alone_a_half() {
        let pool = BytePool::of(600);
        let mut first = pool.share_of("a", "k1");
        assert_eq!(fill(&mut first), 200);
        let mut of_the_same_key = pool.share_of("a", "k1");
        assert_eq!(fill(&mut of_the_same_key), 0);
        let mut others: Vec<ByteShare> = (2..9).map(|key| pool.share_of("a", format!("k{key}"))).collect();
        let taken: u64 = others.iter_mut().map(fill).sum();
        assert_eq!(taken, 100);
    }

    #[test]
    fn whatever_others_hold_there_is_room_for_the_next() {
        let pool = BytePool::of(1_000_000);
        let mut held = Vec::new();
        for organization in 0..12 {
            let mut share = pool.share_of(format!("o{organization}"), "k");
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
        let pool = BytePool::of(600);
        for _ in 0..3 {
            assert_eq!(fill(&mut pool.share_of("a", "k")), 200);
        }
        let held = pool.locked();
        assert_eq!(
            (held.all, held.by_organization.len(), held.by_caller.len()),
            (0, 0, 0)
        );
    }

    #[test]
    fn a_piece_that_does_not_fit_holds_nothing() {
        let pool = BytePool::of(600);
        let mut share = pool.share_of("a", "k");
        assert_eq!(share.take(201), Err(NoRoom));
        assert_eq!(share.take(200), Ok(()));
    }
}
