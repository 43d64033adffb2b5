//! When the process is asked to stop.

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals to stop, caught from the moment this exists: one that comes between two waits is not lost, and one
/// that comes before the first does not end the process in its middle.
#[derive(Debug)]
pub(crate) struct StopSignals {
    #[cfg(unix)]
    interrupt: Option<Signal>,
    #[cfg(unix)]
    terminate: Option<Signal>,
}

impl StopSignals {
    /// Catches SIGTERM and SIGINT from now on.
    pub(crate) fn catch() -> Self {
        Self {
            #[cfg(unix)]
            interrupt: catch(SignalKind::interrupt(), "SIGINT"),
            #[cfg(unix)]
            terminate: catch(SignalKind::terminate(), "SIGTERM"),
        }
    }

    /// Completes on the first of them since they are caught.
    #[cfg(unix)]
    pub(crate) async fn requested(&mut self) {
        tokio::select! {
            () = came(&mut self.interrupt) => {}
            () = came(&mut self.terminate) => {}
        }
    }

    /// Completes on the next interruption.
    #[cfg(not(unix))]
    pub(crate) async fn requested(&mut self) {
        let _interrupted = tokio::signal::ctrl_c().await;
    }
}

/// Completes on the first SIGTERM or SIGINT from now on, for a process that waits once.
pub(crate) async fn requested() {
    StopSignals::catch().requested().await;
}

#[cfg(unix)]
fn catch(kind: SignalKind, name: &str) -> Option<Signal> {
    signal(kind)
        .inspect_err(|error| tracing::warn!(%error, "{name} cannot be waited for"))
        .ok()
}

#[cfg(unix)]
async fn came(caught: &mut Option<Signal>) {
    match caught {
        Some(caught) => {
            caught.recv().await;
        }
        None => std::future::pending().await,
    }
}
