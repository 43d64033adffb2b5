//! The threads that read, each on a connection of its own. They do not wait for the writer.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use bidloop_domain::port::StoreError;
use diesel_async::SimpleAsyncConnection as _;
use futures::FutureExt as _;
use tokio::sync::oneshot;

use super::connection::{Conn, Purpose, open, wrap};
use super::writer::AWAITED_SOMETHING;
use crate::failure::Failure;
use crate::work::Work;

/// How many reads may wait. More are refused, because they would wait too long.
const QUEUE: usize = 4096;

type Job = Box<dyn FnOnce(&mut Reader) + Send>;

/// What a read is wrapped in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Isolation {
    /// Each statement sees the last commit before it.
    Statement,
    /// All statements see the same commit.
    Snapshot,
}

/// A handle to the reading threads.
#[derive(Clone)]
pub(super) struct Readers {
    queue: SyncSender<Job>,
}

impl Readers {
    /// Starts the threads. They end when the last clone of this is dropped and the queue is empty.
    pub(super) fn start(path: &Path, count: usize) -> std::io::Result<Self> {
        let (queue, jobs) = sync_channel::<Job>(QUEUE);
        let jobs = Arc::new(Mutex::new(jobs));
        for number in 0..count.max(1) {
            let mut reader = Reader {
                path: path.to_owned(),
                conn: None,
            };
            let jobs = Arc::clone(&jobs);
            std::thread::Builder::new()
                .name(format!("sqlite-reader-{number}"))
                .spawn(move || reader.serve(&jobs))?;
        }
        Ok(Self { queue })
    }

    /// Runs `work` on a connection that cannot write.
    pub(super) async fn read<T, F>(&self, isolation: Isolation, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        for<'c> F: Work<&'c mut Conn, Result<T, Failure>, Future: Send> + Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        let job = Box::new(move |reader: &mut Reader| {
            // Nobody waits for it any more, and it changes nothing.
            if answer.is_closed() {
                return;
            }
            let read = reader.read(isolation, work).map_err(StoreError::from);
            let _ = answer.send(read);
        });
        self.queue.try_send(job).map_err(|error| match error {
            TrySendError::Full(_) => StoreError::Unavailable("too many reads are waiting".to_owned()),
            TrySendError::Disconnected(_) => StoreError::Backend("the reading threads have ended".to_owned()),
        })?;
        match answered.await {
            Ok(outcome) => outcome,
            Err(_dropped) => Err(StoreError::Backend("a read was cut short".to_owned())),
        }
    }
}

struct Reader {
    path: PathBuf,
    conn: Option<Conn>,
}

impl Reader {
    fn serve(&mut self, jobs: &Mutex<Receiver<Job>>) {
        loop {
            // Only the thread that waits holds the lock. It releases the lock before it runs the job.
            let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(job) = job else { return };
            if catch_unwind(AssertUnwindSafe(|| job(self))).is_err() {
                self.conn = None;
            }
        }
    }

    fn read<T, F>(&mut self, isolation: Isolation, work: F) -> Result<T, Failure>
    where
        for<'c> F: Work<&'c mut Conn, Result<T, Failure>>,
    {
        let conn = match &mut self.conn {
            Some(conn) => conn,
            none => none.insert(wrap(open(&self.path, Purpose::Reading)?)),
        };
        let read = async {
            if isolation == Isolation::Statement {
                return work(conn).await;
            }
            conn.batch_execute("BEGIN").await?;
            let read = work(conn).await?;
            conn.batch_execute("COMMIT").await?;
            Ok(read)
        };
        let read = read
            .now_or_never()
            .unwrap_or_else(|| Err(Failure::fault(AWAITED_SOMETHING.to_owned())));
        if read.is_err() {
            // A snapshot may be open on it; closing it ends that.
            self.conn = None;
        }
        read
    }
}
