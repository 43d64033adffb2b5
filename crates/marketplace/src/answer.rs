//! The meaning of an answer: a success or an error. Only this file knows the protocol's statuses and codes.

use bidloop_domain::model::{MarketplaceToken, Timestamp};
use bidloop_domain::port::{MarketplaceError, MarketplaceRefusal};
use bytes::Bytes;
use http::StatusCode;
use http::header::{CONTENT_ENCODING, LOCATION};

use crate::exchange::Answer;
use crate::retry_after::retry_after;
use crate::wire::{RefusalBody, shortened};

impl Answer {
    /// Passes on an answer that is the marketplace's own (decision B4): a success, or an error with the protocol's error
    /// body. Every other error leaves open whether a proposal was taken: a gateway that gave up waiting may have passed it
    /// on. A 408 is never the protocol's.
    pub(crate) fn require_protocol_body(self, now: Timestamp) -> Result<Self, MarketplaceError> {
        let status = self.status;
        if !(status.is_client_error() || status.is_server_error()) {
            return Ok(self);
        }
        let is_the_protocols = status != StatusCode::REQUEST_TIMEOUT
            && match &self.body {
                Ok(body) => !RefusalBody::read(body).code.is_empty(),
                Err(cut_off) => return Err(cut_off.clone()),
            };
        if is_the_protocols {
            return Ok(self);
        }
        Err(MarketplaceError::NotItsAnswer {
            retry_after: retry_after(&self.headers, now),
            message: format!("status {status} without the protocol's error body"),
        })
    }

    /// Returns the body of a success, and an error for every other answer. A `Retry-After` date is compared with `now` if
    /// the answer has no `Date`.
    pub(crate) fn success(self, successes: &[StatusCode], now: Timestamp) -> Result<Bytes, MarketplaceError> {
        let status = self.status;
        if successes.contains(&status) {
            return match self.headers.get(CONTENT_ENCODING) {
                Some(encoding) if encoding != "identity" => Err(MarketplaceError::Malformed(
                    "the body is compressed, which was not asked for".to_owned(),
                )),
                _ => self.body,
            };
        }
        if status == StatusCode::UNAUTHORIZED {
            return Err(MarketplaceError::InvalidToken);
        }
        if is_temporary(status) {
            // The status alone decides, so an incomplete body is ignored.
            let message = self.body.map(|body| RefusalBody::read(&body).message);
            return Err(MarketplaceError::TryLater {
                retry_after: retry_after(&self.headers, now),
                message: or_status(message.unwrap_or_default(), status),
            });
        }
        if status.is_client_error() {
            let body = RefusalBody::read(&self.body?);
            tracing::debug!(
                status = status.as_u16(),
                code = body.code,
                "the marketplace refused a call"
            );
            return Err(MarketplaceError::Refused {
                message: or_status(body.message, status),
                refusal: meaning(status, &body.code, body.proposal_id),
            });
        }
        let destination = self.headers.get(LOCATION).and_then(|place| place.to_str().ok());
        Err(MarketplaceError::Malformed(match destination {
            Some(place) if status.is_redirection() => {
                format!("unexpected status {status}; the redirect to {place} is not followed")
            }
            _ => format!("unexpected status {status}"),
        }))
    }
}

/// Whether the marketplace may answer otherwise later.
pub(crate) fn is_temporary(status: StatusCode) -> bool {
    status.is_server_error()
        || matches!(
            status,
            StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS
        )
}

/// The meaning of a permanent refusal (contract section 5).
fn meaning(status: StatusCode, code: &str, proposal_id: Option<String>) -> MarketplaceRefusal {
    match (status, code) {
        (StatusCode::CONFLICT, _) | (_, "already_applied") => {
            MarketplaceRefusal::AlreadyApplied { proposal_id }
        }
        (StatusCode::PAYMENT_REQUIRED, _) | (_, "insufficient_connects") => {
            MarketplaceRefusal::InsufficientConnects
        }
        (StatusCode::NOT_FOUND, _) => MarketplaceRefusal::NotFound,
        (_, "job_warning") => MarketplaceRefusal::JobWarning,
        (_, "job_closed") => MarketplaceRefusal::JobClosed,
        (_, "not_eligible") => MarketplaceRefusal::NotEligible,
        _ => MarketplaceRefusal::Invalid,
    }
}

/// The message, or the status if there is none.
fn or_status(message: String, status: StatusCode) -> String {
    if message.trim().is_empty() {
        format!("status {status} without a message")
    } else {
        message
    }
}

/// The error for the log: without the token, which the marketplace may have repeated, and with shortened texts.
pub(crate) fn fit_for_log(error: MarketplaceError, token: Option<&MarketplaceToken>) -> MarketplaceError {
    // The token is replaced first, since a text that is cut within it would still contain its beginning.
    let token = token
        .map(MarketplaceToken::expose)
        .filter(|token| !token.is_empty());
    let fit = |text: String| match token {
        Some(token) => shortened(&text.replace(token, "[token]")),
        None => shortened(&text),
    };
    match error {
        MarketplaceError::NoAnswer(message) => MarketplaceError::NoAnswer(fit(message)),
        MarketplaceError::Unreachable(message) => MarketplaceError::Unreachable(fit(message)),
        MarketplaceError::Malformed(message) => MarketplaceError::Malformed(fit(message)),
        MarketplaceError::TryLater { retry_after, message } => MarketplaceError::TryLater {
            retry_after,
            message: fit(message),
        },
        MarketplaceError::NotItsAnswer { retry_after, message } => MarketplaceError::NotItsAnswer {
            retry_after,
            message: fit(message),
        },
        MarketplaceError::Refused { refusal, message } => MarketplaceError::Refused {
            refusal,
            message: fit(message),
        },
        MarketplaceError::InvalidToken => MarketplaceError::InvalidToken,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::MESSAGE_CHARS;

    #[test]
    fn no_error_repeats_any_of_the_token() {
        let text = || format!("{}tk_secret is odd", "x".repeat(MESSAGE_CHARS - 4));
        for error in [
            MarketplaceError::NoAnswer(text()),
            MarketplaceError::Unreachable(text()),
            MarketplaceError::Malformed(text()),
            MarketplaceError::TryLater {
                retry_after: None,
                message: text(),
            },
            MarketplaceError::NotItsAnswer {
                retry_after: None,
                message: text(),
            },
            MarketplaceError::Refused {
                refusal: MarketplaceRefusal::Invalid,
                message: text(),
            },
        ] {
            let fit = format!(
                "{:?}",
                fit_for_log(error, MarketplaceToken::parse("tk_secret").ok().as_ref())
            );
            assert!(!fit.contains("tk_"), "{fit}");
            assert!(fit.contains("[tok…"), "{fit}");
        }
    }
}
