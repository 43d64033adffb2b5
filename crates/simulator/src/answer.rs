//! The answer to a call: a status with JSON, or a refusal `{"code", "message"}`.

use bytes::Bytes;
use http::StatusCode;
use http::header::{ALLOW, CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use http_body_util::Full;
use hyper::Response;
use serde_json::{Value, json};

/// The answer to a call.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) body: Bytes,
    pub(crate) content_type: &'static str,
    pub(crate) retry_after: Option<String>,
    pub(crate) allow: Option<String>,
}

impl Answer {
    pub(crate) fn json(status: StatusCode, value: &Value) -> Self {
        Self::text(status, value.to_string())
    }

    pub(crate) fn text(status: StatusCode, json: String) -> Self {
        Self {
            status,
            body: Bytes::from(json),
            content_type: "application/json",
            retry_after: None,
            allow: None,
        }
    }

    /// A gateway's page, which says nothing about the call.
    pub(crate) fn gateway(status: StatusCode) -> Self {
        Self {
            content_type: "text/html",
            ..Self::text(status, format!("<html><h1>{status}</h1></html>"))
        }
    }

    pub(crate) fn into_response(self) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::new(self.body));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.content_type));
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        for (name, text) in [(RETRY_AFTER, self.retry_after), (ALLOW, self.allow)] {
            if let Some(value) = text.and_then(|text| HeaderValue::from_str(&text).ok()) {
                headers.insert(name, value);
            }
        }
        response
    }
}

/// A refused call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) code: &'static str,
    pub(crate) message: String,
    /// Only for `already_applied`.
    pub(crate) proposal_id: Option<String>,
}

impl Refusal {
    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            code,
            message: message.into(),
            proposal_id: None,
        }
    }

    /// 422 `invalid`: the content of a proposal or an upload cannot be accepted.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid", message)
    }

    /// 400 `bad_request`: the call itself is malformed.
    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad_request", message)
    }

    pub(crate) fn job_not_found(id: &str) -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "job_not_found",
            format!("no job has the id {id}"),
        )
    }

    pub(crate) fn invalid_token() -> Self {
        Self::new(
            StatusCode::UNAUTHORIZED,
            "invalid_token",
            "the token belongs to no account",
        )
    }
}

impl From<Refusal> for Answer {
    fn from(refusal: Refusal) -> Self {
        let mut body = json!({"code": refusal.code, "message": refusal.message});
        if let Some(id) = refusal.proposal_id {
            body["proposalId"] = Value::String(id);
        }
        Answer::json(refusal.status, &body)
    }
}
