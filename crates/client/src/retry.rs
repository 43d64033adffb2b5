//! How often a call is tried, and how long to wait between.

use std::time::Duration;

/// The bounds of repeated attempts. [`Client`](crate::Client) says which calls are repeated, and when.
///
/// ```
/// use std::time::Duration;
/// use bidloop_client::RetryPolicy;
///
/// let patient = RetryPolicy { attempts: 10, total: Duration::from_secs(300), ..RetryPolicy::default() };
/// assert_eq!(RetryPolicy::never().attempts, 1);
/// assert!(patient.longest_pause < patient.total);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The most attempts of one call, the first included.
    pub attempts: u32,
    /// The pause after the first attempt. Each further pause is twice as long; of each, up to a half is left out at
    /// random.
    pub first_pause: Duration,
    /// The longest pause, unless `Retry-After` asks for a longer one.
    pub longest_pause: Duration,
    /// No attempt begins later than this after the first.
    pub total: Duration,
}

impl Default for RetryPolicy {
    /// 4 attempts within 60 s, with pauses from 250 ms to 8 s.
    fn default() -> Self {
        Self {
            attempts: 4,
            first_pause: Duration::from_millis(250),
            longest_pause: Duration::from_secs(8),
            total: Duration::from_secs(60),
        }
    }
}

impl RetryPolicy {
    /// One attempt only.
    pub fn never() -> Self {
        Self {
            attempts: 1,
            ..Self::default()
        }
    }

    /// The pause after so many attempts; `None` if there is to be no further one. `chance` is from 0 to 255.
    pub(crate) fn pause(
        &self,
        attempts: u32,
        retry_after: Option<Duration>,
        elapsed: Duration,
        chance: u8,
    ) -> Option<Duration> {
        if attempts >= self.attempts {
            return None;
        }
        let doubled = 2_u32.saturating_pow(attempts.saturating_sub(1));
        let backoff = self.first_pause.saturating_mul(doubled).min(self.longest_pause);
        let left_out = backoff / 2 * u32::from(chance) / 255;
        let pause = backoff
            .saturating_sub(left_out)
            .max(retry_after.unwrap_or_default());
        (elapsed.saturating_add(pause) <= self.total).then_some(pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const POLICY: RetryPolicy = RetryPolicy {
        attempts: 6,
        first_pause: Duration::from_millis(100),
        longest_pause: Duration::from_secs(1),
        total: Duration::from_secs(10),
    };

    #[test]
    fn pauses_double_up_to_the_longest() {
        let pauses: Vec<Option<Duration>> = (1..=6)
            .map(|attempts| POLICY.pause(attempts, None, Duration::ZERO, 0))
            .collect();
        let milliseconds = [100, 200, 400, 800, 1_000].map(|pause| Some(Duration::from_millis(pause)));
        assert_eq!(pauses[..5], milliseconds);
        assert_eq!(pauses[5], None, "the attempts are used up");
    }

    #[test]
    fn retry_after_is_waited_for_unless_it_is_beyond_the_total_time() {
        let asked = |seconds, elapsed| {
            let retry_after = Some(Duration::from_secs(seconds));
            POLICY.pause(1, retry_after, Duration::from_secs(elapsed), 0)
        };
        assert_eq!(asked(5, 0), Some(Duration::from_secs(5)));
        assert_eq!(asked(5, 5), Some(Duration::from_secs(5)));
        assert_eq!(asked(5, 6), None);
        assert_eq!(
            asked(0, 0),
            Some(Duration::from_millis(100)),
            "never sooner than the backoff"
        );
    }

    proptest! {
        #[test]
        fn a_pause_is_at_least_half_its_backoff_and_ends_within_the_total_time(
            attempts in 0..u32::MAX,
            retry_after in proptest::option::of(0..u64::MAX),
            elapsed in 0..20_000_u64,
            chance: u8,
        ) {
            let elapsed = Duration::from_millis(elapsed);
            let pause = POLICY.pause(attempts, retry_after.map(Duration::from_millis), elapsed, chance);
            if let Some(pause) = pause {
                prop_assert!(attempts < POLICY.attempts);
                prop_assert!(pause >= POLICY.first_pause / 2);
                prop_assert!(elapsed + pause <= POLICY.total);
                prop_assert!(pause <= POLICY.longest_pause.max(Duration::from_millis(retry_after.unwrap_or(0))));
            }
        }
    }
}
