//! Organizations and their subscriptions.

use serde::{Deserialize, Serialize};

use super::Timestamp;

/// What billing says of a subscription (contract section 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SubscriptionStatus {
    /// Paid.
    Active,
    /// A payment is late.
    PastDue,
    /// Ended.
    Canceled,
    /// Payment failed for good.
    Unpaid,
    /// Trying out.
    Trialing,
    /// Suspended.
    Paused,
}

impl SubscriptionStatus {
    /// All of them, in the contract's order.
    pub const ALL: [Self; 6] = [
        Self::Active,
        Self::PastDue,
        Self::Canceled,
        Self::Unpaid,
        Self::Trialing,
        Self::Paused,
    ];

    /// The word used on the wire and in the database.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::PastDue => "past_due",
            Self::Canceled => "canceled",
            Self::Unpaid => "unpaid",
            Self::Trialing => "trialing",
            Self::Paused => "paused",
        }
    }

    /// The inverse of [`as_str`](Self::as_str).
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == word)
    }
}

/// An organization's subscription and the billing period last reported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Subscription {
    /// Billing's word.
    pub status: SubscriptionStatus,
    /// Billing has paused collection.
    pub collection_paused: bool,
    /// Start of the reported period, included.
    pub period_start: Timestamp,
    /// End of the reported period, excluded. Later periods follow at the same length (decision B3).
    pub period_end: Timestamp,
    /// Real bids allowed in one period.
    pub proposal_limit: u32,
}

impl Subscription {
    /// Whether keys work and campaigns act (decision D6).
    pub fn is_active(&self) -> bool {
        self.status == SubscriptionStatus::Active && !self.collection_paused
    }
}
