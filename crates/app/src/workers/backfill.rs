//! Backfills campaigns whose filters changed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bidloop_domain::port::WorkKind;

use super::{Rest, Workers};
use crate::service::Service;

/// How often other processes' filter changes are looked for.
const PAUSE: Duration = Duration::from_secs(1);

pub(super) async fn run(service: Arc<Service>, workers: Workers) {
    let mut rest = Rest::new(&workers);
    while !rest.stopped() {
        match pass(&service).await {
            Ok(true) => rest.succeeded(),
            Ok(false) => {
                if !rest.idle(service.wakes.of(WorkKind::Backfills), PAUSE).await {
                    return;
                }
            }
            Err(error) => {
                if !rest.after_failure("backfill", &error).await {
                    return;
                }
            }
        }
    }
}

async fn pass(service: &Service) -> Result<bool, bidloop_domain::port::StoreError> {
    let started = Instant::now();
    let report = service
        .backfill_matches
        .run(&|jobs, total| {
            service.metrics.backfill_progress(jobs);
            if started.elapsed() > Duration::from_secs(1) {
                tracing::info!(jobs, total, "backfilling");
            }
        })
        .await?;
    for (organization, campaign, total) in &report.switched {
        tracing::info!(%organization, %campaign, total, jobs = report.jobs, took_ms = started.elapsed().as_millis(), "matches switched to the changed filters");
    }
    Ok(report.superseded > 0)
}
