//! Organizations and their subscriptions.

use serde::{Deserialize, Serialize};

use super::Timestamp;
use super::words::words;

words! {
    /// A subscription's status, as billing reports it (contract section 3).
    pub enum SubscriptionStatus {
        /// Paid.
        Active,
        /// A payment is late.
        PastDue,
        /// Ended.
        Canceled,
        /// Payment failed for good.
        Unpaid,
        /// In a trial period.
        Trialing,
        /// Suspended.
        Paused,
    }
}

/// An organization's subscription and the billing period last reported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Subscription {
    /// The status that billing reported.
    pub status: SubscriptionStatus,
    /// Whether billing has paused collection.
    pub collection_paused: bool,
    /// The first moment of the reported period.
    pub period_start: Timestamp,
    /// The first moment after the reported period. Later periods have the same length (decision B3).
    pub period_end: Timestamp,
    /// How many real bids one period allows.
    pub proposal_limit: u32,
}

impl Subscription {
    /// Whether keys work and campaigns act (decision D6).
    pub fn is_active(&self) -> bool {
        self.status == SubscriptionStatus::Active && !self.collection_paused
    }
}
