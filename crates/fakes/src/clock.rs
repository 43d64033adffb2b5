//! Time that passes when a test says so.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bidloop_domain::model::Timestamp;
use bidloop_domain::port::{Clock, Pause};

/// A clock that stands still until it is moved.
///
/// ```
/// use bidloop_domain::{model::Timestamp, port::Clock};
/// use bidloop_fakes::SimulatedClock;
/// use std::time::Duration;
///
/// let clock = SimulatedClock::at(Timestamp::from_seconds(1_790_000_000));
/// clock.advance(Duration::from_millis(250));
/// assert_eq!(clock.now(), Timestamp::from_millis(1_790_000_000_250));
/// ```
#[derive(Debug)]
pub struct SimulatedClock(AtomicI64);

impl SimulatedClock {
    /// A clock that shows `now`.
    pub fn at(now: Timestamp) -> Self {
        Self(AtomicI64::new(now.as_millis()))
    }

    /// Sets the clock, back too.
    pub fn set(&self, now: Timestamp) {
        self.0.store(now.as_millis(), Ordering::SeqCst);
    }

    /// Lets `duration` pass and answers the time after it.
    pub fn advance(&self, duration: Duration) -> Timestamp {
        let passed = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        Timestamp::from_millis(self.0.fetch_add(passed, Ordering::SeqCst).saturating_add(passed))
    }
}

impl Clock for SimulatedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::SeqCst))
    }
}

/// Time passes at once.
#[async_trait]
impl Pause for SimulatedClock {
    async fn pause(&self, duration: Duration) {
        self.advance(duration);
    }
}
