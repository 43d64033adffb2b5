//! What a payment provider reported, and the subscriptions that follow from it.

use std::collections::BTreeSet;

use async_trait::async_trait;
use bidloop_domain::model::{BilledSubscriptionId, CustomerId, OrganizationId, Subscription};
use bidloop_domain::port::{
    BilledOrganization, BilledRecord, BillingChange, BillingStore, Revision, StoreError,
};

use super::activities::insert_activity;
use super::filter_changes::move_revision;
use super::locks::revision;
use super::prelude::*;
use super::provisioning::{lock_organizations, put_subscription};
use super::sign_ins::locked_revision;

#[async_trait]
impl BillingStore for Store {
    async fn billed(
        &self,
        id: &BilledSubscriptionId,
    ) -> Result<(Revision, Option<BilledRecord>), StoreError> {
        let id = id.clone();
        // The inherent method: a port has one of the same name.
        Store::snapshot(self, async move |conn: &mut Conn| {
            let revision = revision(conn).await?;
            let record = billed_subscriptions::table
                .find(id.as_str())
                .select((Row::<BilledRecord>::as_select(),));
            let record: Option<(Row<BilledRecord>,)> = record.first(conn).await.optional()?;
            Ok((Revision(revision), record.map(|(Row(record),)| record)))
        })
        .await
    }

    async fn billed_organizations(
        &self,
        ids: &[OrganizationId],
        customer: Option<&CustomerId>,
    ) -> Result<Vec<BilledOrganization>, StoreError> {
        let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
        let customer = customer.map(ToString::to_string);
        let quarantine = self.quarantine.clone();
        self.read(async move |conn: &mut Conn| {
            let asked = one_of!(organizations::id, &ids).or(organizations::customer.eq(customer.as_deref()));
            let rows: Vec<(Col<OrganizationId>, Row<Subscription>)> = organizations::table
                .filter(asked)
                .order(organizations::id)
                .select((organizations::id, Row::<Subscription>::as_select()))
                .load(conn)
                .await?;
            let mut organizations = Vec::with_capacity(rows.len());
            for (Col(id), Row(subscription)) in rows {
                let paid_by = billed_subscriptions::table
                    .filter(billed_subscriptions::organization_id.eq(id.as_str()))
                    .order(billed_subscriptions::id);
                organizations.push(BilledOrganization {
                    paid_by: load_records!(conn, &quarantine, BilledRecord, paid_by),
                    id,
                    subscription,
                });
            }
            Ok(organizations)
        })
        .await
    }

    async fn commit_billing(&self, expected: Revision, change: &BillingChange) -> Result<bool, StoreError> {
        let change = change.clone();
        self.write(async move |conn: &mut Conn| {
            let before = locked_revision(conn).await?;
            if before.value != expected.0 {
                return Ok(false);
            }
            let organizations = change.subscriptions.iter();
            let organizations: BTreeSet<&str> = organizations.map(|(id, ..)| id.as_str()).collect();
            lock_organizations(conn, organizations).await?;
            let record = change.record.columns()?;
            put!(conn, billed_subscriptions, record.clone(), record);
            for (organization, subscription, entry) in &change.subscriptions {
                put_subscription(conn, organization, subscription).await?;
                insert_activity(conn, entry).await?;
            }
            move_revision(conn, before, before.value + 1, &BTreeSet::new()).await?;
            Ok(true)
        })
        .await
    }
}
