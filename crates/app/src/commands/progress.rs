//! Progress of long work, on standard error: one line that is written anew on a terminal, else a line of the log now and
//! then.

use std::fmt::Write as _;
use std::future::Future;
use std::io::{IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

/// Work that takes less is not mentioned.
const QUIET_FOR: Duration = Duration::from_secs(1);
/// The time between two updates of the line on a terminal.
const ON_TERMINALS: Duration = Duration::from_millis(200);
/// The time between two lines of the log.
const IN_LOGS: Duration = Duration::from_secs(10);

/// How far some work is.
#[derive(Debug)]
pub(super) struct Progress {
    what: &'static str,
    on_terminal: bool,
    done: AtomicU64,
    /// 0 as long as it is unknown.
    of: AtomicU64,
}

impl Progress {
    /// Of a command's work, such as `Migrating the database`.
    pub(super) fn of(what: &'static str) -> Self {
        Self {
            on_terminal: std::io::stderr().is_terminal(),
            ..Self::logged(what)
        }
    }

    /// Of work beside which other lines are logged.
    pub(super) fn logged(what: &'static str) -> Self {
        Self {
            what,
            on_terminal: false,
            done: AtomicU64::new(0),
            of: AtomicU64::new(0),
        }
    }

    /// Notes how much is done, of how much.
    pub(super) fn note(&self, done: u64, of: u64) {
        self.done.store(done, Ordering::Relaxed);
        self.of.store(of, Ordering::Relaxed);
    }

    /// Does the work, and shows meanwhile how far it is.
    pub(super) async fn during<T>(&self, work: impl Future<Output = T>) -> T {
        let started = Instant::now();
        let interval = if self.on_terminal { ON_TERMINALS } else { IN_LOGS };
        let mut ticks = tokio::time::interval_at(started + QUIET_FOR, interval);
        let mut work = std::pin::pin!(work);
        let mut is_shown = false;
        loop {
            tokio::select! {
                biased;
                done = &mut work => {
                    if is_shown {
                        rewrite("");
                    }
                    return done;
                }
                _ = ticks.tick() => {
                    let line = self.line(started.elapsed());
                    if self.on_terminal {
                        is_shown = true;
                        rewrite(&line);
                    } else {
                        tracing::info!("{line}");
                    }
                }
            }
        }
    }

    fn line(&self, elapsed: Duration) -> String {
        let mut line = format!("{} … {} s", self.what, elapsed.as_secs());
        let (done, of) = (self.done.load(Ordering::Relaxed), self.of.load(Ordering::Relaxed));
        if let Some(percent) = done.saturating_mul(100).checked_div(of) {
            // Writing to a string does not fail.
            let _ = write!(line, ", {done} of {of} ({percent} %)");
        }
        line
    }
}

/// Replaces the terminal's current line. Progress that cannot be shown is not missed.
fn rewrite(line: &str) {
    let mut err = std::io::stderr().lock();
    let _ = write!(err, "\r\u{1b}[K{line}").and_then(|()| err.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_is_done_and_how_far_it_is() {
        let progress = Progress::of("Matching stored jobs");
        assert_eq!(
            progress.line(Duration::from_secs(3)),
            "Matching stored jobs … 3 s"
        );
        progress.note(0, 0);
        assert_eq!(
            progress.line(Duration::from_secs(3)),
            "Matching stored jobs … 3 s"
        );
        progress.note(250, 1_000);
        assert_eq!(
            progress.line(Duration::from_secs(12)),
            "Matching stored jobs … 12 s, 250 of 1000 (25 %)"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn the_works_result_is_passed_on() {
        let progress = Progress::of("Waiting");
        let work = async {
            tokio::time::sleep(Duration::from_secs(25)).await;
            7
        };
        assert_eq!(progress.during(work).await, 7);
    }
}
