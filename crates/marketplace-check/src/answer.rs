//! An answer as it arrived, or why there is none. Nothing is read into the domain's types, so that faults stay visible.

use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, StatusCode, Version};
use serde_json::Value;

/// The most characters of an answer in a report.
const SHOWN_CHARS: usize = 200;

/// One call and its outcome.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// The request line, for the report: `GET /api/jobs?limit=3`.
    pub(crate) call: String,
    pub(crate) outcome: Result<Answer, NoAnswer>,
}

impl Asked {
    /// The answer of a call with a status of success.
    pub(crate) fn success(&self) -> Option<&Answer> {
        self.outcome
            .as_ref()
            .ok()
            .filter(|answer| answer.status.is_success())
    }

    /// The call with its answer, in one line.
    pub(crate) fn shown(&self) -> String {
        match &self.outcome {
            Ok(answer) => format!("{} → {}", self.call, answer.shown()),
            Err(fault) => format!("{} → {fault}", self.call),
        }
    }

    /// The same without the body of a success, which may be large.
    pub(crate) fn without_page(&self) -> Self {
        let mut asked = self.clone();
        if let Ok(answer) = &mut asked.outcome
            && answer.status.is_success()
        {
            answer.body = Bytes::new();
        }
        asked
    }
}

/// A whole answer.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) version: Version,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// Whether the body was JSON when it arrived.
    pub(crate) is_json: bool,
}

impl Answer {
    pub(crate) fn new(status: StatusCode, version: Version, headers: HeaderMap, body: Bytes) -> Self {
        let is_json = serde_json::from_slice::<serde::de::IgnoredAny>(&body).is_ok();
        Self {
            status,
            version,
            headers,
            body,
            is_json,
        }
    }

    /// The body; null if it is not JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The protocol's error body, if this is one.
    pub(crate) fn error_body(&self) -> Option<ErrorBody> {
        let body = self.json();
        let text = |name: &str| {
            body[name]
                .as_str()
                .filter(|text| !text.is_empty())
                .map(str::to_owned)
        };
        Some(ErrorBody {
            code: text("code")?,
            proposal_id: text("proposalId"),
            _message: text("message")?,
        })
    }

    /// A header as text; empty without it.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    }

    /// Whether the headers say that the body is plain JSON.
    pub(crate) fn is_declared_json(&self) -> bool {
        let media_type = self
            .header(CONTENT_TYPE.as_str())
            .split(';')
            .next()
            .unwrap_or_default();
        let media_type = media_type.trim().to_ascii_lowercase();
        let is_json = media_type == "application/json" || media_type.ends_with("+json");
        is_json && ["", "identity"].contains(&self.header(CONTENT_ENCODING.as_str()))
    }

    /// Status and the body's beginning, on one line.
    pub(crate) fn shown(&self) -> String {
        let text = String::from_utf8_lossy(&self.body);
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut shown: String = line.chars().take(SHOWN_CHARS).collect();
        if shown.len() < line.len() {
            shown.push('…');
        }
        format!("{} {shown}", self.status.as_u16()).trim_end().to_owned()
    }
}

/// `{"code", "message"}`, with the proposal's id of `already_applied`.
#[derive(Debug, Clone)]
pub(crate) struct ErrorBody {
    pub(crate) code: String,
    pub(crate) proposal_id: Option<String>,
    _message: String,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NoAnswer {
    /// Earlier calls had no answer, so this one was not made.
    NotAsked,
    /// Nothing accepts connections.
    Unreachable(String),
    /// The time-out passed.
    Late(u128),
    /// The connection ended early, or what came is not HTTP.
    Broken(String),
    /// The body has more bytes than the service reads.
    TooLarge(usize),
}

impl std::fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotAsked => f.write_str("not asked, since earlier calls had no answer"),
            Self::Unreachable(error) => write!(f, "no connection: {error}"),
            Self::Late(millis) => write!(f, "no answer within {millis} ms"),
            Self::Broken(error) => write!(f, "no answer: {error}"),
            Self::TooLarge(most) => write!(f, "an answer of more than {most} bytes"),
        }
    }
}
