//! The one thread that writes. It commits commands that wait at the same time in one transaction.
//!
//! A commit waits for the disk, some hundred times longer than a command's statements take. So commands that arrive
//! while the disk or another command is busy join the next commit. The first command of a transaction is undone with it,
//! before another one joins; each further one has a savepoint of its own. They are answered after the commit. So a command that
//! fails or panics is undone alone; a commit that fails fails all its commands.

use std::iter::once;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use bidloop_domain::port::StoreError;
use tokio::sync::mpsc::Receiver;

use super::connection::{Conn, WRITER_SETTINGS, execute, execute_once_free, open};
use super::log_limit::LogLimit;
use super::queue::{Answer, Queue, run};
use crate::backend::ConnectionLoad;
use crate::failure::Failure;
use crate::work::Steps;

/// No further command joins a transaction that has been open this long: other processes want to write too.
const OPEN_FOR: Duration = Duration::from_millis(if cfg!(test) {
    // Tests decide themselves what joins, on a machine of any speed.
    60_000
} else {
    10
});
/// How long to wait for other processes' transactions.
const LOCK_PATIENCE: Duration = Duration::from_secs(15);

/// A handle to the writing thread.
pub(super) struct Writer {
    queue: Queue<Command>,
}

impl Writer {
    /// Starts the thread. It ends when this is dropped and the queue is empty.
    pub(super) fn start(path: PathBuf) -> std::io::Result<Self> {
        let (queue, mut commands) = Queue::new();
        std::thread::Builder::new()
            .name("sqlite-writer".to_owned())
            .spawn(move || {
                WriterThread {
                    log: LogLimit::new(&path),
                    path,
                    conn: None,
                }
                .serve(&mut commands);
            })?;
        Ok(Self { queue })
    }

    pub(super) fn load(&self) -> ConnectionLoad {
        ConnectionLoad {
            kind: "writer",
            connections: 1,
            work: self.queue.asking(),
        }
    }

    /// Runs `steps` in the next transaction and answers once that is committed. They run whether or not the caller
    /// still waits.
    pub(super) async fn write(&self, steps: Steps<Conn>) -> Result<(), StoreError> {
        let command = |answer| Command {
            steps,
            ran: None,
            answer,
        };
        self.queue.ask(command).await
    }
}

/// Work on its way through the thread.
struct Command {
    steps: Steps<Conn>,
    ran: Option<Result<(), Failure>>,
    answer: Answer,
}

impl Command {
    /// Runs the steps; a panic is a failure. Returns whether they succeeded.
    fn run(&mut self, conn: &mut Conn) -> bool {
        let ran = catch_unwind(AssertUnwindSafe(|| run((self.steps)(conn))))
            .unwrap_or_else(|_| Err(Failure::fault("a command panicked".to_owned())));
        let succeeded = ran.is_ok();
        self.ran = Some(ran);
        succeeded
    }

    /// Answers the caller: as the work itself ended, or with `group_failure` if it was not committed.
    fn answer(self, group_failure: Option<&StoreError>) {
        let outcome = match (self.ran, group_failure) {
            (Some(Err(own)), _) => Err(own.into()),
            (_, Some(failure)) => Err(failure.clone()),
            (Some(Ok(())), None) => Ok(()),
            (None, None) => Err(StoreError::Backend("a command was not run".to_owned())),
        };
        // The caller may be gone; what was done is done.
        let _ = self.answer.send(outcome);
    }
}

struct WriterThread {
    path: PathBuf,
    log: LogLimit,
    conn: Option<Conn>,
}

impl WriterThread {
    fn serve(mut self, commands: &mut Receiver<Command>) {
        while let Some(mut first) = commands.blocking_recv() {
            let mut joined = Vec::new();
            let committed = self.commit_together(&mut first, &mut joined, commands);
            let failure = committed.err().map(StoreError::from);
            if failure.is_some() {
                // Its state is unknown. Closing it rolls back.
                self.conn = None;
            }
            for command in once(first).chain(joined) {
                command.answer(failure.as_ref());
            }
            if let Some(conn) = &mut self.conn {
                self.log.enforce(conn);
            }
        }
    }

    /// Runs a command, then what waits in the queue, and commits. What has run with the first one is put into `joined`. An
    /// error is everyone's.
    fn commit_together(
        &mut self,
        first: &mut Command,
        joined: &mut Vec<Command>,
        commands: &mut Receiver<Command>,
    ) -> Result<(), Failure> {
        let conn = match &mut self.conn {
            Some(conn) => conn,
            none => none.insert(open(&self.path, &WRITER_SETTINGS)?),
        };
        // Takes the write lock, or waits for it: other processes of the program write too.
        execute_once_free(conn, "BEGIN IMMEDIATE", LOCK_PATIENCE)?;
        let opened = Instant::now();
        // It can be undone with the transaction. For a savepoint SQLite keeps each changed page as it was.
        if !first.run(conn) {
            return execute(conn, "ROLLBACK");
        }
        while opened.elapsed() < OPEN_FOR
            && let Ok(mut command) = commands.try_recv()
        {
            let ran = run_in_savepoint(conn, &mut command);
            joined.push(command);
            ran?;
        }
        execute(conn, "COMMIT")
    }
}

/// A command that fails or panics is undone alone. Some errors (a full disk) roll back the transaction as a whole; then the
/// savepoint is gone too, and the error is the group's.
fn run_in_savepoint(conn: &mut Conn, command: &mut Command) -> Result<(), Failure> {
    execute(conn, "SAVEPOINT command")?;
    if !command.run(conn) {
        execute(conn, "ROLLBACK TO command")?;
    }
    execute(conn, "RELEASE command")
}
