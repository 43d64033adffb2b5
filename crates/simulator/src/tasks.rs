//! The end of a server's tasks.

use std::time::Duration;

use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

/// How long work in flight may take once its server stops.
const GRACE: Duration = Duration::from_secs(2);

/// Waits until `stop` turns true or its sender is gone.
pub(crate) async fn stopped(stop: &mut watch::Receiver<bool>) {
    // An error means that the sender is gone.
    drop(stop.wait_for(|stopped| *stopped).await);
}

/// Waits two seconds for the tasks in flight, then aborts the others.
pub(crate) async fn finish(mut in_flight: JoinSet<()>) {
    let ended = tokio::time::timeout(GRACE, async { while in_flight.join_next().await.is_some() {} }).await;
    if ended.is_err() {
        in_flight.shutdown().await;
    }
}

/// Waits for a task and logs its panic.
pub(crate) async fn ended(task: JoinHandle<()>) {
    if let Err(error) = task.await {
        tracing::error!(%error, "a task failed");
    }
}
