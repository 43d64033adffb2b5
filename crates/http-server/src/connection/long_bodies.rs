//! [`LongBodies`]: what long bodies may take of the server, over all its threads.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::ConnectionLimits;

/// How far the bytes may run ahead of the pace.
const AHEAD: Duration = Duration::from_millis(2);

/// The pace of long bodies, and the connections on which refused ones are read to their end. Receiving, staging and judging
/// them is work that would otherwise take every core, while short requests wait.
///
/// Senders take turns: each waits for the bytes that came before its own, so all get the same rate.
#[derive(Debug)]
pub(crate) struct LongBodies {
    bytes_per_second: u32,
    /// When the bytes that came so far should have come.
    due: Mutex<Instant>,
    refused: Arc<Semaphore>,
}

/// The right to read a refused body on.
pub(super) type Linger = OwnedSemaphorePermit;

impl LongBodies {
    pub(crate) fn new(limits: &ConnectionLimits) -> Self {
        Self {
            bytes_per_second: limits.long_bodies_per_second.max(1),
            due: Mutex::new(Instant::now()),
            refused: Arc::new(Semaphore::new(limits.lingering)),
        }
    }

    /// Bytes of a long body came at `now`. Returns when its sender may go on.
    pub(super) fn received(&self, bytes: usize, now: Instant) -> Instant {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let takes = Duration::from_secs(1) * bytes / self.bytes_per_second;
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        *due = (*due).max(now) + takes;
        due.checked_sub(AHEAD).unwrap_or(now)
    }

    /// Permits reading the rest of a refused body, unless that is done on too many connections.
    pub(super) fn linger(&self) -> Option<Linger> {
        self.refused.clone().try_acquire_owned().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: usize = 1_000_000;

    #[test]
    fn senders_share_the_pace_and_pauses_earn_nothing() {
        let bodies = LongBodies::new(&ConnectionLimits {
            long_bodies_per_second: 100_000_000,
            ..ConnectionLimits::DEFAULT
        });
        let start = Instant::now();
        let after = |milliseconds| start + Duration::from_millis(milliseconds);
        assert_eq!(bodies.received(MB, start) + AHEAD, after(10));
        assert_eq!(bodies.received(MB, start) + AHEAD, after(20), "another sender");
        let later = after(1_000);
        assert_eq!(bodies.received(MB, later) + AHEAD, after(1_010), "later");
    }
}
