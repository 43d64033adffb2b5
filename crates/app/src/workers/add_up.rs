//! Adds up what commands have counted, so that the console's figures stay cheap to read.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use super::running::{Pauses, Workers};
use crate::service::Service;

/// Pause between two passes. The longer, the more counts are of the same row; the figures are exact at any time. What two busy
/// seconds count keeps a core of PostgreSQL busy for 0.4 s when it is added up at once. Half a second's delays webhooks less.
const PAUSE: Duration = Duration::from_millis(500);

pub(super) async fn run(service: Arc<Service>, workers: Workers) {
    let never_woken = Notify::new();
    let mut pauses = Pauses::new(&workers, "statistics", &never_woken, PAUSE);
    while pauses.after(service.stores.statistics.add_up().await).await {}
}
