//! When the process is asked to stop.

/// Completes on the first SIGTERM or SIGINT.
pub(crate) async fn requested() {
    let interrupt = tokio::signal::ctrl_c();
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        match signal(SignalKind::terminate()) {
            Ok(mut terminate) => {
                tokio::select! {
                    _ = interrupt => {}
                    _ = terminate.recv() => {}
                }
            }
            Err(error) => {
                tracing::warn!(%error, "SIGTERM cannot be waited for");
                let _interrupted = interrupt.await;
            }
        }
    }
    #[cfg(not(unix))]
    let _interrupted = interrupt.await;
}
