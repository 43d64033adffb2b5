//! Ids that look like the marketplace's: numbers of nineteen digits that grow with time.

use std::sync::atomic::{AtomicU64, Ordering};

/// 2012-10-12 in UNIX milliseconds: ids made in the years to come then have nineteen digits.
const EPOCH_MS: i64 = 1_350_000_000_000;
const COUNTER_BITS: u32 = 22;

/// Returns an id for `now_ms`. The low bits of `counter` distinguish ids of the same millisecond.
pub(crate) fn marketplace_id(now_ms: i64, counter: u64) -> String {
    let elapsed = u64::try_from(now_ms - EPOCH_MS).unwrap_or(0);
    ((elapsed << COUNTER_BITS) | (counter & ((1 << COUNTER_BITS) - 1))).to_string()
}

/// Makes the ids of jobs, proposals and attachments of one simulator, each only once.
#[derive(Debug)]
pub(crate) struct Ids(AtomicU64);

impl Ids {
    /// `start` distinguishes two simulators that start in the same millisecond.
    pub(crate) fn new(start: u64) -> Self {
        Self(AtomicU64::new(start))
    }

    pub(crate) fn next(&self, now_ms: i64) -> String {
        marketplace_id(now_ms, self.0.fetch_add(1, Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn ids_of_one_millisecond_differ_and_have_nineteen_digits() {
        let ids = Ids::new(7);
        let made: HashSet<String> = (0..10_000).map(|_| ids.next(1_790_000_000_000)).collect();
        assert_eq!(made.len(), 10_000);
        assert!(made.iter().all(|id| id.len() == 19));
    }
}
