//! How a bid or rejection went that may have been sent more than once.

use crate::acknowledgement::Acknowledgement;
use crate::error::{Error, ErrorKind};
use crate::lead::LeadStatus;
use crate::refusal::Refusal;

/// The result of a bid.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum BidOutcome {
    /// The bid is queued, or was a dry run.
    Accepted(Acknowledgement),
    /// The answer to an earlier attempt was lost, and the lead has a bid now. It is this one, unless another program bid
    /// on the lead at the same time.
    AlreadyBid {
        /// Where the lead stands: queued, or how its bid ended.
        status: LeadStatus,
    },
}

/// The result of a rejection.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum RejectOutcome {
    /// The lead is rejected.
    Rejected(Acknowledgement),
    /// The answer to an earlier attempt was lost, and the lead is rejected now: by that attempt, unless by another
    /// program at the same time.
    AlreadyRejected,
}

impl BidOutcome {
    /// What the refusal of a bid means after an attempt that got no answer.
    pub(crate) fn after_lost_answer(mut error: Error) -> Result<Self, Error> {
        match decided_status(&error, 409) {
            // A lead with a bid is never rejected: the lost attempt queued nothing.
            Some(LeadStatus::Rejected) => error.effect_unknown = false,
            Some(status) => return Ok(Self::AlreadyBid { status }),
            // The lead's status is checked before the quota.
            None if error.status() == Some(402) => error.effect_unknown = false,
            None => {}
        }
        Err(error)
    }
}

impl RejectOutcome {
    /// What the refusal of a rejection means after an attempt that got no answer.
    pub(crate) fn after_lost_answer(mut error: Error) -> Result<Self, Error> {
        match decided_status(&error, 400) {
            Some(LeadStatus::Rejected) => return Ok(Self::AlreadyRejected),
            Some(_) => error.effect_unknown = false,
            None => {}
        }
        Err(error)
    }
}

/// The status that a refusal names for a lead that is not new.
fn decided_status(error: &Error, refused_with: u16) -> Option<LeadStatus> {
    let ErrorKind::Refused {
        status,
        refusal: Refusal::Standard(refusal),
        ..
    } = error.kind()
    else {
        return None;
    };
    if *status != refused_with || !refusal.errors.is_empty() {
        return None;
    }
    let words = refusal
        .message
        .split(|letter: char| !letter.is_ascii_alphabetic());
    words
        .map(|word| LeadStatus::from(word.to_owned()))
        .find(|status| !matches!(status, LeadStatus::New | LeadStatus::Other(_)))
}
