//! Organizations and their subscriptions.

use serde::{Deserialize, Serialize};

use super::words::words;
use super::{CustomerId, Timestamp};

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

    /// How billing periods follow from the one that was reported last (decision B3).
    pub enum Renewal {
        /// Each has the length of the one before.
        SameLength,
        /// Each is a calendar month in UTC.
        CalendarMonth,
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
    /// The first moment after the reported period.
    pub period_end: Timestamp,
    /// How the later periods follow.
    pub renewal: Renewal,
    /// How many real bids one period allows; `None`: any number.
    pub proposal_limit: Option<u32>,
    /// The payment provider's customer who pays for the organization, as an operator named it.
    pub customer: Option<CustomerId>,
}

impl Subscription {
    /// The subscription of an organization that nobody bills: active, without a limit, by calendar month.
    ///
    /// ```
    /// use bidloop_domain::model::{Subscription, Timestamp};
    ///
    /// let subscription = Subscription::unbilled(Timestamp::from_seconds(1_792_000_000));
    /// assert!(subscription.is_active());
    /// assert_eq!(subscription.period_start, Timestamp::from_seconds(1_790_812_800)); // 1 October 2026
    /// assert_eq!(subscription.proposal_limit, None);
    /// ```
    pub fn unbilled(now: Timestamp) -> Self {
        let (period_start, period_end) = now.calendar_month();
        Self {
            status: SubscriptionStatus::Active,
            collection_paused: false,
            period_start,
            period_end,
            renewal: Renewal::CalendarMonth,
            proposal_limit: None,
            customer: None,
        }
    }

    /// Whether keys work and campaigns act (decision D6).
    pub fn is_active(&self) -> bool {
        self.status == SubscriptionStatus::Active && !self.collection_paused
    }
}
