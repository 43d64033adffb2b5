//! What all workers of a process share: how they repeat their passes, and how they stop.

use std::fmt::Display;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bidloop_domain::port::{Entropy as _, StoreError};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::supervision::Supervisor;
use crate::service::Service;
use crate::system::SystemEntropy;

/// The running workers.
#[derive(Debug, Clone)]
pub(crate) struct Workers {
    /// Cancelled to stop taking new work.
    pub(crate) stop: CancellationToken,
    /// The workers and their work in flight.
    pub(crate) tasks: TaskTracker,
    pub(super) supervisor: Supervisor,
}

impl Workers {
    /// No workers yet.
    pub(super) fn new(service: &Service) -> Self {
        let stop = CancellationToken::new();
        Self {
            tasks: TaskTracker::new(),
            supervisor: Supervisor {
                metrics: Arc::clone(&service.metrics),
                states: Arc::clone(&service.worker_states),
                stop: stop.clone(),
            },
            stop,
        }
    }

    /// Stops taking work and waits for work in flight. Returns false if that takes longer than `at_most`.
    pub(crate) async fn stop(self, at_most: Duration) -> bool {
        self.stop.cancel();
        self.tasks.close();
        tokio::time::timeout(at_most, self.tasks.wait()).await.is_ok()
    }
}

/// The pauses of one worker between its passes.
pub(super) struct Pauses<'a> {
    supervisor: Supervisor,
    stop: CancellationToken,
    worker: &'static str,
    wake: &'a Notify,
    pause: Duration,
    /// When the last pause ended, if passes begin at regular intervals.
    began: Option<Instant>,
    /// The longest pause after a failure.
    longest: Duration,
    failures: u32,
}

/// The pause after a first failure; it doubles up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// Why a pass failed.
pub(super) trait PassError: Display {
    /// How long another service asks to be left alone.
    fn retry_after(&self) -> Option<Duration> {
        None
    }
}

impl PassError for StoreError {}

impl<'a> Pauses<'a> {
    /// Pauses of `pause`, which a wake-up ends earlier.
    pub(super) fn new(workers: &Workers, worker: &'static str, wake: &'a Notify, pause: Duration) -> Self {
        Self {
            supervisor: workers.supervisor.clone(),
            stop: workers.stop.clone(),
            worker,
            wake,
            pause,
            began: None,
            longest: MAX_PAUSE,
            failures: 0,
        }
    }

    /// Pauses that a pass shortens by what it takes, so that passes begin at regular intervals.
    pub(super) fn between_beginnings(self) -> Self {
        Self {
            began: Some(Instant::now()),
            ..self
        }
    }

    /// With another longest pause after a failure.
    pub(super) fn at_most(self, longest: Duration) -> Self {
        Self { longest, ..self }
    }

    /// Pauses after a pass that found no work, and longer each time after one that failed. Returns whether to make
    /// another pass: false once the process stops.
    pub(super) async fn after<E: PassError>(&mut self, found_work: Result<bool, E>) -> bool {
        self.supervisor.fault_point();
        match found_work {
            Ok(true) => self.failures = 0,
            Ok(false) => {
                self.failures = 0;
                let passed = self.began.map_or(Duration::ZERO, |began| began.elapsed());
                tokio::select! {
                    () = self.stop.cancelled() => {}
                    () = self.wake.notified() => {}
                    () = tokio::time::sleep(self.pause.saturating_sub(passed)) => {}
                }
            }
            Err(error) => {
                let pause = error
                    .retry_after()
                    .unwrap_or_else(|| after_failure(self.failures, self.longest, SystemEntropy.fraction()));
                self.failures = self.failures.saturating_add(1);
                tracing::warn!(worker = self.worker, %error, retry_in_ms = pause.as_millis(), "a pass failed");
                tokio::select! {
                    () = self.stop.cancelled() => {}
                    () = tokio::time::sleep(pause) => {}
                }
            }
        }
        self.began = self.began.map(|_| Instant::now());
        !self.stop.is_cancelled()
    }
}

/// The pause after one more failure than `failures`: doubled with each, up to `longest`. The jitter, for a `fraction` from
/// 0 to 1, keeps replicas from coming at once.
fn after_failure(failures: u32, longest: Duration, fraction: f64) -> Duration {
    let doubled = FIRST_PAUSE.saturating_mul(1 << failures.min(10));
    doubled.min(longest).mul_f64(0.75 + fraction / 4.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_after_failures_double_with_jitter_up_to_the_longest() {
        for (longest, expected) in [
            (30, [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]),
            (2, [500, 1_000, 2_000, 2_000, 2_000, 2_000, 2_000, 2_000]),
        ] {
            for (failures, millis) in (0..).zip(expected) {
                let pause = |fraction| after_failure(failures, Duration::from_secs(longest), fraction);
                assert_eq!(pause(0.0), Duration::from_millis(millis * 3 / 4));
                assert_eq!(pause(1.0), Duration::from_millis(millis));
            }
        }
    }
}
