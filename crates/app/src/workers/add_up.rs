//! Adds up what commands have counted, so that the console's figures stay cheap to read.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bidloop_domain::port::StoreError;
use tokio::sync::Notify;

use super::running::{Pauses, Workers};
use crate::service::Service;

/// Pause between two passes, each of which adds up one gathered row: all at once would keep a core of PostgreSQL busy for a
/// second, and webhooks would wait for it. The figures are exact at any time.
const PAUSE: Duration = Duration::from_millis(500);

/// How long counts are gathered for. The longer, the more of them are of the same thing.
const GATHERING: Duration = Duration::from_secs(20);

pub(super) async fn run(service: Arc<Service>, workers: Workers) {
    let never_woken = Notify::new();
    let mut pauses = Pauses::new(&workers, "statistics", &never_woken, PAUSE);
    let mut gathered = None;
    while pauses.after(pass(&service, &mut gathered).await).await {}
}

/// `gathered` is when there was nothing more to gather. Returns whether to go on without a pause.
async fn pass(service: &Service, gathered: &mut Option<Instant>) -> Result<bool, StoreError> {
    let statistics = &service.worker_stores.statistics;
    let is_time = gathered.is_none_or(|at| at.elapsed() >= GATHERING);
    if statistics.add_up().await? {
        return Ok(is_time);
    }
    if is_time {
        let are_more = statistics.gather().await?;
        *gathered = Some(Instant::now()).filter(|_| !are_more);
    }
    Ok(false)
}
