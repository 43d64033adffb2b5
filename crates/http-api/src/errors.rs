//! Which error is answered how: the one place that maps errors to status and body (specification, Errors; decisions A2
//! and A3). The Activity record takes its statuses from here, too. Internal details go to the log, never into a body.

use actix_web::HttpResponse;
use actix_web::http::{StatusCode, header};
use bidloop_domain::bidding::ValidationFault;
use bidloop_domain::model::FieldError;
use bidloop_domain::port::{BlobError, StoreError};
use bidloop_domain::use_case::{AuthenticateError, LeadError};
use serde::Serialize;
use tokio::task::JoinError;

/// Seconds after which a caller may try again, sent with every 503.
const RETRY_AFTER_SECONDS: &str = "5";

/// The status with which a request on a lead is answered, for the Activity record.
pub(crate) fn http_status(outcome: Result<(), &LeadError>) -> u16 {
    let status = match outcome {
        Ok(()) => StatusCode::OK,
        Err(error) => Refusal::from(error.clone()).status,
    };
    status.as_u16()
}

/// An answer that is not the one asked for.
#[derive(Debug)]
pub(crate) struct Refusal {
    status: StatusCode,
    message: String,
    details: Option<Details>,
    allow: Option<&'static str>,
    /// For the log.
    cause: Option<String>,
}

/// What a body holds beside status and message.
#[derive(Debug, Serialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
enum Details {
    Malformed {
        errors: Vec<FieldError>,
    },
    Rules {
        errors: Vec<ValidationFault>,
    },
    Quota {
        code: &'static str,
        current_usage: u64,
        limit: u64,
        current_period_end: i64,
    },
}

/// The Standard Error; with details a `ValidationError` or `QuotaError`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body {
    status_code: u16,
    error: &'static str,
    message: String,
    #[serde(flatten)]
    details: Option<Details>,
}

impl Refusal {
    fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
            details: None,
            allow: None,
            cause: None,
        }
    }

    /// No such route.
    pub(crate) fn unknown_route() -> Self {
        Self::new(StatusCode::NOT_FOUND, "there is nothing at this address")
    }

    /// A known address, but not with this method.
    pub(crate) fn wrong_method(method: &str, allow: &'static str) -> Self {
        let message = format!("the method {method} is not allowed here; allowed: {allow}");
        Self {
            allow: Some(allow),
            ..Self::new(StatusCode::METHOD_NOT_ALLOWED, message)
        }
    }

    /// The database is away or not migrated.
    pub(crate) fn not_ready() -> Self {
        Self::unavailable("the service is not ready".to_owned())
    }

    fn unavailable(cause: String) -> Self {
        let message = "the service is temporarily unavailable; try again later";
        Self {
            cause: Some(cause),
            ..Self::new(StatusCode::SERVICE_UNAVAILABLE, message)
        }
    }

    fn internal(cause: String) -> Self {
        Self {
            cause: Some(cause),
            ..Self::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "something went wrong on our side",
            )
        }
    }

    /// The answer. What has a cause is logged here, once, within the request's span.
    pub(crate) fn into_response(self) -> HttpResponse {
        if let Some(cause) = &self.cause {
            tracing::error!(status = self.status.as_u16(), cause, "a request failed");
        }
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
        response.json(Body {
            status_code: self.status.as_u16(),
            error: self.status.canonical_reason().unwrap_or_default(),
            message: self.message,
            details: self.details,
        })
    }
}

impl From<JoinError> for Refusal {
    fn from(error: JoinError) -> Self {
        if error.is_panic() {
            Self::internal(format!("a use case panicked: {error}"))
        } else {
            Self::unavailable(format!("a use case was not run to its end: {error}"))
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
        let mut details = None;
        let status = match error {
            LeadError::CampaignUnknown | LeadError::LeadUnknown => StatusCode::NOT_FOUND,
            LeadError::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            LeadError::UnsupportedMediaType { .. } => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            LeadError::Malformed(errors) => {
                // The message names the first fault, for those who read no further.
                if let Some(first) = errors.first() {
                    message = format!("{message}: {first}");
                }
                details = Some(Details::Malformed { errors });
                StatusCode::BAD_REQUEST
            }
            LeadError::Rules(errors) => {
                details = Some(Details::Rules { errors });
                StatusCode::BAD_REQUEST
            }
            LeadError::QuotaUsedUp(usage) => {
                details = Some(Details::Quota {
                    code: "proposal_limit_reached",
                    current_usage: usage.used,
                    limit: usage.limit,
                    current_period_end: usage.period_end.as_seconds(),
                });
                StatusCode::PAYMENT_REQUIRED
            }
            LeadError::BidTooLate(_) => StatusCode::CONFLICT,
            LeadError::File(fault) if fault.is_too_large() => StatusCode::PAYLOAD_TOO_LARGE,
            LeadError::NoConnectedAccount
            | LeadError::RejectionTooLate(_)
            | LeadError::UploadTooLate(_)
            | LeadError::UnexpectedPart { .. }
            | LeadError::File(_) => StatusCode::BAD_REQUEST,
            LeadError::Blob(error) => return error.into(),
            LeadError::Store(error) => return error.into(),
        };
        Self {
            details,
            ..Self::new(status, message)
        }
    }
}
