//! Signals that stop the process.

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals SIGTERM and SIGINT, caught as long as this value exists. A signal between two waits is not lost, and one
/// before the first wait does not kill the process.
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

    /// Completes on the first signal since [`catch`](Self::catch).
    #[cfg(unix)]
    pub(crate) async fn requested(&mut self) {
        tokio::select! {
            () = recv_signal(&mut self.interrupt) => {}
            () = recv_signal(&mut self.terminate) => {}
        }
    }

    /// Completes on the next interruption.
    #[cfg(not(unix))]
    pub(crate) async fn requested(&mut self) {
        let _interrupted = tokio::signal::ctrl_c().await;
    }
}

/// Completes on the next SIGTERM or SIGINT, for a process that waits only once.
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
async fn recv_signal(caught: &mut Option<Signal>) {
    match caught {
        Some(caught) => {
            caught.recv().await;
        }
        None => std::future::pending().await,
    }
}
