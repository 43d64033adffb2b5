//! Bodies of uploads.

use crate::case::Case;
use crate::cost::bounded;
use crate::world::{self, KEY};

/// Sends the input as a multipart body with the boundary `B`, after a well-formed beginning or as it is. The answer is
/// one of the documented statuses.
pub fn multipart(data: &[u8]) {
    let Some(case) = Case::of(data) else { return };
    let begin: &[u8] = match case.choice % 3 {
        0 => b"",
        1 => b"--B\r\n",
        _ => b"--B\r\nContent-Disposition: form-data; name=\"files\"; filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\n",
    };
    let body = [begin, &case.content].concat();
    let size = body.len();
    let path = world::path(0, "attachments");
    let answer = bounded(size, || {
        world::post(&path, "multipart/form-data; boundary=B", KEY, body.clone())
    });
    assert!(
        [200, 400, 413].contains(&answer.status),
        "status {}: {}",
        answer.status,
        String::from_utf8_lossy(&answer.body)
    );
    assert!(
        answer.body.len() < 64 * 1024,
        "{} bytes of answer",
        answer.body.len()
    );
    assert!(
        answer.recorded < 64 * 1024,
        "{} bytes of Activity",
        answer.recorded
    );
}
