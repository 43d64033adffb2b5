//! Which failure is answered how: the one place that maps use-case errors to status and body (specification,
//! Errors; decisions A2 and A3). What is internal goes to the log, never into a body.

use actix_web::HttpResponse;
use actix_web::http::{StatusCode, header};
use bidloop_domain::bidding::{QuotaUsage, ValidationFault};
use bidloop_domain::model::ShapeFault;
use bidloop_domain::port::{BlobError, StoreError};
use bidloop_domain::use_case::{
    AuthenticateError, ListLeadsError, LocateLeadError, RejectLeadError, RequestFault, SubmitBidError,
    UploadError,
};
use serde::Serialize;
use tokio::task::JoinError;

/// Seconds after which a caller may try again, sent with every 503.
const RETRY_AFTER_SECONDS: &str = "5";

/// An answer that is not the one asked for.
#[derive(Debug)]
pub(crate) struct Refusal {
    status: StatusCode,
    body: Body,
    allow: Option<&'static str>,
    /// For the log.
    cause: Option<String>,
}

#[derive(Debug)]
enum Body {
    Standard {
        message: String,
        errors: Option<Vec<ShapeFault>>,
    },
    Validation {
        message: String,
        errors: Vec<ValidationFault>,
    },
    Quota {
        message: String,
        usage: QuotaUsage,
    },
}

impl Refusal {
    fn standard(status: StatusCode, message: impl Into<String>) -> Self {
        Self {
            status,
            body: Body::Standard {
                message: message.into(),
                errors: None,
            },
            allow: None,
            cause: None,
        }
    }

    /// No such route.
    pub(crate) fn unknown_route() -> Self {
        Self::standard(StatusCode::NOT_FOUND, "there is nothing at this address")
    }

    /// An id in the path that no campaign can have.
    pub(crate) fn campaign_unknown() -> Self {
        SubmitBidError::CampaignUnknown.into()
    }

    /// A known address, but not with this method.
    pub(crate) fn wrong_method(method: &str, allow: &'static str) -> Self {
        let message = format!("the method {method} is not allowed here; allowed: {allow}");
        Self {
            allow: Some(allow),
            ..Self::standard(StatusCode::METHOD_NOT_ALLOWED, message)
        }
    }

    /// The database is away or not migrated.
    pub(crate) fn not_ready() -> Self {
        Self::unavailable("the service is not ready".to_owned())
    }

    fn unavailable(cause: String) -> Self {
        Self {
            cause: Some(cause),
            ..Self::standard(
                StatusCode::SERVICE_UNAVAILABLE,
                "the service is temporarily unavailable; try again later",
            )
        }
    }

    fn internal(cause: String) -> Self {
        Self {
            cause: Some(cause),
            ..Self::standard(
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
        let status_code = self.status.as_u16();
        let error = self.status.canonical_reason().unwrap_or_default();
        match self.body {
            Body::Standard { message, errors } => response.json(StandardError {
                status_code,
                error,
                message,
                errors,
            }),
            Body::Validation { message, errors } => response.json(StandardError {
                status_code,
                error,
                message,
                errors: Some(errors),
            }),
            Body::Quota { message, usage } => response.json(QuotaError {
                status_code,
                error,
                message,
                code: "proposal_limit_reached",
                current_usage: usage.used,
                limit: usage.limit,
                current_period_end: usage.period_end.as_seconds(),
            }),
        }
    }
}

/// The Standard Error, and with coded entries the `ValidationError`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StandardError<E> {
    status_code: u16,
    error: &'static str,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    errors: Option<Vec<E>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct QuotaError {
    status_code: u16,
    error: &'static str,
    message: String,
    code: &'static str,
    current_usage: u64,
    limit: u64,
    current_period_end: i64,
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
            AuthenticateError::Refused => Self::standard(StatusCode::UNAUTHORIZED, error.to_string()),
            AuthenticateError::Store(error) => error.into(),
        }
    }
}

