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
pub struct SimulatedClock {
    now: AtomicI64,
    /// How long it has run: what it was moved forward.
    run: AtomicI64,
}

impl SimulatedClock {
    /// A clock that shows `now`.
    pub fn at(now: Timestamp) -> Self {
        Self {
            now: AtomicI64::new(now.as_millis()),
            run: AtomicI64::new(0),
        }
    }

    /// Sets the clock, back too.
    pub fn set(&self, now: Timestamp) {
        let before = self.now.swap(now.as_millis(), Ordering::SeqCst);
        self.run
            .fetch_add((now.as_millis() - before).max(0), Ordering::SeqCst);
    }

    /// Lets `duration` pass and answers the time after it.
    pub fn advance(&self, duration: Duration) -> Timestamp {
        let passed = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        self.run.fetch_add(passed, Ordering::SeqCst);
        Timestamp::from_millis(
            self.now
                .fetch_add(passed, Ordering::SeqCst)
                .saturating_add(passed),
        )
    }
}

impl Clock for SimulatedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.now.load(Ordering::SeqCst))
    }

    fn monotonic(&self) -> Duration {
        Duration::from_millis(u64::try_from(self.run.load(Ordering::SeqCst)).unwrap_or(0))
    }
}

/// Time passes at once.
#[async_trait]
impl Pause for SimulatedClock {
    async fn pause(&self, duration: Duration) {
        self.advance(duration);
    }
}

/// A clock that panics when it is asked: a fault of the program.
#[derive(Debug)]
pub struct PanickingClock;

impl Clock for PanickingClock {
    fn now(&self) -> Timestamp {
        panic!("the secret is xyzzy")
    }

    fn monotonic(&self) -> Duration {
        panic!("the secret is xyzzy")
    }
}
