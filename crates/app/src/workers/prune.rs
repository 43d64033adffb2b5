//! Erases what removed organizations had and prunes what is old, in steps that leave the database to the others most of
//! the time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bidloop_domain::port::{Prunable, StoreError};
use bidloop_domain::use_case::{EraseError, EraseOrganizations, Erased, Prune};
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::running::{Pauses, Workers};
use crate::service::Service;

/// Pause between two passes, and before the first one: a process that starts has other things to do.
const PAUSE: Duration = Duration::from_secs(60 * 60);
const BEFORE_THE_FIRST: Duration = Duration::from_secs(60);
/// How many times as long as a step the pause after it is: steps take at most a thirtieth of the time. What that costs
/// the loop is measured by `benchmarks retention`.
const STEP_PAUSE: u32 = 29;
/// Bounds of that pause. A step on an idle database is a millisecond of work and a wait for the disk.
const SHORTEST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// The kind in the metric of pruned rows.
const REMOVED_ORGANIZATIONS: &str = "removed_organizations";

pub(super) async fn run(service: Arc<Service>, workers: Workers) {
    tokio::select! {
        () = workers.stop.cancelled() => return,
        () = tokio::time::sleep(BEFORE_THE_FIRST) => {}
    }
    let never_woken = Notify::new();
    let mut pauses = Pauses::new(&workers, "prune", &never_woken, PAUSE);
    while pauses.after(pass(&service, &workers.stop).await).await {}
}

async fn pass(service: &Service, stop: &CancellationToken) -> Result<bool, StoreError> {
    let erased = erase(&service.erase_organizations, stop, |rows| {
        service.metrics.pruned(REMOVED_ORGANIZATIONS, rows);
    })
    .await?;
    for failure in &erased.failures {
        tracing::warn!(%failure, "the next pass goes on");
    }
    let Erased {
        organizations,
        rows,
        files,
    } = erased.erased;
    if erased.erased != Erased::default() {
        tracing::info!(
            organizations,
            rows,
            files,
            "erased what removed organizations had"
        );
    }
    let removed = prune(&service.prune, stop, |kind, rows| {
        service.metrics.pruned(kind.as_str(), rows);
    })
    .await?;
    for (kind, rows) in removed {
        if rows > 0 {
            tracing::info!(kind = kind.as_str(), rows, "pruned");
        }
    }
    Ok(false)
}

/// A pass over removed organizations.
#[derive(Debug)]
pub(crate) struct ErasurePass {
    pub(crate) erased: Erased,
    /// Organizations that are left to the next pass.
    pub(crate) failures: Vec<EraseError>,
}

/// Makes a pass over the removed organizations, or as much of it as comes before `stop` is cancelled. Calls `progress`
/// with how many rows each step removed.
pub(crate) async fn erase(
    erase: &EraseOrganizations,
    stop: &CancellationToken,
    progress: impl Fn(u64),
) -> Result<ErasurePass, StoreError> {
    let mut run = erase.begin().await?;
    let mut failures = Vec::new();
    loop {
        let started = Instant::now();
        match run.step().await {
            Ok(Some(erased)) => progress(erased.rows),
            Ok(None) => break,
            Err(failure) => failures.push(failure),
        }
        if !pause_after(started, stop).await {
            break;
        }
    }
    Ok(ErasurePass {
        erased: run.erased(),
        failures,
    })
}

/// The pause after a step that has `started` then. Returns false once `stop` is cancelled.
async fn pause_after(started: Instant, stop: &CancellationToken) -> bool {
    let pause = started.elapsed().saturating_mul(STEP_PAUSE);
    tokio::select! {
        () = stop.cancelled() => false,
        () = tokio::time::sleep(pause.clamp(SHORTEST_PAUSE, LONGEST_PAUSE)) => true,
    }
}

/// Makes a pass, or as much of it as comes before `stop` is cancelled. Calls `progress` with what each step removed.
/// Returns how many rows of each kind were removed.
pub(crate) async fn prune(
    prune: &Prune,
    stop: &CancellationToken,
    progress: impl Fn(Prunable, u64),
) -> Result<BTreeMap<Prunable, u64>, StoreError> {
    let mut run = prune.begin().await?;
    loop {
        let started = Instant::now();
        let Some((kind, removed)) = run.step().await? else {
            break;
        };
        progress(kind, removed);
        if !pause_after(started, stop).await {
            break;
        }
    }
    Ok(run.removed().clone())
}
