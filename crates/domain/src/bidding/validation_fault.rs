//! A fault of a bid against the bidding rules: an entry of the specification's `ValidationError`.

use serde::{Deserialize, Serialize};

/// The three codes of the specification (Errors, shape 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValidationCode {
    /// A question is not the lead's, is answered too often, or is not answered.
    QuestionMismatch,
    /// The strategy needs a percentage, and no layer sets one.
    RatePercentageRequired,
    /// The strategy needs a fixed rate, and no layer sets one.
    FixedRateRequired,
}

/// One fault of a bid against the bidding rules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValidationFault {
    /// Names and indexes (as decimal digits) into the request body.
    pub path: Vec<String>,
    /// The rule that is broken.
    pub code: ValidationCode,
    /// A sentence for people.
    pub message: String,
    /// The accepted values, where the set is closed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub options: Option<Vec<String>>,
}
