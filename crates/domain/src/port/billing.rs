//! What a payment provider reported, and the organizations that it is about.

use async_trait::async_trait;

use super::{Revision, StoreError};
use crate::model::{Activity, BilledSubscriptionId, BillingEvents, CustomerId, OrganizationId, Subscription};

/// A subscription of the payment provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BilledRecord {
    /// The provider's id, unique in the installation.
    pub id: BilledSubscriptionId,
    /// The organization that it pays for; `None` if it is not known yet.
    pub organization_id: Option<OrganizationId>,
    /// What was reported of it.
    pub events: BillingEvents,
}

/// An organization with what pays for it.
#[derive(Debug, Clone, PartialEq)]
pub struct BilledOrganization {
    /// The organization.
    pub id: OrganizationId,
    /// Its subscription as it is now.
    pub subscription: Subscription,
    /// The provider's subscriptions that pay for it, by id.
    pub paid_by: Vec<BilledRecord>,
}

/// What a report changes.
#[derive(Debug, Clone, PartialEq)]
pub struct BillingChange {
    /// The provider's subscription, as it is from now on.
    pub record: BilledRecord,
    /// The organizations whose subscriptions change, each with the new one and with the entry of the Activity record.
    pub subscriptions: Vec<(OrganizationId, Subscription, Activity)>,
}

/// Follows the subscriptions of a payment provider.
#[async_trait]
pub trait BillingStore: Send + Sync + std::fmt::Debug {
    /// The revision, and what is known of a subscription of the provider.
    async fn billed(&self, id: &BilledSubscriptionId)
    -> Result<(Revision, Option<BilledRecord>), StoreError>;

    /// Those of these organizations that exist, and those that `customer` pays for, by id. Read it after
    /// [`billed`](Self::billed): whatever changes them raises the revision.
    async fn billed_organizations(
        &self,
        ids: &[OrganizationId],
        customer: Option<&CustomerId>,
    ) -> Result<Vec<BilledOrganization>, StoreError>;

    /// Makes all of the change and raises the revision, or does nothing and answers false if the revision has moved.
    /// Once it answers true, the subscriptions hold for every later request and job in every process (decision D7).
    async fn commit_billing(&self, expected: Revision, change: &BillingChange) -> Result<bool, StoreError>;
}
