//! Why a real bid ended without a proposal (decision B1, `docs/rules.md#b1`).

use std::fmt;

use serde::{Deserialize, Serialize};

/// The two ends of a bid without a proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndStatus {
    /// The configuration said not to bid.
    Skipped,
    /// The marketplace refused for good, or the deadline passed.
    Failed,
}

impl EndStatus {
    /// The status word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Skipped => "skipped",
            Self::Failed => "failed",
        }
    }
}

/// The closed set of reasons. Each belongs to one [`EndStatus`].
///
/// ```
/// use bidloop_domain::model::{EndStatus, ReasonCode};
///
/// assert_eq!(ReasonCode::JobWarning.as_str(), "job_warning");
/// assert_eq!(ReasonCode::JobWarning.status(), EndStatus::Skipped);
/// assert_eq!(ReasonCode::JobClosed.status(), EndStatus::Failed);
/// assert_eq!(serde_json::to_string(&ReasonCode::RateUnknown).unwrap(), "\"rate_unknown\"");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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
    /// Failed: the job takes no proposals any more.
    JobClosed,
    /// Failed: the marketplace does not know the job.
    JobNotFound,
    /// Failed: the bidder does not meet the job's demands.
    NotEligible,
    /// Failed: the account already has a proposal on the job.
    AlreadyApplied,
    /// Failed: the account's marketplace token is refused.
    InvalidToken,
    /// Failed: the marketplace refuses the proposal as malformed.
    Invalid,
    /// Failed: the deadline passed before the marketplace could be asked.
    DeadlineExceeded,
}

impl ReasonCode {
    /// Every code.
    pub const ALL: [Self; 13] = [
        Self::JobWarning,
        Self::AlreadyHired,
        Self::InsufficientConnects,
        Self::InsufficientBoostConnects,
        Self::AmountUnknown,
        Self::RateUnknown,
        Self::JobClosed,
        Self::JobNotFound,
        Self::NotEligible,
        Self::AlreadyApplied,
        Self::InvalidToken,
        Self::Invalid,
        Self::DeadlineExceeded,
    ];

    /// The code as it stands in `reason.code`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::JobWarning => "job_warning",
            Self::AlreadyHired => "already_hired",
            Self::InsufficientConnects => "insufficient_connects",
            Self::InsufficientBoostConnects => "insufficient_boost_connects",
            Self::AmountUnknown => "amount_unknown",
            Self::RateUnknown => "rate_unknown",
            Self::JobClosed => "job_closed",
            Self::JobNotFound => "job_not_found",
            Self::NotEligible => "not_eligible",
            Self::AlreadyApplied => "already_applied",
            Self::InvalidToken => "invalid_token",
            Self::Invalid => "invalid",
            Self::DeadlineExceeded => "deadline_exceeded",
        }
    }

    /// How a bid with this reason ends.
    pub const fn status(self) -> EndStatus {
        match self {
            Self::JobWarning
            | Self::AlreadyHired
            | Self::InsufficientConnects
            | Self::InsufficientBoostConnects
            | Self::AmountUnknown
            | Self::RateUnknown => EndStatus::Skipped,
            Self::JobClosed
            | Self::JobNotFound
            | Self::NotEligible
            | Self::AlreadyApplied
            | Self::InvalidToken
            | Self::Invalid
            | Self::DeadlineExceeded => EndStatus::Failed,
        }
    }
}

impl fmt::Display for ReasonCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
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
    /// A reason.
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

    #[test]
    fn codes_read_the_same_in_json_as_in_text() {
        for code in ReasonCode::ALL {
            assert_eq!(serde_json::to_value(code).unwrap(), code.as_str());
        }
    }

    #[test]
    fn six_reasons_are_skips_and_seven_are_failures() {
        let skips = ReasonCode::ALL
            .iter()
            .filter(|code| code.status() == EndStatus::Skipped)
            .count();
        assert_eq!((skips, ReasonCode::ALL.len() - skips), (6, 7));
    }
}
