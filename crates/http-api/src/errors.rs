//! Status and body of every error: the one place that maps them (specification, Errors; decisions A2 and A3). The
//! Activity record takes its statuses from here. Internal details are logged and never sent.

use actix_web::HttpResponse;
use actix_web::http::{StatusCode, header};
use bidloop_domain::matching::json::shortened_name;
use bidloop_domain::port::{BlobError, StoreError};
use bidloop_domain::use_case::{AuthenticateError, LeadError};
use bidloop_http_server::{RequestBody, UseCaseFault, answer_holding};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// The `Retry-After` of every 503, in seconds.
const RETRY_AFTER_SECONDS: &str = "5";

/// The status that a request on a lead is answered with, for the Activity record.
pub(crate) fn http_status(outcome: Result<(), &LeadError>) -> u16 {
    let status = match outcome {
        Ok(()) => StatusCode::OK,
        Err(error) => Refusal::from(error.clone()).status,
    };
    status.as_u16()
}

/// The answer to a request that is refused, or fails.
#[derive(Debug)]
pub(crate) struct Refusal {
    status: StatusCode,
    message: String,
    /// The body's members beside status and message.
    details: Map<String, Value>,
    allow: Option<&'static str>,
    /// For the log.
    cause: Option<String>,
}

/// The Standard Error; with details a `ValidationError` or `QuotaError`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body {
    status_code: u16,
    error: &'static str,
    message: String,
    #[serde(flatten)]
    details: Map<String, Value>,
}

impl Refusal {
    fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
            details: Map::new(),
            allow: None,
            cause: None,
        }
    }

    /// No such route.
    pub(crate) fn unknown_route() -> Self {
        Self::new(StatusCode::NOT_FOUND, "no such address")
    }

    /// A known route that does not take this method.
    pub(crate) fn wrong_method(method: &str, allow: &'static str) -> Self {
        let method = shortened_name(method);
        let message = format!("the method {method} is not allowed here; allowed: {allow}");
        Self {
            allow: Some(allow),
            ..Self::new(StatusCode::METHOD_NOT_ALLOWED, message)
        }
    }

    /// A web page may not call the operations, or not so. `why` ends without a full stop.
    pub(crate) fn preflight(why: &str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, why)
    }

    /// The database is unavailable or not migrated.
    pub(crate) fn not_ready() -> Self {
        Self::unavailable("the service is not ready".to_owned())
    }

    /// The caller sends more than the service can hold. Callers cause it, so it is counted and not logged as an error.
    fn overloaded() -> Self {
        let message = "too many request bodies are on their way; try again later";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, message)
    }

    /// Some of the process's workers do not run.
    pub(crate) fn workers_down(workers: &[&str]) -> Self {
        let message = format!("these workers do not run: {}", workers.join(", "));
        Self::new(StatusCode::SERVICE_UNAVAILABLE, message)
    }

    fn unavailable(cause: String) -> Self {
        let message = "the service is temporarily unavailable; try again later";
        Self {
            cause: Some(cause),
            ..Self::new(StatusCode::SERVICE_UNAVAILABLE, message)
        }
    }

    /// A fault of the service.
    pub(crate) fn internal(cause: String) -> Self {
        Self {
            cause: Some(cause),
            ..Self::new(StatusCode::INTERNAL_SERVER_ERROR, "an internal error occurred")
        }
    }

    /// Answers a request whose body may not have been read to its end.
    pub(crate) fn answer(body: RequestBody, answer: Result<HttpResponse, Self>) -> HttpResponse {
        answer_holding(body, answer.unwrap_or_else(Self::into_response))
    }

    /// The answer. A cause is logged here, once, within the request's span.
    pub(crate) fn into_response(self) -> HttpResponse {
        self.log_cause();
        let mut response = HttpResponse::build(self.status);
        if self.status == StatusCode::UNAUTHORIZED {
            response.insert_header((header::WWW_AUTHENTICATE, "Bearer"));
        }
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            response.insert_header((header::RETRY_AFTER, RETRY_AFTER_SECONDS));
        }
        if let Some(methods) = self.allow {
            response.insert_header((header::ALLOW, methods));
        }
        response.json(self.body())
    }

    /// The answer's body as JSON. A cause is logged here, once.
    pub(crate) fn into_body(self) -> Value {
        self.log_cause();
        json!(self.body())
    }

    fn log_cause(&self) {
        if let Some(cause) = &self.cause {
            let status = self.status.as_u16();
            if self.status == StatusCode::SERVICE_UNAVAILABLE {
                tracing::warn!(status, cause, "a request cannot be served now");
            } else {
                tracing::error!(status, cause, "a request failed");
            }
        }
    }

    fn body(self) -> Body {
        Body {
            status_code: self.status.as_u16(),
            error: self.status.canonical_reason().unwrap_or_default(),
            message: self.message,
            details: self.details,
        }
    }
}

impl From<UseCaseFault> for Refusal {
    fn from(fault: UseCaseFault) -> Self {
        match fault {
            UseCaseFault::Panicked(_) => Self::internal(fault.to_string()),
            UseCaseFault::Cancelled => Self::unavailable(fault.to_string()),
        }
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unavailable(_) => Self::unavailable(error.to_string()),
            StoreError::Corrupt(_) | StoreError::Backend(_) => Self::internal(error.to_string()),
        }
    }
}

impl From<BlobError> for Refusal {
    fn from(error: BlobError) -> Self {
        match error {
            BlobError::Unavailable(_) => Self::unavailable(error.to_string()),
            BlobError::NotFound => Self::internal(error.to_string()),
        }
    }
}

impl From<AuthenticateError> for Refusal {
    fn from(error: AuthenticateError) -> Self {
        match error {
            AuthenticateError::Refused => Self::new(StatusCode::UNAUTHORIZED, error.to_string()),
            AuthenticateError::Store(error) => error.into(),
        }
    }
}

impl From<LeadError> for Refusal {
    fn from(error: LeadError) -> Self {
        let mut message = error.to_string();
        let details = error.details();
        let status = match error {
            LeadError::NotAuthorized(_) => StatusCode::UNAUTHORIZED,
            LeadError::ReceiverOverloaded => StatusCode::SERVICE_UNAVAILABLE,
            LeadError::CampaignUnknown | LeadError::LeadUnknown => StatusCode::NOT_FOUND,
            LeadError::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            LeadError::UnsupportedMediaType { .. } => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            LeadError::Malformed(errors) => {
                // Many clients show the message alone.
                if let Some(first) = errors.first() {
                    message = format!("{message}: {first}");
                }
                StatusCode::BAD_REQUEST
            }
            LeadError::QuotaUsedUp(_) => StatusCode::PAYMENT_REQUIRED,
            LeadError::BidTooLate(_) => StatusCode::CONFLICT,
            LeadError::File(fault) if fault.is_too_large() => StatusCode::PAYLOAD_TOO_LARGE,
            LeadError::Rules(_)
            | LeadError::NoConnectedAccount
            | LeadError::RejectionTooLate(_)
            | LeadError::UploadTooLate(_)
            | LeadError::UnexpectedPart { .. }
            | LeadError::File(_) => StatusCode::BAD_REQUEST,
            LeadError::Overloaded => return Self::overloaded(),
            LeadError::Blob(error) => return error.into(),
            LeadError::Store(error) => return error.into(),
        };
        Self {
            details,
            ..Self::new(status, message)
        }
    }
}

#[cfg(test)]
#[path = "errors_tests.rs"]
mod tests;
