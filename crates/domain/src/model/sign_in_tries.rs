//! How often somebody may try to sign in (decision E2): ten failures within 15 minutes, then pauses that grow.

use std::net::IpAddr;
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::{EmailKey, Timestamp};

/// How many tries are free.
pub const FREE_TRIES: u32 = 10;

/// In which time they are counted, and how long after the last pause they are forgotten.
pub const TRIES_COUNTED: Duration = Duration::from_secs(15 * 60);

/// The first pause. Each further failure doubles it.
pub const FIRST_PAUSE: Duration = Duration::from_secs(60);

/// The longest pause.
pub const LONGEST_PAUSE: Duration = Duration::from_secs(15 * 60);

/// Where a request came from, as far as tries are counted: an IPv4 address, or the first 64 bits of an IPv6 address.
///
/// ```
/// use bidloop_domain::model::NetworkOrigin;
///
/// let origin = |text: &str| NetworkOrigin::of(text.parse().unwrap());
/// assert_eq!(origin("2001:db8:1:2::7"), origin("2001:db8:1:2:ffff::9"));
/// assert_ne!(origin("2001:db8:1:2::7"), origin("2001:db8:1:3::7"));
/// assert_eq!(origin("::ffff:203.0.113.7"), origin("203.0.113.7"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NetworkOrigin(IpAddr);

impl NetworkOrigin {
    /// The origin of a request from `address`.
    pub fn of(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V6(address) => {
                let [a, b, c, d, ..] = address.segments();
                IpAddr::from([a, b, c, d, 0, 0, 0, 0])
            }
            v4 @ IpAddr::V4(_) => v4,
        })
    }
}

/// Whose tries are counted together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TrySubject(String);

impl TrySubject {
    /// The tries for a person's address, whether or not it is known. Its digest, so that what strangers typed is not
    /// kept.
    pub fn address(key: &EmailKey) -> Self {
        Self(format!("address {}", hex::encode(Sha256::digest(key.as_str()))))
    }

    /// The tries from a network.
    pub fn network(origin: NetworkOrigin) -> Self {
        Self(format!("network {}", origin.0))
    }

    /// As it is stored.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The tries of a subject. Each is counted before its password is checked, so that many at once are counted too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tries {
    /// How many tries failed or have not ended.
    pub failures: u32,
    /// When the first of them was.
    pub since: Timestamp,
    /// The end of the pause, once there was one.
    pub waits_until: Option<Timestamp>,
}

impl Tries {
    /// No tries.
    pub fn none(now: Timestamp) -> Self {
        Self {
            failures: 0,
            since: now,
            waits_until: None,
        }
    }

    /// Counts a try at `now`; the error is when the pause ends that it falls into.
    ///
    /// ```
    /// use bidloop_domain::model::{FIRST_PAUSE, Timestamp, Tries};
    ///
    /// let now = Timestamp::from_seconds(1_790_000_000);
    /// let mut tries = Tries::none(now);
    /// for _ in 0..10 {
    ///     tries = tries.counted(now).unwrap();
    /// }
    /// assert_eq!(tries.counted(now), Err(now.plus(FIRST_PAUSE)));
    /// let later = now.plus(FIRST_PAUSE);
    /// assert_eq!(tries.counted(later).unwrap().waits_until, Some(later.plus(FIRST_PAUSE * 2)));
    /// ```
    pub fn counted(self, now: Timestamp) -> Result<Self, Timestamp> {
        if let Some(until) = self.waits_until.filter(|until| now < *until) {
            return Err(until);
        }
        let before = if self.are_forgotten_at(now) {
            Self::none(now)
        } else {
            self
        };
        let failures = before.failures.saturating_add(1);
        let waits_until = failures
            .checked_sub(FREE_TRIES)
            .map(|beyond| now.plus(pause_after(beyond)));
        Ok(Self {
            failures,
            since: before.since,
            waits_until: waits_until.or(before.waits_until),
        })
    }

    /// Takes back a try that did not fail.
    #[must_use]
    pub fn given_back(self, now: Timestamp) -> Self {
        let failures = self.failures.saturating_sub(1);
        Self {
            failures,
            since: self.since,
            waits_until: (failures >= FREE_TRIES).then_some(now),
        }
    }

    /// How many tries are left before the next pause.
    pub fn left(self) -> u32 {
        FREE_TRIES.saturating_sub(self.failures)
    }

    /// How long the next pause is, or the present one.
    pub fn pause(self) -> Duration {
        pause_after(self.failures.saturating_sub(FREE_TRIES))
    }

    /// Whether they count no more at `now`.
    pub fn are_forgotten_at(self, now: Timestamp) -> bool {
        self.waits_until.unwrap_or(self.since).plus(TRIES_COUNTED) <= now
    }
}

/// The pause after so many tries beyond the free ones.
fn pause_after(beyond: u32) -> Duration {
    FIRST_PAUSE
        .saturating_mul(2_u32.saturating_pow(beyond))
        .min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_seconds(1_790_000_000);

    fn failed(mut tries: Tries, count: u32, now: Timestamp) -> Tries {
        for _ in 0..count {
            tries = tries.counted(now).unwrap();
        }
        tries
    }

    #[test]
    fn pauses_double_up_to_the_longest() {
        let (mut tries, mut now) = (failed(Tries::none(NOW), 9, NOW), NOW);
        let mut pauses = Vec::new();
        for _ in 0..7 {
            tries = tries.counted(now).unwrap();
            let until = tries.waits_until.unwrap();
            assert_eq!(tries.counted(until.minus(Duration::from_millis(1))), Err(until));
            pauses.push(until.since(now).as_secs() / 60);
            now = until;
        }
        assert_eq!(pauses, [1, 2, 4, 8, 15, 15, 15]);
    }

    #[test]
    fn failures_are_forgotten_15_minutes_after_the_first_or_the_last_pause() {
        let few = failed(Tries::none(NOW), 9, NOW);
        let later = NOW.plus(TRIES_COUNTED);
        assert_eq!(few.counted(later).unwrap().failures, 1);
        assert_eq!(
            few.counted(later.minus(Duration::from_millis(1)))
                .unwrap()
                .failures,
            10
        );
        let paused = failed(Tries::none(NOW), 10, NOW);
        assert_eq!(paused.counted(later).unwrap().failures, 11);
        assert_eq!(paused.counted(later.plus(FIRST_PAUSE)).unwrap().failures, 1);
    }

    #[test]
    fn a_try_that_did_not_fail_leaves_no_pause() {
        let full = failed(Tries::none(NOW), 10, NOW).given_back(NOW);
        assert_eq!((full.failures, full.left(), full.waits_until), (9, 1, None));
        let until = NOW.plus(FIRST_PAUSE);
        let beyond = failed(failed(Tries::none(NOW), 10, NOW), 1, until).given_back(until);
        assert_eq!(beyond.counted(until).unwrap().failures, 11);
    }
}
