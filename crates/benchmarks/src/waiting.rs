//! Waits for conditions, and for work on another thread.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, ensure};

/// The longest wait for a condition.
const PATIENCE: Duration = Duration::from_secs(180);

/// Checks a condition again and again, with pauses, until it holds. `what` names the condition in the error.
pub(crate) fn wait_until(what: &str, pause: Duration, condition: impl FnMut() -> Result<bool>) -> Result<()> {
    wait_until_within(PATIENCE, what, pause, condition)
}

/// As [`wait_until`], for as long as `patience`.
pub(crate) fn wait_until_within(
    patience: Duration,
    what: &str,
    pause: Duration,
    mut condition: impl FnMut() -> Result<bool>,
) -> Result<()> {
    let started = Instant::now();
    while !condition()? {
        ensure!(started.elapsed() < patience, "not within {patience:?}: {what}");
        std::thread::sleep(pause);
    }
    Ok(())
}

/// Runs `main` here and `other` on another thread. `other` is told to stop when `main` has ended. Returns both results.
pub(crate) fn alongside<M, O: Send>(
    other: impl FnOnce(&AtomicBool) -> Result<O> + Send,
    main: impl FnOnce() -> Result<M>,
) -> Result<(M, O)> {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| other(&stop));
        let main = main();
        stop.store(true, Ordering::Relaxed);
        let other = other.join().map_err(|_| anyhow!("a thread panicked"))?;
        Ok((main?, other?))
    })
}
