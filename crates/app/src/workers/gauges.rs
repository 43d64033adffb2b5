//! Measures queue depths and stores when keys were last used, every few seconds.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bidloop_domain::port::StoreError;
use tokio::sync::Notify;

use super::running::{Pauses, Workers};
use crate::service::Service;

const PAUSE: Duration = Duration::from_secs(5);
/// How long workers pass over rows that they could not read. Then they try again: `apply` or an operator may have mended
/// them.
const UNREADABLE_ROUND: Duration = Duration::from_secs(60);

pub(super) async fn run(service: Arc<Service>, workers: Workers) {
    let never_woken = Notify::new();
    let mut pauses = Pauses::new(&workers, "gauges", &never_woken, PAUSE);
    let mut round_began = Instant::now();
    while pauses.after(measure(&service).await.map(|()| false)).await {
        if round_began.elapsed() >= UNREADABLE_ROUND {
            service.quarantine.next_round();
            round_began = Instant::now();
        }
    }
    if let Err(error) = service.authenticate.flush_uses().await {
        tracing::warn!(%error, "the last uses of API keys could not be stored");
    }
}

async fn measure(service: &Service) -> Result<(), StoreError> {
    service.authenticate.flush_uses().await?;
    let stores = &service.worker_stores;
    service
        .metrics
        .queue_depth("deliveries", stores.deliveries.pending_count().await?);
    service
        .metrics
        .queue_depth("submissions", stores.submissions.queued_count().await?);
    service
        .metrics
        .queue_depth("automatic_bids", stores.automatic_bids.automatic_count().await?);
    service
        .metrics
        .queue_depth("backfills", stores.matches.due_count().await?);
    Ok(())
}