impl From<RequestFault> for Refusal {
    fn from(fault: RequestFault) -> Self {
        let message = fault.to_string();
        match fault {
            RequestFault::TooLarge { .. } => Self::standard(StatusCode::PAYLOAD_TOO_LARGE, message),
            RequestFault::UnsupportedMediaType { .. } => {
                Self::standard(StatusCode::UNSUPPORTED_MEDIA_TYPE, message)
            }
            RequestFault::Shape(errors) => Self {
                body: Body::Standard {
                    message: shape_message(message, &errors),
                    errors: Some(errors),
                },
                ..Self::standard(StatusCode::BAD_REQUEST, "")
            },
        }
    }
}

/// Says the first fault in the message too, for those who read no further.
fn shape_message(message: String, faults: &[ShapeFault]) -> String {
    match faults.first() {
        Some(first) => format!("{message}: {first}"),
        None => message,
    }
}

impl From<ListLeadsError> for Refusal {
    fn from(error: ListLeadsError) -> Self {
        match error {
            ListLeadsError::CampaignUnknown => Self::standard(StatusCode::NOT_FOUND, error.to_string()),
            ListLeadsError::Store(error) => error.into(),
        }
    }
}

impl From<LocateLeadError> for Refusal {
    fn from(error: LocateLeadError) -> Self {
        match error {
            LocateLeadError::CampaignUnknown | LocateLeadError::LeadUnknown => {
                Self::standard(StatusCode::NOT_FOUND, error.to_string())
            }
            LocateLeadError::Store(error) => error.into(),
        }
    }
}

impl From<SubmitBidError> for Refusal {
    fn from(error: SubmitBidError) -> Self {
        let message = error.to_string();
        match error {
            SubmitBidError::CampaignUnknown | SubmitBidError::LeadUnknown => {
                Self::standard(StatusCode::NOT_FOUND, message)
            }
            SubmitBidError::Request(fault) => fault.into(),
            SubmitBidError::Rules(errors) => Self {
                body: Body::Validation { message, errors },
                ..Self::standard(StatusCode::BAD_REQUEST, "")
            },
            SubmitBidError::LeadNotNew(_) => Self::standard(StatusCode::CONFLICT, message),
            SubmitBidError::NoConnectedAccount => Self::standard(StatusCode::BAD_REQUEST, message),
            SubmitBidError::QuotaUsedUp(usage) => Self {
                body: Body::Quota { message, usage },
                ..Self::standard(StatusCode::PAYMENT_REQUIRED, "")
            },
            SubmitBidError::Store(error) => error.into(),
        }
    }
}

impl From<RejectLeadError> for Refusal {
    fn from(error: RejectLeadError) -> Self {
        let message = error.to_string();
        match error {
            RejectLeadError::CampaignUnknown | RejectLeadError::LeadUnknown => {
                Self::standard(StatusCode::NOT_FOUND, message)
            }
            RejectLeadError::Request(fault) => fault.into(),
            RejectLeadError::LeadNotNew(_) => Self::standard(StatusCode::BAD_REQUEST, message),
            RejectLeadError::Store(error) => error.into(),
        }
    }
}

impl From<UploadError> for Refusal {
    fn from(error: UploadError) -> Self {
        let message = error.to_string();
        match error {
            UploadError::CampaignUnknown | UploadError::LeadUnknown => {
                Self::standard(StatusCode::NOT_FOUND, message)
            }
            UploadError::Request(fault) => fault.into(),
            UploadError::File(fault) if fault.is_too_large() => {
                Self::standard(StatusCode::PAYLOAD_TOO_LARGE, message)
            }
            UploadError::LeadNotNew(_) | UploadError::UnexpectedPart { .. } | UploadError::File(_) => {
                Self::standard(StatusCode::BAD_REQUEST, message)
            }
            UploadError::Blob(error) => error.into(),
            UploadError::Store(error) => error.into(),
        }
    }
}
