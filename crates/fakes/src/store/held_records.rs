//! Refused requests whose record waits for a test.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures::channel::oneshot;
use futures::future::{FutureExt as _, Shared};

/// Records that wait. Dropping it, or [`release`](Self::release), lets them go on.
#[derive(Debug)]
#[must_use = "dropping it lets the records go on"]
pub struct HeldRecords {
    release: oneshot::Sender<()>,
    waiting: Arc<AtomicUsize>,
}

impl HeldRecords {
    /// How many have come to wait.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::SeqCst)
    }

    /// Lets them go on.
    pub fn release(self) {
        drop(self.release);
    }
}

type Held = (Shared<oneshot::Receiver<()>>, Arc<AtomicUsize>);

/// Where records pass, and wait while it is closed.
#[derive(Debug, Default)]
pub(super) struct RecordGate(Mutex<Option<Held>>);

impl RecordGate {
    pub(super) fn close(&self) -> HeldRecords {
        let (release, held) = oneshot::channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        *crate::locked(&self.0) = Some((held.shared(), Arc::clone(&waiting)));
        HeldRecords { release, waiting }
    }

    pub(super) async fn pass(&self) {
        let held = crate::locked(&self.0).clone();
        if let Some((held, waiting)) = held {
            waiting.fetch_add(1, Ordering::SeqCst);
            // That it is dropped is the release.
            let _released = held.await;
        }
    }
}
