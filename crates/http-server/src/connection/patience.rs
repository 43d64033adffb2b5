//! [`Patience`]: how long to wait for a peer that must keep a least rate.

use std::time::Duration;

use super::ConnectionLimits;

/// The time that a peer has left. Waiting uses it up, and bytes restore it at the least rate, up to the longest stall.
///
/// So a peer that stops is given up after the longest stall, and one that is slower than the least rate is given up in
/// the end, however it spreads its bytes. A peer that is fast now can be slow for a while later.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    left: Duration,
    longest: Duration,
    bytes_per_second: u32,
}

impl Patience {
    pub(crate) fn new(limits: &ConnectionLimits) -> Self {
        Self {
            left: limits.stall,
            longest: limits.stall,
            bytes_per_second: limits.bytes_per_second.max(1),
        }
    }

    /// How long to wait for the next bytes.
    pub(crate) const fn left(&self) -> Duration {
        self.left
    }

    /// The peer was waited for.
    pub(crate) const fn waited(&mut self, time: Duration) {
        self.left = self.left.saturating_sub(time);
    }

    /// Bytes came from the peer or went to it.
    pub(crate) fn moved(&mut self, bytes: usize) {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let restored = Duration::from_secs(1) * bytes / self.bytes_per_second;
        self.left = self.left.saturating_add(restored).min(self.longest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn patience() -> Patience {
        Patience::new(&ConnectionLimits {
            stall: 20 * SECOND,
            bytes_per_second: 4_096,
            ..ConnectionLimits::DEFAULT
        })
    }

    /// How many seconds a peer lasts that moves so many bytes each second; `None`: more than a day.
    fn lasts(bytes: usize) -> Option<u32> {
        let mut patience = patience();
        (0..86_400).find(|_| {
            patience.waited(SECOND);
            let is_over = patience.left().is_zero();
            patience.moved(bytes);
            is_over
        })
    }

    #[test]
    fn a_peer_below_the_least_rate_is_given_up_and_one_at_it_is_not() {
        assert_eq!(lasts(0), Some(19));
        assert_eq!(lasts(1), Some(20));
        assert!(lasts(2_048).is_some_and(|seconds| seconds <= 40));
        assert!(lasts(4_000).is_some());
        assert_eq!(lasts(4_096), None);
    }

    #[test]
    fn a_fast_peer_earns_no_more_than_the_longest_stall() {
        let mut patience = patience();
        for _ in 0..10 {
            patience.moved(usize::MAX);
        }
        assert_eq!(patience.left(), 20 * SECOND);
    }
}
