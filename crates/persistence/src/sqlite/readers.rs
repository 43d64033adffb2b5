//! The threads that read, each on a connection of its own, and connections for callers that read on their own thread.
//! They do not wait for the writer.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::ThreadId;

use bidloop_domain::port::StoreError;
use tokio::sync::mpsc::Receiver;

use super::connection::{Conn, READER_SETTINGS, execute, open};
use super::queue::{Answer, Queue, run};
use crate::backend::ConnectionLoad;
use crate::failure::Failure;
use crate::work::Steps;

/// Work on its way to a thread.
struct Read {
    isolation: Isolation,
    steps: Steps<Conn>,
    answer: Answer,
}

/// What a read is wrapped in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Isolation {
    /// Each statement sees the last commit before it.
    Statement,
    /// All statements see the same commit.
    Snapshot,
}

/// A handle to the reading threads. They end when it is dropped and the queue is empty.
pub(super) struct Readers {
    path: PathBuf,
    queue: Queue<Read>,
    /// Where the threads take the reads from.
    reads: Arc<Mutex<Receiver<Read>>>,
    /// How many threads there are. Each costs a connection, which reads the schema when it is made and keeps it.
    threads: AtomicUsize,
    most_threads: usize,
    /// Connections that no caller uses at the moment, each with the thread that used it last. There are as many as callers
    /// have read at the same time.
    here: Mutex<Vec<(ThreadId, Reader)>>,
}

impl Readers {
    /// Starts one thread. There are `most_threads` once so many have been busy at the same time.
    pub(super) fn start(path: &Path, most_threads: usize) -> std::io::Result<Self> {
        let (queue, reads) = Queue::new();
        let readers = Self {
            path: path.to_owned(),
            queue,
            reads: Arc::new(Mutex::new(reads)),
            threads: AtomicUsize::new(1),
            most_threads: most_threads.max(1),
            here: Mutex::default(),
        };
        readers.start_thread(0)?;
        Ok(readers)
    }

    fn start_thread(&self, number: usize) -> std::io::Result<()> {
        let mut reader = Reader::new(&self.path);
        let reads = Arc::clone(&self.reads);
        std::thread::Builder::new()
            .name(format!("sqlite-reader-{number}"))
            .spawn(move || reader.serve(&reads))?;
        Ok(())
    }

    /// Starts another thread if all of them are busy and there may be more.
    fn start_thread_if_needed(&self) {
        let threads = self.threads.load(Ordering::Relaxed);
        if self.queue.asking() < threads || threads >= self.most_threads {
            return;
        }
        let counted =
            self.threads
                .compare_exchange(threads, threads + 1, Ordering::Relaxed, Ordering::Relaxed);
        if counted.is_ok()
            && let Err(error) = self.start_thread(threads)
        {
            self.threads.fetch_sub(1, Ordering::Relaxed);
            tracing::warn!(%error, "no further thread to read the database could be started");
        }
    }

    pub(super) fn load(&self) -> ConnectionLoad {
        ConnectionLoad {
            kind: "reader",
            connections: self.most_threads,
            work: self.queue.asking(),
        }
    }

    /// Runs `steps` on a connection that cannot write.
    pub(super) async fn read(&self, isolation: Isolation, steps: Steps<Conn>) -> Result<(), StoreError> {
        let read = |answer| Read {
            isolation,
            steps,
            answer,
        };
        self.start_thread_if_needed();
        self.queue.ask(read).await
    }

    /// Runs `work` on the calling thread.
    pub(super) fn read_here<T>(
        &self,
        work: impl FnOnce(&mut Conn) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let thread = std::thread::current().id();
        let here = || self.here.lock().unwrap_or_else(PoisonError::into_inner);
        let mut reader = idle_of(thread, &mut here()).unwrap_or_else(|| Reader::new(&self.path));
        let read = reader.read(work);
        here().push((thread, reader));
        read
    }
}

/// Takes a connection, that of the thread if it is there: memory that another thread has allocated waits for that thread's
/// lock when it is freed.
fn idle_of(thread: ThreadId, idle: &mut Vec<(ThreadId, Reader)>) -> Option<Reader> {
    let own = idle.iter().rposition(|(user, _)| *user == thread);
    let place = own.or(idle.len().checked_sub(1))?;
    Some(idle.swap_remove(place).1)
}

struct Reader {
    path: PathBuf,
    conn: Option<Conn>,
}

impl Reader {
    fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            conn: None,
        }
    }

    fn serve(&mut self, reads: &Mutex<Receiver<Read>>) {
        loop {
            // Only the thread that waits holds the lock. It releases the lock before it runs the read.
            let read = reads
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .blocking_recv();
            let Some(read) = read else { return };
            if catch_unwind(AssertUnwindSafe(|| self.answer(read))).is_err() {
                self.conn = None;
            }
        }
    }

    /// A read changes nothing, so it is skipped if its caller is gone.
    fn answer(&mut self, mut read: Read) {
        if !read.answer.is_closed() {
            let ended = self.read(|conn| match read.isolation {
                Isolation::Statement => run((read.steps)(conn)),
                Isolation::Snapshot => in_snapshot(conn, &mut read.steps),
            });
            let _ = read.answer.send(ended.map_err(StoreError::from));
        }
    }

    fn read<T>(&mut self, work: impl FnOnce(&mut Conn) -> Result<T, Failure>) -> Result<T, Failure> {
        let conn = match &mut self.conn {
            Some(conn) => conn,
            none => none.insert(open(&self.path, &READER_SETTINGS)?),
        };
        let read = work(conn);
        if read.is_err() {
            // A snapshot may be open on it; closing it ends that.
            self.conn = None;
        }
        read
    }
}

fn in_snapshot(conn: &mut Conn, steps: &mut Steps<Conn>) -> Result<(), Failure> {
    execute(conn, "BEGIN")?;
    run(steps(conn))?;
    execute(conn, "COMMIT")
}
