//! What can be wrong with a request before its meaning is looked at, judged in the order of decision A1.

use crate::model::ShapeFault;

/// A fault of a request's wrapping or shape. The adapter finds it while reading; the use case reports it at its
/// place in the order of checks, so that a foreign lead is 404 however malformed the body is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestFault {
    /// The body is larger than the operation takes.
    #[error("the request body is larger than {limit_bytes} bytes")]
    TooLarge {
        /// The operation's limit.
        limit_bytes: u64,
    },
    /// The Content-Type is not the operation's.
    #[error("the media type `{given}` is not supported; send `{expected}`")]
    UnsupportedMediaType {
        /// What came.
        given: String,
        /// What is accepted.
        expected: &'static str,
    },
    /// Malformed JSON, an unknown or missing field, a wrong type, a value out of bounds (decision A2).
    #[error("the request body is not valid")]
    Shape(Vec<ShapeFault>),
}

impl RequestFault {
    /// The status it is answered with.
    pub const fn http_status(&self) -> u16 {
        match self {
            Self::TooLarge { .. } => 413,
            Self::UnsupportedMediaType { .. } => 415,
            Self::Shape(_) => 400,
        }
    }
}
