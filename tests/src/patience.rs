//! Waiting for what another process does: looked at again and again until it holds or its time is up.

use std::time::{Duration, Instant};

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(20);

/// The first value that `look` finds. Fails with `what` was waited for once `within` has passed.
#[track_caller]
pub fn eventually<T>(what: &str, within: Duration, look: impl FnMut() -> Option<T>) -> T {
    eventually_or(what, within, look, String::new)
}

/// As [`eventually`], and `instead` says in a failure what there is instead.
#[track_caller]
pub fn eventually_or<T>(
    what: &str,
    within: Duration,
    mut look: impl FnMut() -> Option<T>,
    instead: impl FnOnce() -> String,
) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(
            started.elapsed() < within,
            "waited {within:?} in vain for: {what}{}",
            instead()
        );
        std::thread::sleep(PAUSE);
    }
}

/// Waits until `holds` does; fails with `what` was waited for once `within` has passed.
#[track_caller]
pub fn until(what: &str, within: Duration, mut holds: impl FnMut() -> bool) {
    eventually(what, within, || holds().then_some(()));
}
