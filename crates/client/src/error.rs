//! Why a call failed.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use crate::refusal::Refusal;

/// A failed call: the last attempt's failure, how many attempts there were, and whether one of them may have been carried
/// out.
#[derive(Debug)]
pub struct Error {
    kind: Box<ErrorKind>,
    pub(crate) attempts: u32,
    pub(crate) effect_unknown: bool,
}

/// Why the last attempt of a call failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The service, or a gateway before it, refused the call.
    Refused {
        /// The answer's status.
        status: u16,
        /// The answer's body.
        refusal: Refusal,
        /// How long `Retry-After` asks to wait.
        retry_after: Option<Duration>,
        /// The answer's `X-Request-Id`, under which the service logged the call.
        request_id: Option<String>,
    },
    /// There was no connection, so nothing was sent.
    Unreachable(String),
    /// The connection broke, or no complete answer came in time.
    NoAnswer(String),
    /// The answer is not the service's.
    Malformed(String),
    /// A file to upload could not be read.
    File(String),
    /// The address lies outside the client's base URL, so the API key was not sent to it.
    ForeignUrl(String),
    /// The call cannot be written as a request.
    Request(String),
}

impl Error {
    pub(crate) fn new(kind: ErrorKind) -> Self {
        Self {
            kind: Box::new(kind),
            attempts: 0,
            effect_unknown: false,
        }
    }

    /// Why the last attempt failed.
    pub fn kind(&self) -> &ErrorKind {
        &self.kind
    }

    /// The status of the last answer; `None` without one.
    pub fn status(&self) -> Option<u16> {
        match *self.kind {
            ErrorKind::Refused { status, .. } => Some(status),
            _ => None,
        }
    }

    /// The body of the last answer; `None` without one.
    pub fn refusal(&self) -> Option<&Refusal> {
        match &*self.kind {
            ErrorKind::Refused { refusal, .. } => Some(refusal),
            _ => None,
        }
    }

    /// How often the request was sent or tried to be sent.
    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    /// Whether a bid, rejection or upload may have been carried out all the same: an attempt was sent, and nothing that
    /// was answered since tells what became of it.
    pub fn may_have_taken_effect(&self) -> bool {
        self.effect_unknown
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Self::new(kind)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.kind {
            ErrorKind::Refused { status, refusal, .. } => {
                write!(formatter, "{status}: {}", refusal.message())
            }
            ErrorKind::Unreachable(why) => write!(formatter, "the service cannot be reached: {why}"),
            ErrorKind::NoAnswer(why) => write!(formatter, "no answer: {why}"),
            ErrorKind::Malformed(why) => write!(formatter, "the answer is not the service's: {why}"),
            ErrorKind::File(why) => write!(formatter, "a file cannot be read: {why}"),
            ErrorKind::ForeignUrl(url) => write!(formatter, "{url} is not below the client's base URL"),
            ErrorKind::Request(why) => write!(formatter, "not a request: {why}"),
        }?;
        match self.attempts {
            0 | 1 => Ok(()),
            attempts => write!(formatter, " (after {attempts} attempts)"),
        }
    }
}

impl StdError for Error {}

/// An error and its causes on one line.
pub(crate) fn causes(error: &(dyn StdError + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let message = error.to_string();
        // Many errors repeat their cause.
        if !text.contains(&message) {
            text.push_str(": ");
            text.push_str(&message);
        }
        cause = error.source();
    }
    text
}
