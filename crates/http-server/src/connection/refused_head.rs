//! [`RefusedHead`]: the answer to bytes that are no request.
//!
//! The server's parser answers such bytes with a status line and no body, and offers no hook. So the stream looks at what
//! the server writes while no request is open: [`parser_answer`] finds the parser's answer at its end, and a Standard Error
//! is sent instead. Heads that are too long or too slow are never parsed; the stream refuses them itself, in the same way.
//!
//! A malformed chunk is another case: the parser takes it for a broken connection and gives the connection up, with the
//! request and its answer. So the stream answers when it is dropped.
//!
//! The connection ends after it, since nobody knows where the next request would begin. What still comes is read and
//! dropped until the peer closes: a connection that is closed with bytes unread is reset, and the peer would lose the
//! answer.

use actix_web::http::StatusCode;
use bytes::Bytes;
use serde_json::json;

/// The most bytes that are read behind a head that was refused.
pub(super) const DROPPED_AT_MOST: usize = 1024 * 1024;

/// The most bytes of the parser's own answer.
const LONGEST_PARSER_ANSWER: usize = 256;

/// A head that was refused.
#[derive(Debug, Default)]
pub(super) struct RefusedHead {
    /// What is left to be written of the answer.
    pub(super) unsent: Bytes,
    pub(super) dropped_bytes: usize,
}

impl RefusedHead {
    pub(super) fn answered_with(answer: Bytes) -> Self {
        Self {
            unsent: answer,
            dropped_bytes: 0,
        }
    }
}

/// A Standard Error, as bytes of the connection.
pub(super) fn answer(status: StatusCode, request_id: &str) -> Bytes {
    let message = match status {
        StatusCode::REQUEST_TIMEOUT => "the request's line and headers did not arrive in time",
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => {
            "the request's line and headers are too long, or too many"
        }
        StatusCode::INTERNAL_SERVER_ERROR => "an internal error occurred",
        _ => "the request's line, headers or chunks are not valid HTTP/1.1",
    };
    let reason = status.canonical_reason().unwrap_or_default();
    let code = status.as_u16();
    let body = json!({"statusCode": code, "error": reason, "message": message}).to_string();
    Bytes::from(format!(
        "HTTP/1.1 {code} {reason}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\
         cache-control: no-store\r\nx-request-id: {request_id}\r\n\r\n{body}",
        body.len()
    ))
}

/// The parser's own answer at the end of what the server writes: where it begins, and its status.
///
/// It has these headers and no others. An answer to a request has at least a request id, too.
pub(super) fn parser_answer(written: &[u8]) -> Option<(usize, StatusCode)> {
    let ended = written.strip_suffix(b"\r\n\r\n")?;
    let tail = &ended[ended.len().saturating_sub(LONGEST_PARSER_ANSWER)..];
    let start = tail.windows(7).rposition(|window| window == b"HTTP/1.")?;
    let mut lines = std::str::from_utf8(&tail[start..]).ok()?.split("\r\n");
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let status = StatusCode::from_u16(status).ok()?;
    let is_of_parser = |line: &str| {
        line == "content-length: 0" || line.starts_with("connection: ") || line.starts_with("date: ")
    };
    let is_error = status.is_client_error() || status.is_server_error();
    (is_error && lines.all(is_of_parser)).then_some((ended.len() - tail.len() + start, status))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OF_PARSER: &str = "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\
                             date: Thu, 01 Jan 1970 00:00:00 GMT\r\n\r\n";

    #[test]
    fn the_parsers_answer_is_found_behind_the_answers_to_requests() {
        let status = StatusCode::BAD_REQUEST;
        assert_eq!(parser_answer(OF_PARSER.as_bytes()), Some((0, status)));
        let ok = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nx-request-id: a\r\n\r\nok";
        let both = format!("{ok}{OF_PARSER}");
        assert_eq!(parser_answer(both.as_bytes()), Some((ok.len(), status)));
        let long = format!("{}{OF_PARSER}", "x".repeat(100_000));
        assert_eq!(parser_answer(long.as_bytes()), Some((100_000, status)));
    }

    #[test]
    fn answers_to_requests_are_left_alone() {
        for answer in [
            "",
            "HTTP/1.1 100 Continue\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 0\r\ndate: x\r\n\r\n",
            "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nx-request-id: a\r\ndate: x\r\n\r\n",
            "HTTP/1.1 400 Bad Request\r\ncontent-length: 4\r\ndate: x\r\n\r\nbody",
            &format!("{OF_PARSER}more"),
        ] {
            assert_eq!(parser_answer(answer.as_bytes()), None, "{answer}");
        }
    }

    #[test]
    fn the_answer_is_a_standard_error_of_the_length_that_it_declares() {
        for status in [400, 408, 431, 500] {
            let status = StatusCode::from_u16(status).unwrap();
            let text = String::from_utf8(answer(status, "an-id").to_vec()).unwrap();
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            assert!(
                head.contains(&format!("content-length: {}\r\n", body.len())),
                "{head}"
            );
            assert!(head.contains("\r\nx-request-id: an-id"), "{head}");
            let body: serde_json::Value = serde_json::from_str(body).unwrap();
            assert_eq!(body["statusCode"], status.as_u16());
            assert_eq!(body["error"], status.canonical_reason().unwrap());
        }
    }
}
