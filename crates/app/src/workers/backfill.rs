//! Backfills campaigns whose filters changed, in threads beside those that serve requests.

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

use super::running::{Backoff, Workers};
use crate::service::Service;

/// How often other processes' filter changes are looked for.
const PAUSE: Duration = Duration::from_secs(1);
/// How often progress is told.
const TELL_EVERY: Duration = Duration::from_secs(1);

pub(super) async fn run(service: Arc<Service>, workers: Workers) {
    let mut backoff = Backoff::new(&workers);
    while !backoff.stopped() {
        match pass(&service, &workers.stop).await {
            Ok(true) => backoff.succeeded(),
            Ok(false) => {
                if !backoff
                    .idle(service.notifiers.of(WorkKind::Backfills), PAUSE)
                    .await
                {
                    return;
                }
            }
            Err(error) => {
                if !backoff.after_failure("backfill", &error).await {
                    return;
                }
            }
        }
    }
}

async fn pass(service: &Service, stop: &CancellationToken) -> Result<bool, StoreError> {
    let started = Instant::now();
    let jobs_looked_at = |jobs| service.metrics.backfill_progress(jobs);
    let report = backfill(&service.backfill_matches, stop, jobs_looked_at).await?;
    for (organization, campaign, total) in &report.switched {
        tracing::info!(%organization, %campaign, total, jobs = report.jobs, took_ms = started.elapsed().as_millis(), "matches switched to the changed filters");
    }
    Ok(report.superseded > 0)
}

/// Carries out what is due, with as many threads as the machine runs at once. `looked_at` is told the number of jobs
/// at the beginning, every second and at the end. Once `stop` is cancelled it ends soon and leaves all due.
pub(crate) async fn backfill(
    backfills: &BackfillMatches,
    stop: &CancellationToken,
    looked_at: impl Fn(u64),
) -> Result<BackfillReport, StoreError> {
    let backfills = backfills.clone();
    let Some(run) = beside(async move { backfills.begin().await }).await? else {
        return Ok(BackfillReport::default());
    };
    let run = Arc::new(run);
    let mut threads = JoinSet::new();
    for _ in 0..available_parallelism().map_or(1, NonZero::get) {
        let run = Arc::clone(&run);
        threads.spawn(beside(async move { run.scan().work().await }));
    }
    looked_at(0);
    let mut ticks = tokio::time::interval_at(Instant::now() + TELL_EVERY, TELL_EVERY);
    let mut outcome = Ok(());
    loop {
        tokio::select! {
            ended = threads.join_next() => match ended {
                None => break,
                Some(ended) => {
                    let ended = ended.unwrap_or_else(|error| Err(cut_short(&error)));
                    if ended.is_err() {
                        // The others would finish in vain.
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
                looked_at(jobs);
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
    looked_at(report.jobs);
    Ok(report)
}

/// Runs work that computes between its reads on a thread that nobody else waits for.
async fn beside<T: Send + 'static>(
    work: impl Future<Output = Result<T, StoreError>> + Send + 'static,
) -> Result<T, StoreError> {
    let runtime = Handle::current();
    let ran = tokio::task::spawn_blocking(move || runtime.block_on(work)).await;
    ran.unwrap_or_else(|error| Err(cut_short(&error)))
}

fn cut_short(error: &tokio::task::JoinError) -> StoreError {
    StoreError::Backend(format!("a backfill was cut short: {error}"))
}
