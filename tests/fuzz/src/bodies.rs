//! JSON bodies of bids and rejections.

use crate::case::Case;
use crate::cost::bounded;
use crate::world::{self, KEY};

/// Sends the input as a body. The answer is one of the documented statuses, and answer and record are small.
pub fn bodies(data: &[u8]) {
    let Some(case) = Case::of(data) else { return };
    let operation = if case.choice & 1 == 0 { "bid" } else { "reject" };
    let path = world::path(usize::from(case.choice >> 1 & 1), operation);
    let size = case.content.len();
    let answer = bounded(size, || {
        world::post(&path, "application/json", KEY, case.content.clone())
    });
    assert!(
        [200, 400].contains(&answer.status),
        "status {}: {}",
        answer.status,
        String::from_utf8_lossy(&answer.body)
    );
    assert!(
        answer.body.len() < 64 * 1024,
        "{} bytes of answer",
        answer.body.len()
    );
    // An accepted letter is stored as it is.
    let kept = if answer.status == 200 { size } else { 0 };
    assert!(
        answer.recorded < 64 * 1024 + kept,
        "{} bytes of Activity",
        answer.recorded
    );
}
