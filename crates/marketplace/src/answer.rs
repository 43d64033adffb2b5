//! What an answer amounts to: a success whose body is worth reading, or which error.

use bidloop_domain::model::Timestamp;
use bidloop_domain::port::MarketplaceError;
use bytes::Bytes;
use http::StatusCode;
use http::header::{CONTENT_ENCODING, LOCATION};

use crate::exchange::Answer;
use crate::retry_after::retry_after;
use crate::wire::RefusalBody;

/// How much of a message is kept.
const MESSAGE_CHARS: usize = 300;

impl Answer {
    /// The body of a success; an error for every other answer. `now` is what a `Retry-After` date is compared with
    /// where the answer does not tell its own time.
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
        let passing = status.is_server_error()
            || matches!(
                status,
                StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS
            );
        if passing {
            // The status says enough; a body that did not come whole changes nothing.
            let message = self.body.map(|body| RefusalBody::read(&body).message);
            return Err(MarketplaceError::Passing {
                status: status.as_u16(),
                retry_after: retry_after(&self.headers, now),
                message: message.unwrap_or_default(),
            });
        }
        if status.is_client_error() {
            let refusal = RefusalBody::read(&self.body?);
            return Err(MarketplaceError::Refused {
                status: status.as_u16(),
                code: refusal.code,
                message: refusal.message,
                proposal_id: refusal.proposal_id,
            });
        }
        let destination = self.headers.get(LOCATION).and_then(|place| place.to_str().ok());
        Err(MarketplaceError::Malformed(match destination {
            Some(place) if status.is_redirection() => {
                format!("unexpected status {status}; redirects, as this one to {place}, are not followed")
            }
            _ => format!("unexpected status {status}"),
        }))
    }
}

/// A text of the marketplace's, fit for a log line.
pub(crate) fn shortened(text: &str) -> String {
    let mut characters = text.trim().chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut short: String = characters.by_ref().take(MESSAGE_CHARS).collect();
    if characters.next().is_some() {
        short.push('…');
    }
    short
}

/// The same error fit for the log: without the token, which the marketplace may have repeated, and in short texts.
pub(crate) fn fit_for_log(error: MarketplaceError, token: Option<&str>) -> MarketplaceError {
    // The token first: a text cut in the middle of it would still hold its beginning.
    let fit = |text: String| match token {
        Some(token) if !token.is_empty() => shortened(&text.replace(token, "[token]")),
        _ => shortened(&text),
    };
    match error {
        MarketplaceError::NoAnswer(message) => MarketplaceError::NoAnswer(fit(message)),
        MarketplaceError::Unreachable(message) => MarketplaceError::Unreachable(fit(message)),
        MarketplaceError::Malformed(message) => MarketplaceError::Malformed(fit(message)),
        MarketplaceError::Passing {
            status,
            retry_after,
            message,
        } => MarketplaceError::Passing {
            status,
            retry_after,
            message: fit(message),
        },
        MarketplaceError::Refused {
            status,
            code,
            message,
            proposal_id,
        } => MarketplaceError::Refused {
            status,
            code: fit(code),
            message: fit(message),
            proposal_id,
        },
        MarketplaceError::InvalidToken => MarketplaceError::InvalidToken,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_cut_to_one_line_of_bounded_length() {
        assert_eq!(shortened("  two\r\nlines "), "two  lines");
        let long = shortened(&"ä".repeat(1000));
        assert_eq!(long.chars().count(), MESSAGE_CHARS + 1);
        assert!(long.ends_with("ä…"));
    }

    #[test]
    fn no_error_repeats_any_of_the_token() {
        let text = || format!("{}tk_secret is odd", "x".repeat(MESSAGE_CHARS - 4));
        for error in [
            MarketplaceError::NoAnswer(text()),
            MarketplaceError::Unreachable(text()),
            MarketplaceError::Malformed(text()),
            MarketplaceError::Passing {
                status: 503,
                retry_after: None,
                message: text(),
            },
            MarketplaceError::Refused {
                status: 403,
                code: text(),
                message: text(),
                proposal_id: None,
            },
        ] {
            let fit = format!("{:?}", fit_for_log(error, Some("tk_secret")));
            assert!(!fit.contains("tk_"), "{fit}");
            assert!(fit.contains("[tok…"), "{fit}");
        }
    }
}
