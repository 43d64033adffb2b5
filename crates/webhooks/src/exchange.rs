//! One request over an open connection, and the part of its answer that is kept.
//!
//! Decides which part of an answer counts (the status line) and which is kept (the first 2 KiB of the body). Which status
//! is a success is decided by the caller.

use std::convert::Infallible;
use std::error::Error as _;
use std::future::pending;
use std::io;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, timeout_at};

use crate::status_line::{StatusLine, watch};

/// How much of an answer's body the Activity record shows (decision C8).
const SHOWN_BYTES: usize = 2 * 1024;

/// How long the body may take after the status line. It decides nothing, so the wait is short.
const BODY_WAIT: Duration = Duration::from_secs(1);

/// How much of an answer is buffered. It also bounds the answer's head.
const BUFFER_BYTES: usize = 64 * 1024;

/// The answer of a receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status_line: StatusLine,
    /// The first 2 KiB of the body, or fewer if it stalled or broke off.
    pub(crate) body: String,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NoAnswer {
    /// No status line before the deadline.
    Timeout,
    /// The connection broke before a status line, or the answer was not HTTP.
    Protocol(String),
}

/// Sends `request` and reads its answer: the status line until `deadline`, then the start of the body for a moment.
/// Closes the connection on return, even if more of the answer is still to come.
pub(crate) async fn exchange<S>(
    stream: S,
    request: Request<Full<Bytes>>,
    deadline: Instant,
) -> Result<Answer, NoAnswer>
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let (stream, seen) = watch(stream);
    let (mut requests, connection) = http1::Builder::new()
        .max_buf_size(BUFFER_BYTES)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(|error| NoAnswer::Protocol(describe(&error)))?;

    let answer = async {
        let response = match timeout_at(deadline, requests.send_request(request)).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => {
                return match seen.get() {
                    Some(status_line) if broke_off(&error) => Ok(without_body(status_line)),
                    _ => Err(NoAnswer::Protocol(describe(&error))),
                };
            }
            Err(_) => return seen.get().map(without_body).ok_or(NoAnswer::Timeout),
        };
        let status_line = seen.get().unwrap_or_else(|| StatusLine {
            status: response.status().as_u16(),
            at: Instant::now(),
        });
        let body_deadline = deadline.min(status_line.at + BODY_WAIT);
        let body = start_of(response.into_body(), body_deadline).await;
        Ok(Answer { status_line, body })
    };
    // The connection moves the bytes and has no result of its own: an error on it is reported to `answer`.
    let drive = async {
        let _ = connection.await;
        pending::<Infallible>().await
    };

    tokio::select! {
        biased;
        answer = answer => answer,
        never = drive => match never {},
    }
}

fn without_body(status_line: StatusLine) -> Answer {
    Answer {
        status_line,
        body: String::new(),
    }
}

/// Whether the connection ended in the middle of an answer, instead of returning something that is not HTTP or never
/// taking the request.
fn broke_off(error: &hyper::Error) -> bool {
    error.is_incomplete_message()
        || error
            .source()
            .is_some_and(<dyn std::error::Error>::is::<io::Error>)
}

/// hyper's message and that of the cause, which has the details.
fn describe(error: &hyper::Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

async fn start_of(mut body: Incoming, deadline: Instant) -> String {
    let mut start = Vec::new();
    let mut cut = false;
    while !cut {
        // At the end, a stall or a broken connection, the bytes so far are kept. Nothing else follows from it.
        let Ok(Some(Ok(frame))) = timeout_at(deadline, body.frame()).await else {
            break;
        };
        let Some(data) = frame.data_ref() else { continue };
        let wanted = SHOWN_BYTES - start.len();
        start.extend_from_slice(&data[..data.len().min(wanted)]);
        cut = start.len() == SHOWN_BYTES;
    }
    shown_text(&start, cut)
}

/// The bytes as text that any database can hold: U+FFFD replaces invalid UTF-8, and NUL, which PostgreSQL's text refuses.
/// If the bytes were cut, an incomplete last character is left out.
fn shown_text(bytes: &[u8], cut: bool) -> String {
    let end = match std::str::from_utf8(bytes) {
        Err(error) if cut && error.error_len().is_none() => error.valid_up_to(),
        _ => bytes.len(),
    };
    String::from_utf8_lossy(&bytes[..end]).replace('\0', "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_a_text_cannot_contain_are_replaced() {
        assert_eq!(
            shown_text(b"ok \xff\xfe \0 done", false),
            "ok \u{fffd}\u{fffd} \u{fffd} done"
        );
    }

    #[test]
    fn a_character_that_the_cut_went_through_is_left_out() {
        let euro = "a€".as_bytes();
        assert_eq!(shown_text(euro, true), "a€");
        assert_eq!(shown_text(&euro[..3], true), "a");
        assert_eq!(shown_text(&euro[..3], false), "a\u{fffd}");
    }
}
