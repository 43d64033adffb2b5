//! What waits for a thread of the database.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bidloop_domain::port::StoreError;
use futures::FutureExt as _;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::oneshot;

use crate::failure::Failure;

/// How much may wait. More is refused, because it would wait too long.
const LENGTH: usize = 4096;

/// Where a thread tells how a piece of work ended.
pub(super) type Answer = oneshot::Sender<Result<(), StoreError>>;

/// The waiting end of a thread's queue.
#[derive(Debug)]
pub(super) struct Queue<W> {
    sender: Sender<W>,
    /// How many callers wait for an answer.
    asking: Arc<AtomicUsize>,
}

/// A caller that waits. Dropped with its future if nobody waits any more.
struct Asking(Arc<AtomicUsize>);

impl Asking {
    fn new(asking: &Arc<AtomicUsize>) -> Self {
        asking.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(asking))
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl<W> Queue<W> {
    /// A queue, and the end that the thread takes from. It gets no more once the queue is dropped.
    pub(super) fn new() -> (Self, Receiver<W>) {
        let (sender, waiting) = channel(LENGTH);
        let asking = Arc::default();
        (Self { sender, asking }, waiting)
    }

    /// How many callers wait for their work to end.
    pub(super) fn asking(&self) -> usize {
        self.asking.load(Ordering::Relaxed)
    }

    /// Queues what `work` makes and waits for its answer.
    pub(super) async fn ask(&self, work: impl FnOnce(Answer) -> W) -> Result<(), StoreError> {
        let _asking = Asking::new(&self.asking);
        let (answer, answered) = oneshot::channel();
        self.sender.try_send(work(answer)).map_err(|error| match error {
            TrySendError::Full(_) => StoreError::Unavailable("too much work is waiting".to_owned()),
            TrySendError::Closed(_) => StoreError::Backend("the database's threads have ended".to_owned()),
        })?;
        let cut_short = |_| Err(StoreError::Backend("the work was cut short".to_owned()));
        answered.await.unwrap_or_else(cut_short)
    }
}

/// Runs work on this thread. A statement is done when it returns, so work that is not ready at once waits for something
/// else.
pub(super) fn run<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let awaited_something = || {
        Err(Failure::fault(
            "work on a connection awaited something other than a statement",
        ))
    };
    work.now_or_never().unwrap_or_else(awaited_something)
}
