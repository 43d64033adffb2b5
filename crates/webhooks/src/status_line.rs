//! Noticing the status line of an answer the moment it arrives.
//!
//! hyper hands an answer over once its whole head is there, but what decides about a delivery is the status
//! line alone (decision C4): a receiver that answers 200 in time and then stalls has been reached. So the
//! stream under hyper is watched. Nothing is changed or held back, and hyper alone judges whether the
//! answer is proper HTTP.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

/// A status line that has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StatusLine {
    pub(crate) status: u16,
    pub(crate) at: Instant,
}

/// Where the watch over a stream leaves the final status line.
#[derive(Debug, Clone, Default)]
pub(crate) struct SeenStatusLine(Arc<OnceLock<StatusLine>>);

impl SeenStatusLine {
    pub(crate) fn get(&self) -> Option<StatusLine> {
        self.0.get().copied()
    }
}

/// A stream whose incoming bytes are watched for the final status line.
#[derive(Debug)]
pub(crate) struct WatchedStream<S> {
    inner: S,
    scan: Scan,
    seen: SeenStatusLine,
}

impl<S> WatchedStream<S> {
    pub(crate) fn new(inner: S) -> Self {
        Self {
            inner,
            scan: Scan::default(),
            seen: SeenStatusLine::default(),
        }
    }

    pub(crate) fn seen(&self) -> SeenStatusLine {
        self.seen.clone()
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WatchedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(context, buffer))?;
        if let Some(status) = self.scan.feed(&buffer.filled()[before..]) {
            // The scan reports one status line, so the cell is still empty.
            let _ = self.seen.0.set(StatusLine {
                status,
                at: Instant::now(),
            });
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WatchedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

/// Longer lines end the scan; a status line and the headers of an interim answer are far shorter.
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
    /// Takes the next bytes; the status once, when the end of its line is among them.
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
                // An empty line before the status line is passed over, as hyper does.
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
