//! Why a real bid ended without a proposal (decision B1, `docs/rules.md#b1`).

use serde::{Deserialize, Serialize};

use super::LeadStatus;
use super::words::words;

words! {
    /// The closed set of reasons. With each, a bid is either skipped or failed.
    ///
    /// ```
    /// use bidloop_domain::model::{LeadStatus, ReasonCode};
    ///
    /// assert_eq!(ReasonCode::JobWarning.status(), LeadStatus::Skipped);
    /// assert_eq!(ReasonCode::JobClosed.status(), LeadStatus::Failed);
    /// assert_eq!(ReasonCode::RateUnknown.to_string(), "rate_unknown");
    /// ```
    pub enum ReasonCode {
        /// Skipped: the marketplace shows a warning on the job.
        JobWarning,
        /// Skipped: the client already hired someone.
        AlreadyHired,
        /// Skipped: the account cannot pay the job's own connects.
        InsufficientConnects,
        /// Skipped: the account cannot pay the job's connects and the boost.
        InsufficientBoostConnects,
        /// Skipped: a fixed-price job whose amount is unknown.
        AmountUnknown,
        /// Skipped: an hourly job whose rate is unknown.
        RateUnknown,
        /// Failed: the job takes no more proposals.
        JobClosed,
        /// Failed: the marketplace does not know the job.
        JobNotFound,
        /// Failed: the bidder does not meet the job's requirements.
        NotEligible,
        /// Failed: the account already has a proposal on the job.
        AlreadyApplied,
        /// Failed: the marketplace refuses the account's token.
        InvalidToken,
        /// Failed: the marketplace refuses the proposal as malformed.
        Invalid,
        /// Failed: the deadline passed before the marketplace could be asked.
        DeadlineExceeded,
    }
}

impl ReasonCode {
    /// Whether the configuration said not to bid. With any other reason, the marketplace refused for good or the
    /// deadline passed.
    pub const fn is_skip(self) -> bool {
        match self {
            Self::JobWarning
            | Self::AlreadyHired
            | Self::InsufficientConnects
            | Self::InsufficientBoostConnects
            | Self::AmountUnknown
            | Self::RateUnknown => true,
            Self::JobClosed
            | Self::JobNotFound
            | Self::NotEligible
            | Self::AlreadyApplied
            | Self::InvalidToken
            | Self::Invalid
            | Self::DeadlineExceeded => false,
        }
    }

    /// The status of a lead whose bid ends with this reason: skipped or failed.
    pub const fn status(self) -> LeadStatus {
        if self.is_skip() {
            LeadStatus::Skipped
        } else {
            LeadStatus::Failed
        }
    }
}

/// A code, and a sentence for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// The code.
    pub code: ReasonCode,
    /// The sentence.
    pub message: String,
}

impl Reason {
    /// A reason with its sentence.
    pub fn new(code: ReasonCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::VariantArray;

    /// The lists of `docs/rules.md#b1`.
    const SKIPPED: &str = "job_warning already_hired insufficient_connects insufficient_boost_connects amount_unknown rate_unknown";
    const FAILED: &str =
        "job_closed job_not_found not_eligible already_applied invalid_token invalid deadline_exceeded";

    #[test]
    fn the_codes_and_their_ends_are_those_of_decision_b1() {
        for (end, codes) in [(LeadStatus::Skipped, SKIPPED), (LeadStatus::Failed, FAILED)] {
            let of_end = ReasonCode::VARIANTS.iter().filter(|code| code.status() == end);
            let written: Vec<String> = of_end.map(|code| serde_json::to_string(code).unwrap()).collect();
            let expected: Vec<String> = codes.split(' ').map(|code| format!("\"{code}\"")).collect();
            assert_eq!(written, expected);
        }
    }
}
