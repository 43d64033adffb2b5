//! [`FilterTests`]: how many filters are tested at once. A test reads the signatures of all stored jobs.

use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};

/// Tests that run at once in the process.
const AT_ONCE: usize = 2;
/// How long a test waits for its turn.
const PATIENCE: Duration = Duration::from_secs(5);

/// The turns of the process.
#[derive(Debug)]
pub struct FilterTests(Semaphore);

impl Default for FilterTests {
    fn default() -> Self {
        Self(Semaphore::new(AT_ONCE))
    }
}

impl FilterTests {
    /// A turn, until it is dropped; `None` if there is none within five seconds.
    pub(crate) async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        tokio::time::timeout(PATIENCE, self.0.acquire()).await.ok()?.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn two_run_at_once_and_the_next_waits_a_while() {
        let tests = FilterTests::default();
        let running = (tests.turn().await, tests.turn().await);
        assert!(running.0.is_some() && running.1.is_some());
        assert!(tests.turn().await.is_none());
        drop(running);
        assert!(tests.turn().await.is_some());
    }
}
