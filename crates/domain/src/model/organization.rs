//! Organizations and their subscriptions.

use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, IntoStaticStr, VariantArray};

use super::Timestamp;

/// What billing says of a subscription (contract section 3).
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize,
    Display,
    EnumString,
    IntoStaticStr,
    VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case", const_into_str)]
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
