//! What all workers of a process share: how they stop, and how they pause between passes.

use std::fmt::Display;
use std::time::Duration;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The running workers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Workers {
    /// Cancelled to stop taking new work.
    pub(crate) stop: CancellationToken,
    /// The workers and what they have in flight.
    pub(crate) tasks: TaskTracker,
}

impl Workers {
    /// Takes no new work and waits for what is in flight; false if that took longer than `at_most`.
    pub(crate) async fn stop(self, at_most: Duration) -> bool {
        self.stop.cancel();
        self.tasks.close();
        tokio::time::timeout(at_most, self.tasks.wait()).await.is_ok()
    }
}

/// The pauses of one worker between its passes: after a success until it is woken, after failures ever longer.
pub(super) struct Backoff {
    pub(super) stop: CancellationToken,
    failures: u32,
}

/// The pause after a first failure; it doubles up to [`MAX_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const MAX_PAUSE: Duration = Duration::from_secs(30);

impl Backoff {
    pub(super) fn new(workers: &Workers) -> Self {
        Self {
            stop: workers.stop.clone(),
            failures: 0,
        }
    }

    pub(super) fn stopped(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// Waits until woken or `pause` is over; false once the process stops.
    pub(super) async fn idle(&mut self, wake: &Notify, pause: Duration) -> bool {
        self.failures = 0;
        tokio::select! {
            () = self.stop.cancelled() => false,
            () = wake.notified() => true,
            () = tokio::time::sleep(pause) => true,
        }
    }

    /// Logs a failed pass and waits, longer after each failure in a row; false once the process stops.
    pub(super) async fn after_failure(&mut self, worker: &str, error: &(impl Display + Sync)) -> bool {
        let pause = FIRST_PAUSE
            .saturating_mul(1 << self.failures.min(10))
            .min(MAX_PAUSE);
        self.failures = self.failures.saturating_add(1);
        tracing::warn!(worker, %error, retry_in_ms = pause.as_millis(), "a pass failed");
        tokio::select! {
            () = self.stop.cancelled() => false,
            () = tokio::time::sleep(pause) => true,
        }
    }

    pub(super) fn succeeded(&mut self) {
        self.failures = 0;
    }
}
