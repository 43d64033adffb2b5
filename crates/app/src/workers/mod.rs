//! The background work of a process: one loop a kind, each a thin shell around a use case.
//!
//! A loop makes passes while there is work, then waits until it is woken, its pause is over or the process stops.
//! Wake-ups are hints; what is true is polled from the store.

mod automatic;
mod backfill;
mod dispatch;
mod gauges;
mod submit;
mod wakes;
mod watch;

use std::collections::BTreeSet;
use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::service::Service;
pub(crate) use backfill::backfill;
pub(crate) use wakes::Wakes;

/// A share of the service's work, as `serve --role` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub(crate) enum Role {
    /// The HTTP API.
    Api,
    /// Reading the feed, matching and backfilling.
    Watch,
    /// Sending webhooks.
    Dispatch,
    /// Writing automatic bids and submitting queued ones.
    Submit,
}

/// The running loops.
#[derive(Debug, Clone)]
pub(crate) struct Workers {
    /// Cancelled to stop taking new work.
    pub(crate) stop: CancellationToken,
    /// Loops and what they have in flight.
    pub(crate) tasks: TaskTracker,
}

impl Workers {
    /// Starts the loops that `roles` name.
    pub(crate) fn start(service: &Arc<Service>, roles: &BTreeSet<Role>) -> Self {
        let workers = Self {
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
        };
        if roles.contains(&Role::Watch) {
            watch::start(Arc::clone(service), &workers);
            workers
                .tasks
                .spawn(backfill::run(Arc::clone(service), workers.clone()));
        }
        if roles.contains(&Role::Dispatch) {
            workers
                .tasks
                .spawn(dispatch::run(Arc::clone(service), workers.clone()));
        }
        if roles.contains(&Role::Submit) {
            workers
                .tasks
                .spawn(automatic::run(Arc::clone(service), workers.clone()));
            workers
                .tasks
                .spawn(submit::run(Arc::clone(service), workers.clone()));
        }
        workers
            .tasks
            .spawn(gauges::run(Arc::clone(service), workers.clone()));
        workers
    }

    /// Takes no new work and waits for what is in flight; false if that took longer than `at_most`.
    pub(crate) async fn stop(self, at_most: Duration) -> bool {
        self.stop.cancel();
        self.tasks.close();
        tokio::time::timeout(at_most, self.tasks.wait()).await.is_ok()
    }
}

/// Waits between passes.
pub(super) struct Rest {
    stop: CancellationToken,
    failures: u32,
}

/// The pause after a first failure; it doubles up to [`MAX_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const MAX_PAUSE: Duration = Duration::from_secs(30);

impl Rest {
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
