//! Why a tool failed, and the body that says so: the HTTP API's own for everything that the API answers, too.

use bidloop_domain::matching::json::shortened_name;
use bidloop_domain::model::{TokenScope, Unauthorized};
use bidloop_domain::port::StoreError;
use bidloop_domain::use_case::{LeadError, ManageApiKeysError};
use bidloop_http_server::UseCaseFault;
use http::StatusCode;
use serde_json::{Value, json};

use crate::ApiBodies;
use crate::catalogue::Tool;

/// Why a tool failed.
#[derive(Debug)]
pub(crate) enum ToolError {
    /// The token is unknown, malformed, revoked or expired, or its person is no member any more; or no owner, with the
    /// scope `manage`.
    TokenRefused,
    /// The token may not be used for the tool.
    ScopeMissing { tool: Tool, scope: TokenScope },
    /// A request on leads was refused or failed, or the arguments are faulty.
    Lead(LeadError),
    /// Keys were not created, listed or revoked.
    Keys(ManageApiKeysError),
    /// The organization has no key with this id.
    KeyUnknown(String),
    /// Too many filters are being tested.
    Busy,
    /// A fault of the service.
    Internal(String),
}

impl ToolError {
    /// The body that a client gets. What must not be in it is logged.
    pub(crate) fn body(&self, api: &ApiBodies) -> Value {
        match self {
            Self::TokenRefused => standard(
                StatusCode::UNAUTHORIZED,
                "the personal token is unknown, revoked or expired, or its person may not use it any more: make another one \
                 in the console, under Settings, Personal tokens",
            ),
            Self::ScopeMissing { tool, scope } => standard(
                StatusCode::FORBIDDEN,
                &format!(
                    "{} needs a token with the scope `{}`; this token has the scope `{scope}`",
                    tool.name(),
                    tool.scope()
                ),
            ),
            Self::Lead(LeadError::NotAuthorized(why)) => not_authorized(*why, api),
            Self::Lead(error) => (api.error_body)(error),
            Self::Keys(error) => keys(error, api),
            Self::KeyUnknown(id) => standard(
                StatusCode::NOT_FOUND,
                &format!(
                    "there is no API key \"{}\": list_api_keys shows those there are",
                    shortened_name(id)
                ),
            ),
            Self::Busy => standard(
                StatusCode::SERVICE_UNAVAILABLE,
                "too many filters are being tested at this moment; try again later",
            ),
            Self::Internal(cause) => {
                tracing::error!(cause, "a tool failed");
                standard(StatusCode::INTERNAL_SERVER_ERROR, "an internal error occurred")
            }
        }
    }
}

impl From<UseCaseFault> for ToolError {
    fn from(fault: UseCaseFault) -> Self {
        Self::Internal(fault.to_string())
    }
}

impl From<LeadError> for ToolError {
    fn from(error: LeadError) -> Self {
        Self::Lead(error)
    }
}

impl From<StoreError> for ToolError {
    fn from(error: StoreError) -> Self {
        Self::Lead(error.into())
    }
}

impl From<ManageApiKeysError> for ToolError {
    fn from(error: ManageApiKeysError) -> Self {
        Self::Keys(error)
    }
}

/// A Standard Error of the specification.
pub(crate) fn standard(status: StatusCode, message: &str) -> Value {
    json!({
        "statusCode": status.as_u16(),
        "error": status.canonical_reason().unwrap_or_default(),
        "message": message,
    })
}

/// The API answers 401 to both, with one message, since its callers are strangers until then.
fn not_authorized(why: Unauthorized, api: &ApiBodies) -> Value {
    match why {
        Unauthorized::Ended => ToolError::TokenRefused.body(api),
        Unauthorized::NotOwner => standard(StatusCode::FORBIDDEN, &why.to_string()),
        Unauthorized::SubscriptionLapsed => lapsed(),
    }
}

fn lapsed() -> Value {
    standard(
        StatusCode::UNAUTHORIZED,
        "the organization has no active paid subscription: until it has one again, nothing is bid, rejected or created; \
         reading goes on",
    )
}

fn keys(error: &ManageApiKeysError, api: &ApiBodies) -> Value {
    let status = match error {
        ManageApiKeysError::Name | ManageApiKeysError::ExpiryPast => StatusCode::BAD_REQUEST,
        ManageApiKeysError::OrganizationUnknown(_) | ManageApiKeysError::KeyUnknown { .. } => {
            StatusCode::NOT_FOUND
        }
        ManageApiKeysError::IdTaken { .. } => StatusCode::CONFLICT,
        ManageApiKeysError::Contended => StatusCode::SERVICE_UNAVAILABLE,
        ManageApiKeysError::SubscriptionInactive(_) => return lapsed(),
        ManageApiKeysError::NotAuthorized(why) => return not_authorized(*why, api),
        ManageApiKeysError::Store(error) => return (api.error_body)(&error.clone().into()),
    };
    standard(status, &error.to_string())
}
