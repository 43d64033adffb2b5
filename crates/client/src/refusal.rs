//! The bodies of errors: three shapes, and whatever a gateway puts in their place.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;

use crate::open_enum::open_enum;

/// The body of an answer that is not 200.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Refusal {
    /// The Standard Error.
    Standard(StandardError),
    /// A bid broke the bidding rules.
    Validation(ValidationError),
    /// The plan's proposals of the period are used up.
    Quota(QuotaError),
    /// No error of the service's, such as a gateway's page; its first bytes as text.
    Foreign(String),
}

/// The Standard Error.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct StandardError {
    /// The status, repeated.
    #[serde(default)]
    pub status_code: Option<u16>,
    /// The status in words.
    #[serde(default)]
    pub error: Option<String>,
    /// What is wrong.
    pub message: String,
    /// The faults in the body's shape; empty for every other error.
    #[serde(default)]
    pub errors: Vec<ShapeFault>,
}

/// A fault in the shape of a request's body.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct ShapeFault {
    /// Names and indexes that lead to the value; empty for the body as a whole.
    #[serde(default)]
    pub path: Vec<String>,
    /// What is wrong with it.
    #[serde(default)]
    pub message: String,
}

/// A bid broke the bidding rules.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct ValidationError {
    /// What is wrong.
    pub message: String,
    /// Each broken rule.
    pub errors: Vec<RuleFault>,
}

/// A broken bidding rule.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct RuleFault {
    /// Names and indexes that lead to the value.
    #[serde(default)]
    pub path: Vec<String>,
    /// The rule.
    pub code: RuleCode,
    /// What is wrong.
    #[serde(default)]
    pub message: String,
    /// The accepted values, if the set is closed.
    #[serde(default)]
    pub options: Vec<String>,
}

open_enum! {
    /// A bidding rule that a bid broke.
    RuleCode {
        /// The questions are not answered exactly as the lead asks them.
        QuestionMismatch = "question_mismatch",
        /// The strategy needs a percentage, which nothing sets.
        RatePercentageRequired = "rate_percentage_required",
        /// The strategy needs a fixed rate, which nothing sets.
        FixedRateRequired = "fixed_rate_required",
    }
}

/// The plan's proposals of the period are used up.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct QuotaError {
    /// What is wrong.
    pub message: String,
    /// `proposal_limit_reached`.
    pub code: String,
    /// Proposals used in the period.
    #[serde(default)]
    pub current_usage: Option<u64>,
    /// Proposals that the plan has.
    #[serde(default)]
    pub limit: Option<u64>,
    /// The end of the period, in UNIX seconds.
    #[serde(default)]
    pub current_period_end: Option<i64>,
}

/// The longest part of a foreign body that is kept.
const FOREIGN_BYTES: usize = 512;

impl Refusal {
    /// Reads a body.
    pub(crate) fn read(body: &Bytes) -> Self {
        Self::of_the_service(body).unwrap_or_else(|| {
            Self::Foreign(String::from_utf8_lossy(&body[..body.len().min(FOREIGN_BYTES)]).into_owned())
        })
    }

    fn of_the_service(body: &[u8]) -> Option<Self> {
        let json: Value = serde_json::from_slice(body).ok()?;
        let breaks_rules = json["errors"]
            .as_array()
            .is_some_and(|errors| !errors.is_empty() && errors.iter().all(|fault| fault["code"].is_string()));
        if json["code"].is_string() {
            serde_json::from_value(json).map(Self::Quota).ok()
        } else if breaks_rules {
            serde_json::from_value(json).map(Self::Validation).ok()
        } else {
            serde_json::from_value(json).map(Self::Standard).ok()
        }
    }

    /// What is wrong, in words.
    pub fn message(&self) -> &str {
        match self {
            Self::Standard(error) => &error.message,
            Self::Validation(error) => &error.message,
            Self::Quota(error) => &error.message,
            Self::Foreign(text) => text,
        }
    }
}
