//! What a proposal offers: how it is paid and how much.

use serde::{Deserialize, Serialize};

use super::{PaymentKind, UsdCents};

/// What a proposal offers; `{"type": "hourly", "amount": 45.5}` in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    /// How it is paid.
    #[serde(rename = "type")]
    pub kind: PaymentKind,
    /// USD per hour, or USD for the whole job; above zero.
    pub amount: UsdCents,
}

/// The terms in a `bid_complete` (decision C1): `{"type": "hourly", "amount": null}` if a dry run cannot know the
/// amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TermsJson {
    /// How the proposal is, or would be, paid.
    #[serde(rename = "type")]
    pub kind: PaymentKind,
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
