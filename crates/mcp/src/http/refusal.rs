//! Answers to requests that are refused before the protocol is spoken: Standard Errors, as the API's.

use actix_web::HttpResponse;
use actix_web::http::{StatusCode, header};

use serde_json::Value;

use crate::ApiBodies;
use crate::tool_error::{ToolError, standard};

/// The `Retry-After` of every 503, in seconds.
const RETRY_AFTER_SECONDS: &str = "5";

/// Why a request is refused.
#[derive(Debug)]
pub(crate) struct Refusal {
    body: Value,
}

impl Refusal {
    pub(crate) fn new(status: http::StatusCode, message: &str) -> Self {
        Self {
            body: standard(status, message),
        }
    }

    pub(crate) fn of(error: &ToolError, api: &ApiBodies) -> Self {
        Self {
            body: error.body(api),
        }
    }

    pub(crate) fn into_response(self) -> HttpResponse {
        let status = self.body["statusCode"].as_u64();
        let status = status.and_then(|status| u16::try_from(status).ok());
        let status = status.and_then(|status| StatusCode::from_u16(status).ok());
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = HttpResponse::build(status);
        let header = match status {
            StatusCode::UNAUTHORIZED => Some((header::WWW_AUTHENTICATE, "Bearer")),
            StatusCode::SERVICE_UNAVAILABLE => Some((header::RETRY_AFTER, RETRY_AFTER_SECONDS)),
            StatusCode::METHOD_NOT_ALLOWED => Some((header::ALLOW, "POST")),
            _ => None,
        };
        if let Some(header) = header {
            response.insert_header(header);
        }
        response.json(self.body)
    }
}
