//! The columns of an organization that are its subscription.

use bidloop_domain::model::{Subscription, Timestamp};
use diesel::prelude::*;

use crate::columns::{number, word};
use crate::failure::Failure;
use crate::schema::organizations;

/// Some columns of `organizations`.
#[derive(Debug, Clone, Insertable, AsChangeset, Queryable, Selectable)]
#[diesel(table_name = organizations)]
pub(crate) struct SubscriptionRow {
    subscription_status: String,
    collection_paused: bool,
    period_start: i64,
    period_end: i64,
    proposal_limit: i64,
}

impl SubscriptionRow {
    pub(crate) fn new(subscription: &Subscription) -> Self {
        Self {
            subscription_status: subscription.status.as_str().to_owned(),
            collection_paused: subscription.collection_paused,
            period_start: subscription.period_start.as_millis(),
            period_end: subscription.period_end.as_millis(),
            proposal_limit: i64::from(subscription.proposal_limit),
        }
    }

    pub(crate) fn into_subscription(self) -> Result<Subscription, Failure> {
        let status = &self.subscription_status;
        Ok(Subscription {
            status: word("organizations.subscription_status", status)?,
            collection_paused: self.collection_paused,
            period_start: Timestamp::from_millis(self.period_start),
            period_end: Timestamp::from_millis(self.period_end),
            proposal_limit: number("organizations.proposal_limit", self.proposal_limit)?,
        })
    }
}
