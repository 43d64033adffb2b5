//! Measures what waits and what keeps campaigns from bidding, and stores when keys were last used, every few seconds.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bidloop_domain::port::StoreError;
use tokio::sync::Notify;

use super::running::{Pauses, Workers};
use crate::service::Service;

const PAUSE: Duration = Duration::from_secs(5);
/// The least time between two looks at the state of the installation, which read all organizations.
const STATE_PAUSE: Duration = Duration::from_secs(15);
/// A look takes one part in so many of the time at most. Queues are counted by indexes which may hold much that was worked off.
const SHARE: u32 = 50;
/// How long workers pass over rows that they could not read. Then they try again: `apply` or an operator may have mended
/// them.
const UNREADABLE_ROUND: Duration = Duration::from_secs(60);

pub(super) async fn run(service: Arc<Service>, workers: Workers) {
    let never_woken = Notify::new();
    let mut pauses = Pauses::new(&workers, "gauges", &never_woken, PAUSE);
    let mut round_began = Instant::now();
    let mut due = Due {
        queues: round_began,
        state: round_began,
    };
    while pauses
        .after(measure(&service, &mut due).await.map(|()| false))
        .await
    {
        if round_began.elapsed() >= UNREADABLE_ROUND {
            service.quarantine.next_round();
            round_began = Instant::now();
        }
    }
    if let Err(error) = service.authenticate.flush_uses().await {
        tracing::warn!(%error, "the last uses of API keys could not be stored");
    }
}

/// When what takes long is looked at next.
struct Due {
    queues: Instant,
    state: Instant,
}

async fn measure(service: &Service, due: &mut Due) -> Result<(), StoreError> {
    service.authenticate.flush_uses().await?;
    let (stores, metrics) = (&service.worker_stores, &service.metrics);
    let began = Instant::now();
    if due.queues <= began {
        metrics.queue_depth("deliveries", stores.deliveries.pending_count().await?);
        metrics.queue_depth("submissions", stores.submissions.queued_count().await?);
        metrics.queue_depth("automatic_bids", stores.automatic_bids.automatic_count().await?);
        metrics.queue_depth("backfills", stores.matches.due_count().await?);
        due.queues = Instant::now() + began.elapsed() * SHARE;
    }
    let began = Instant::now();
    if due.state <= began {
        let now = service.clock.now();
        let state = stores.overview.installation_state(now).await?;
        metrics.installation_state(&state, now);
        due.state = Instant::now() + STATE_PAUSE.max(began.elapsed() * SHARE);
    }
    Ok(())
}
