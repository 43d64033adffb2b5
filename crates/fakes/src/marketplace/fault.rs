//! Faults that a test scripts.

use std::time::Duration;

use bidloop_domain::port::{MarketplaceError, MarketplaceRefusal};

/// A method of the `Marketplace` port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Call {
    /// Reading the feed.
    Feed,
    /// Reading a job's live state.
    Job,
    /// Reading an account's live state.
    Account,
    /// Uploading a file.
    Upload,
    /// Sending a proposal.
    Submit,
}

/// What goes wrong with one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The call has no effect and is answered so.
    Before(MarketplaceError),
    /// The call is carried out; were it to succeed, the caller gets this instead of the answer.
    AfterCommit(MarketplaceError),
}

impl Fault {
    /// No answer, and the call was not carried out.
    pub fn no_answer() -> Self {
        Self::Before(MarketplaceError::NoAnswer("scripted: lost on the way".to_owned()))
    }

    /// No answer, and the call was carried out.
    pub fn no_answer_after_commit() -> Self {
        Self::AfterCommit(MarketplaceError::NoAnswer(
            "scripted: the answer was lost".to_owned(),
        ))
    }

    /// No connection is made.
    pub fn unreachable() -> Self {
        Self::Before(MarketplaceError::Unreachable(
            "scripted: no connection".to_owned(),
        ))
    }

    /// The marketplace cannot carry the call out now, and does not say for how long.
    pub fn unavailable() -> Self {
        Self::try_later(None)
    }

    /// The marketplace cannot carry the call out now.
    pub fn try_later(retry_after: Option<Duration>) -> Self {
        Self::Before(MarketplaceError::TryLater {
            retry_after,
            message: "scripted".to_owned(),
        })
    }

    /// The token is not valid.
    pub fn invalid_token() -> Self {
        Self::Before(MarketplaceError::InvalidToken)
    }

    /// A refusal for good.
    pub fn refused(refusal: MarketplaceRefusal) -> Self {
        Self::Before(refused(refusal))
    }

    /// A gateway's answer; it did not pass the call on.
    pub fn gateway() -> Self {
        Self::Before(not_its_answer())
    }

    /// A gateway's answer; the call was carried out.
    pub fn gateway_after_commit() -> Self {
        Self::AfterCommit(not_its_answer())
    }

    /// An answer that violates the protocol; the call was not carried out.
    pub fn malformed() -> Self {
        Self::Before(MarketplaceError::Malformed("scripted".to_owned()))
    }

    /// An answer that violates the protocol; the call was carried out.
    pub fn malformed_after_commit() -> Self {
        Self::AfterCommit(MarketplaceError::Malformed("scripted".to_owned()))
    }
}

fn not_its_answer() -> MarketplaceError {
    MarketplaceError::NotItsAnswer {
        retry_after: None,
        message: "scripted: a gateway's page".to_owned(),
    }
}

pub(super) fn refused(refusal: MarketplaceRefusal) -> MarketplaceError {
    let message = format!("the marketplace says {refusal:?}");
    MarketplaceError::Refused { refusal, message }
}
