//! Notices the status line of an answer at the moment it arrives.
//!
//! hyper returns an answer once its whole head is there. Success is decided by the status line alone (decision C4): a
//! receiver that sends `200` in time and then stalls within the headers has been reached, and a delivery that is sent
//! at most once must not be recorded as failed. hyper offers no event for the status line, so the stream under it is
//! watched. Nothing is changed or held back, and hyper alone judges whether the answer is proper HTTP.

use std::sync::{Arc, OnceLock};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;
use tokio_util::io::InspectReader;

/// A status line that has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StatusLine {
    pub(crate) status: u16,
    pub(crate) at: Instant,
}

/// Holds the final status line of a watched stream once it has arrived.
#[derive(Debug, Clone, Default)]
pub(crate) struct SeenStatusLine(Arc<OnceLock<StatusLine>>);

impl SeenStatusLine {
    pub(crate) fn get(&self) -> Option<StatusLine> {
        self.0.get().copied()
    }
}

/// The same stream, watched for the final status line of its incoming bytes.
pub(crate) fn watch<S>(stream: S) -> (impl AsyncRead + AsyncWrite + Unpin + Send, SeenStatusLine)
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let seen = SeenStatusLine::default();
    let found = seen.clone();
    let mut scan = Scan::default();
    let watched = InspectReader::new(stream, move |bytes: &[u8]| {
        if let Some(status) = scan.feed(bytes) {
            // The scan reports one status line, so the cell is still empty.
            let _ = found.0.set(StatusLine {
                status,
                at: Instant::now(),
            });
        }
    });
    (watched, seen)
}

/// Longer lines end the scan. A status line and the headers of an interim answer are far shorter.
const LONGEST_LINE: usize = 8 * 1024;

/// Reads lines up to the final status line.
#[derive(Debug, Default)]
struct Scan {
    line: Vec<u8>,
    within: Within,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Within {
    #[default]
    StatusLine,
    /// The headers of an interim answer (`100 Continue`, `103 Early Hints`), which end with an empty line.
    InterimHeaders,
    /// The status line has been found, or there is none.
    Rest,
}

impl Scan {
    /// Reads the next bytes. Returns the status once, when they contain the end of its line.
    fn feed(&mut self, bytes: &[u8]) -> Option<u16> {
        for &byte in bytes {
            if self.within == Within::Rest {
                return None;
            }
            if byte != b'\n' {
                self.line.push(byte);
                if self.line.len() > LONGEST_LINE {
                    self.within = Within::Rest;
                }
                continue;
            }
            let line = std::mem::take(&mut self.line);
            let line = line.strip_suffix(b"\r").unwrap_or(&line);
            match self.within {
                Within::InterimHeaders if line.is_empty() => self.within = Within::StatusLine,
                // An empty line before the status line is skipped, as hyper does.
                Within::StatusLine if !line.is_empty() => match status_of(line) {
                    Some(100 | 102..=199) => self.within = Within::InterimHeaders,
                    status => {
                        self.within = Within::Rest;
                        return status;
                    }
                },
                Within::StatusLine | Within::InterimHeaders | Within::Rest => {}
            }
        }
        None
    }
}

fn status_of(line: &[u8]) -> Option<u16> {
    let after_version = line
        .strip_prefix(b"HTTP/1.1 ")
        .or_else(|| line.strip_prefix(b"HTTP/1.0 "))?;
    let (code, reason) = after_version.split_at_checked(3)?;
    if !code.iter().all(u8::is_ascii_digit) || !(reason.is_empty() || reason.starts_with(b" ")) {
        return None;
    }
    std::str::from_utf8(code).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The status found when the bytes come in pieces of `size`.
    fn scan_in_pieces(bytes: &[u8], size: usize) -> Option<u16> {
        let mut scan = Scan::default();
        bytes.chunks(size).find_map(|piece| scan.feed(piece))
    }

    #[test]
    fn the_status_is_found_however_the_bytes_are_cut() {
        let answers: [(&[u8], Option<u16>); 12] = [
            (b"HTTP/1.1 200 OK\r\n", Some(200)),
            (b"HTTP/1.0 503 Service Unavailable\r\nx: y\r\n\r\n", Some(503)),
            (b"\r\nHTTP/1.1 204\r\n", Some(204)),
            (b"HTTP/1.1 200 OK\n", Some(200)),
            (b"HTTP/1.1 101 Switching Protocols\r\n", Some(101)),
            (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n", Some(200)),
            (
                b"HTTP/1.1 103 Early Hints\r\nlink: a\r\nlink: b\r\n\r\nHTTP/1.1 302 Found\r\n",
                Some(302),
            ),
            (b"HTTP/1.1 200 OK", None),
            (b"HTTP/1.1 2000 OK\r\n", None),
            (b"HTTP/1.1 20\r\n", None),
            (b"SSH-2.0-OpenSSH_9.6\r\nHTTP/1.1 200 OK\r\n", None),
            (b"HTTP/1.1 103 Early Hints\r\nHTTP/1.1 200 OK\r\n", None),
        ];
        for (answer, expected) in answers {
            for size in [1, 2, 7, answer.len()] {
                let answer_text = answer.escape_ascii();
                assert_eq!(scan_in_pieces(answer, size), expected, "{answer_text} by {size}");
            }
        }
    }

    #[test]
    fn a_line_without_end_is_not_kept() {
        let mut scan = Scan::default();
        for _ in 0..100 {
            assert_eq!(scan.feed(&[b'x'; 1024]), None);
        }
        assert!(scan.line.capacity() <= 2 * LONGEST_LINE);
    }
}
