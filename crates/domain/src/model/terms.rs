//! What a proposal offers: how it is paid and how much.

use serde::{Deserialize, Serialize};

use super::UsdCents;

/// How a proposal is paid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, strum::Display)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum TermsKind {
    /// By the hour; the amount is USD per hour.
    Hourly,
    /// A fixed price; the amount is USD for the whole job.
    Fixed,
}

/// What a proposal offers; `{"type": "hourly", "amount": 45.5}` in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    /// How it is paid.
    #[serde(rename = "type")]
    pub kind: TermsKind,
    /// USD per hour, or USD for the whole job; above zero.
    pub amount: UsdCents,
}

/// The terms in a `bid_complete` (decision C1): `{"type": "hourly", "amount": null}` where a dry run does not know
/// the amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TermsJson {
    /// How the proposal is, or would be, paid.
    #[serde(rename = "type")]
    pub kind: TermsKind,
    /// USD per hour, or USD for the whole job; `None` if it cannot be known without asking the marketplace.
    pub amount: Option<UsdCents>,
}

impl From<Terms> for TermsJson {
    fn from(Terms { kind, amount }: Terms) -> Self {
        Self {
            kind,
            amount: Some(amount),
        }
    }
}
