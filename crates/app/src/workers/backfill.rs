//! Backfills campaigns whose filters changed, on threads that serve no requests.

use std::num::NonZero;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use bidloop_domain::port::{StoreError, WorkKind};
use bidloop_domain::use_case::{BackfillMatches, BackfillReport};
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::running::{Pauses, Workers};
use crate::service::Service;

/// Pause between two checks for filter changes of other processes.
const PAUSE: Duration = Duration::from_secs(1);
/// Interval between progress reports.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);

pub(super) async fn run(service: Arc<Service>, workers: Workers) {
    let wake = service.notifiers.of(WorkKind::Backfills);
    let mut pauses = Pauses::new(&workers, "backfill", wake, PAUSE);
    while pauses.after(pass(&service, &workers.stop).await).await {}
}

/// Returns whether filters changed during the pass, so that their campaigns are due again.
async fn pass(service: &Service, stop: &CancellationToken) -> Result<bool, StoreError> {
    let started = Instant::now();
    let progress = |jobs, _| service.metrics.backfill_progress(jobs);
    let report = backfill(&service.backfill_matches, stop, progress).await?;
    for (organization, campaign, total) in &report.switched {
        tracing::info!(%organization, %campaign, total, jobs = report.jobs, took_ms = started.elapsed().as_millis(), "matches switched to the changed filters");
    }
    Ok(report.superseded > 0)
}

/// Carries out what is due, with as many threads as the machine runs at once. Calls `progress` with the number of
/// examined jobs and of all jobs at the beginning, every second and at the end. Ends soon once `stop` is cancelled; all stays due then.
pub(crate) async fn backfill(
    backfills: &BackfillMatches,
    stop: &CancellationToken,
    progress: impl Fn(u64, u64),
) -> Result<BackfillReport, StoreError> {
    let backfills = backfills.clone();
    let Some(run) = on_own_thread(async move { backfills.begin().await }).await? else {
        return Ok(BackfillReport::default());
    };
    let run = Arc::new(run);
    let mut threads = JoinSet::new();
    for _ in 0..available_parallelism().map_or(1, NonZero::get) {
        let run = Arc::clone(&run);
        threads.spawn(on_own_thread(async move { run.scan().work().await }));
    }
    progress(0, 0);
    let mut ticks = tokio::time::interval_at(Instant::now() + PROGRESS_INTERVAL, PROGRESS_INTERVAL);
    let mut outcome = Ok(());
    loop {
        tokio::select! {
            ended = threads.join_next() => match ended {
                None => break,
                Some(ended) => {
                    let ended = ended.unwrap_or_else(|error| {
                        run.scan().stop();
                        Err(cut_short(error))
                    });
                    if ended.is_err() {
                        // The results of the others are of no use without this one.
                        run.scan().stop();
                    }
                    outcome = outcome.and(ended);
                }
            },
            () = stop.cancelled() => {
                run.scan().stop();
                while threads.join_next().await.is_some() {}
                break;
            }
            _ = ticks.tick() => {
                let (jobs, of) = run.scan().progress();
                progress(jobs, of);
                tracing::info!(jobs, of, campaigns = run.campaigns(), "backfilling");
            }
        }
    }
    outcome?;
    let Some(run) = Arc::into_inner(run) else {
        return Err(StoreError::Backend(
            "a backfill's thread has not ended".to_owned(),
        ));
    };
    let report = run.finish().await?;
    progress(report.jobs, report.jobs);
    Ok(report)
}

/// Runs work that computes between its reads on a thread of its own, so that no other task waits for it.
async fn on_own_thread<T: Send + 'static>(
    work: impl Future<Output = Result<T, StoreError>> + Send + 'static,
) -> Result<T, StoreError> {
    let runtime = Handle::current();
    let ran = tokio::task::spawn_blocking(move || runtime.block_on(work)).await;
    ran.unwrap_or_else(|error| Err(cut_short(error)))
}

/// Passes a thread's panic on to the caller, which is supervised.
fn cut_short(error: tokio::task::JoinError) -> StoreError {
    match error.try_into_panic() {
        Ok(panic) => std::panic::resume_unwind(panic),
        Err(error) => StoreError::Backend(format!("a backfill was cut short: {error}")),
    }
}
