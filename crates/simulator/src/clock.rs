//! The simulator's clock.

use std::time::{SystemTime, UNIX_EPOCH};

/// Now, in UNIX milliseconds.
#[expect(
    clippy::disallowed_methods,
    reason = "the simulated marketplace keeps its own time, as a real one would"
)]
pub(crate) fn now_ms() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .ok()
        .and_then(|since| i64::try_from(since.as_millis()).ok())
        .unwrap_or(0)
}
