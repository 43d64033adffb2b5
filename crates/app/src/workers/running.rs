//! What all workers of a process share: how they repeat their passes, and how they stop.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::supervision::Supervisor;
use crate::service::Service;

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
    failures: u32,
}

/// The pause after a first failure; it doubles up to [`MAX_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const MAX_PAUSE: Duration = Duration::from_secs(30);

impl<'a> Pauses<'a> {
    /// Pauses of `pause`, which a wake-up ends earlier.
    pub(super) fn new(workers: &Workers, worker: &'static str, wake: &'a Notify, pause: Duration) -> Self {
        Self {
            supervisor: workers.supervisor.clone(),
            stop: workers.stop.clone(),
            worker,
            wake,
            pause,
            failures: 0,
        }
    }

    /// Pauses after a pass that found no work, and longer each time after one that failed. Returns whether to make
    /// another pass: false once the process stops.
    pub(super) async fn after<E: Display>(&mut self, found_work: Result<bool, E>) -> bool {
        self.supervisor.fault_point();
        match found_work {
            Ok(true) => self.failures = 0,
            Ok(false) => {
                self.failures = 0;
                tokio::select! {
                    () = self.stop.cancelled() => {}
                    () = self.wake.notified() => {}
                    () = tokio::time::sleep(self.pause) => {}
                }
            }
            Err(error) => {
                let doubled = FIRST_PAUSE.saturating_mul(1 << self.failures.min(10));
                let pause = doubled.min(MAX_PAUSE);
                self.failures = self.failures.saturating_add(1);
                tracing::warn!(worker = self.worker, %error, retry_in_ms = pause.as_millis(), "a pass failed");
                tokio::select! {
                    () = self.stop.cancelled() => {}
                    () = tokio::time::sleep(pause) => {}
                }
            }
        }
        !self.stop.is_cancelled()
    }
}
