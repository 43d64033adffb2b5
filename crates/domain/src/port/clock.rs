//! Time and randomness, which pure code must not read from the system.

use std::time::Duration;

use async_trait::async_trait;
use uuid::Uuid;

use crate::model::Timestamp;

/// The current time.
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// Now, in UNIX milliseconds.
    fn now(&self) -> Timestamp;

    /// The time since some moment, which is another in each process. It never goes back, unlike `now`.
    fn monotonic(&self) -> Duration;
}

/// Waits for others' work.
#[async_trait]
pub trait Pause: Send + Sync + std::fmt::Debug {
    /// Returns after `duration`.
    async fn pause(&self, duration: Duration);
}

/// Fresh ids, random bytes and jitter.
pub trait Entropy: Send + Sync + std::fmt::Debug {
    /// A new UUID. Later ones sort after earlier ones if the adapter supports that.
    fn uuid(&self) -> Uuid;

    /// Fills `bytes` from a cryptographically secure source (API keys, webhook secrets).
    fn fill_random(&self, bytes: &mut [u8]);

    /// A number from 0 (included) to 1 (excluded), for jitter; need not be secure.
    fn fraction(&self) -> f64;
}
