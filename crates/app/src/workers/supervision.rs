//! Keeps the workers running: one that panics is started again after a pause, and the process knows which one does not
//! run meanwhile.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::metrics::Metrics;

/// The pause after a first panic; it doubles up to [`MAX_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const MAX_PAUSE: Duration = Duration::from_secs(30);
/// A worker that ran this long has recovered: its next pause is a first one.
const RECOVERED_AFTER: Duration = Duration::from_secs(60);

/// Which workers of a process run. Workers of other roles, and those that ended because the process stops, are unknown.
#[derive(Debug, Default)]
pub(crate) struct WorkerStates {
    runs: Mutex<BTreeMap<&'static str, bool>>,
    /// Of a thousand passes and pieces of work, so many panic.
    #[cfg(test)]
    pub(crate) panics_per_mille: std::sync::atomic::AtomicU32,
}

impl WorkerStates {
    fn locked(&self) -> MutexGuard<'_, BTreeMap<&'static str, bool>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set(&self, worker: &'static str, runs: bool) {
        self.locked().insert(worker, runs);
    }

    fn forget(&self, worker: &'static str) {
        self.locked().remove(worker);
    }

    /// The workers that should run and do not.
    pub(crate) fn down(&self) -> Vec<&'static str> {
        let states = self.locked();
        states
            .iter()
            .filter(|(_, runs)| !**runs)
            .map(|(worker, _)| *worker)
            .collect()
    }
}

/// Starts workers again. Clones share what they know.
#[derive(Debug, Clone)]
pub(super) struct Supervisor {
    pub(super) metrics: Arc<Metrics>,
    pub(super) states: Arc<WorkerStates>,
    pub(super) stop: CancellationToken,
}

impl Supervisor {
    /// Runs a worker until it ends. After a panic, `start` makes it anew, so that nothing of its broken state is used
    /// again. What it had claimed is claimed again once the claim has ended.
    pub(super) async fn keep_running<F: Future<Output = ()>>(
        &self,
        worker: &'static str,
        mut start: impl FnMut() -> F,
    ) {
        let mut panics = 0_u32;
        while !self.stop.is_cancelled() {
            self.states.set(worker, true);
            let began = Instant::now();
            let run = async { start().await };
            if AssertUnwindSafe(run).catch_unwind().await.is_ok() {
                break;
            }
            self.states.set(worker, false);
            self.metrics.worker_panic(worker);
            if began.elapsed() >= RECOVERED_AFTER {
                panics = 0;
            }
            let pause = FIRST_PAUSE.saturating_mul(1 << panics.min(10)).min(MAX_PAUSE);
            panics = panics.saturating_add(1);
            tracing::error!(worker, restart_in_ms = pause.as_millis(), "a worker panicked");
            tokio::select! {
                () = self.stop.cancelled() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
        self.states.forget(worker);
    }

    /// Where a test lets workers panic.
    #[cfg(test)]
    pub(super) fn fault_point(&self) {
        use bidloop_domain::port::Entropy as _;

        let per_mille = self
            .states
            .panics_per_mille
            .load(std::sync::atomic::Ordering::SeqCst);
        let chosen = crate::system::SystemEntropy.fraction() * 1000.0 < f64::from(per_mille);
        assert!(!chosen, "an injected panic");
    }

    /// Where a test lets workers panic.
    #[cfg(not(test))]
    #[expect(clippy::unused_self, reason = "only the test's needs it")]
    pub(super) fn fault_point(&self) {}

    /// Runs one piece of a worker's work. Returns `None` if it panicked: the worker and its other work go on.
    pub(super) async fn contain<T>(&self, worker: &'static str, work: impl Future<Output = T>) -> Option<T> {
        let done = AssertUnwindSafe(work).catch_unwind().await.ok();
        if done.is_none() {
            self.metrics.worker_panic(worker);
            tracing::error!(worker, "a piece of work panicked");
        }
        done
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use bidloop_domain::port::Quarantine;

    use super::*;

    fn supervisor() -> Supervisor {
        Supervisor {
            metrics: Metrics::new(Quarantine::default(), Arc::default(), Vec::new),
            states: Arc::default(),
            stop: CancellationToken::new(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_worker_that_panics_is_down_until_it_is_started_again_after_a_growing_pause() {
        let supervisor = supervisor();
        let starts = Arc::new(AtomicU32::new(0));
        let (counted, states) = (Arc::clone(&starts), Arc::clone(&supervisor.states));
        let stop = supervisor.stop.clone();
        let running = supervisor.clone();
        let worker = tokio::spawn(async move {
            let work = || async {
                assert!(counted.fetch_add(1, Ordering::SeqCst) >= 3, "an injected panic");
                stop.cancelled().await;
            };
            running.keep_running("dispatch", work).await;
        });
        // With time standing still, each pause is passed over exactly when it ends.
        for (started, pause) in [(1, 500), (2, 1000), (3, 2000)] {
            tokio::time::sleep(Duration::from_millis(1)).await;
            assert_eq!(starts.load(Ordering::SeqCst), started);
            assert_eq!(states.down(), ["dispatch"]);
            tokio::time::sleep(Duration::from_millis(pause)).await;
        }
        assert_eq!(starts.load(Ordering::SeqCst), 4);
        assert_eq!(states.down(), [""; 0]);
        assert!(
            supervisor
                .metrics
                .render()
                .contains("bidloop_worker_panics_total{worker=\"dispatch\"} 3"),
        );
        supervisor.stop.cancel();
        worker.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_worker_that_is_down_does_not_delay_a_stop() {
        let supervisor = supervisor();
        let running = supervisor.clone();
        let worker = tokio::spawn(async move {
            running
                .keep_running("submit", || async { panic!("an injected panic") })
                .await;
        });
        tokio::time::sleep(Duration::from_secs(120)).await;
        supervisor.stop.cancel();
        let stopping = Instant::now();
        worker.await.unwrap();
        assert_eq!(stopping.elapsed(), Duration::ZERO);
        assert_eq!(supervisor.states.down(), [""; 0]);
    }

    #[tokio::test]
    async fn a_panic_of_one_piece_of_work_is_counted_and_ends_nothing_else() {
        let supervisor = supervisor();
        let panicked = supervisor.contain("submit", async { panic!("an injected panic") });
        assert_eq!(panicked.await, None::<()>);
        assert_eq!(supervisor.contain("submit", async { 7 }).await, Some(7));
        assert!(
            supervisor
                .metrics
                .render()
                .contains("bidloop_worker_panics_total{worker=\"submit\"} 1"),
        );
    }
}
