//! The quota: a bid takes a unit of its organization's billing period, and gives it back if it ends without a
//! proposal (decision B3).
//!
//! `quota_usage.used` is always what counting the period's bids would give. Whoever accepts a bid locks it here and
//! adds one with the bid itself.

use bidloop_domain::bidding::{BillingPeriod, QuotaUsage, current_period};
use bidloop_domain::model::{OrganizationId, Subscription, Timestamp};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Bool;
use diesel_async::RunQueryDsl;

use super::Conn;
use crate::columns::number;
use crate::failure::Failure;
use crate::rows::SubscriptionRow;
use crate::schema::{bids, organizations, quota_usage};

/// The period in force at a moment and its usage, which nobody else changes until the transaction ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct LockedQuota {
    pub(super) period: BillingPeriod,
    pub(super) usage: QuotaUsage,
}

/// Locks the usage of the period in force at `at`, counting it first if that was not done before. `subscription` is
/// the organization's, as the last commit left it.
pub(super) async fn locked_quota(
    conn: &mut Conn,
    organization: &OrganizationId,
    subscription: &Subscription,
    at: Timestamp,
) -> Result<LockedQuota, Failure> {
    let period = period_at(subscription, at);
    if let Some(used) = locked_usage(conn, organization, period).await? {
        return locked(subscription, period, used);
    }
    // Not counted yet, or billing has reported another period meanwhile. Whoever gives a unit back or changes the
    // subscription needs the organization's row too, so that none is missed in counting.
    let organization_row = organizations::table
        .find(organization.as_str())
        .select(SubscriptionRow::as_select());
    let row: SubscriptionRow = for_update!(organization_row).first(conn).await?;
    let subscription = row.into_subscription()?;
    let period = period_at(&subscription, at);
    let used = match locked_usage(conn, organization, period).await? {
        Some(used) => used,
        None => count_anew(conn, organization, period).await?,
    };
    locked(&subscription, period, used)
}

/// Gives back the unit of a bid that ends as skipped or failed, to the period that it was taken from.
///
/// Its lead is locked, and its own row not written yet: locks are taken in that order.
pub(super) async fn give_back_unit(
    conn: &mut Conn,
    organization: &OrganizationId,
    queued_at: Timestamp,
    period_start: Timestamp,
) -> Result<(), Failure> {
    // Nobody counts the period's bids until this one is seen to have ended.
    let organization_row = organizations::table
        .find(organization.as_str())
        .select(organizations::id);
    let _locked: Option<String> = for_share!(organization_row).first(conn).await.optional()?;
    let queued_within = quota_usage::period_start
        .le(queued_at.as_millis())
        .and(quota_usage::period_end.gt(queued_at.as_millis()));
    let row = quota_usage::table
        .filter(quota_usage::organization_id.eq(organization.as_str()))
        .filter(queued_within.or(quota_usage::period_start.eq(period_start.as_millis())))
        .filter(quota_usage::used.gt(0));
    diesel::update(row)
        .set(quota_usage::used.eq(quota_usage::used - 1))
        .execute(conn)
        .await?;
    Ok(())
}

fn period_at(subscription: &Subscription, at: Timestamp) -> BillingPeriod {
    let reported = BillingPeriod {
        start: subscription.period_start,
        end: subscription.period_end,
    };
    current_period(reported, at)
}

fn locked(subscription: &Subscription, period: BillingPeriod, used: i64) -> Result<LockedQuota, Failure> {
    let usage = QuotaUsage {
        used: number("quota_usage.used", used)?,
        limit: u64::from(subscription.proposal_limit),
        period_end: period.end,
    };
    Ok(LockedQuota { period, usage })
}

/// What was counted for exactly this period.
async fn locked_usage(
    conn: &mut Conn,
    organization: &OrganizationId,
    period: BillingPeriod,
) -> Result<Option<i64>, Failure> {
    let row = quota_usage::table
        .find((organization.as_str(), period.start.as_millis()))
        .select((quota_usage::period_end, quota_usage::used));
    let found: Option<(i64, i64)> = for_update!(row).first(conn).await.optional()?;
    Ok(found
        .filter(|(period_end, _)| *period_end == period.end.as_millis())
        .map(|(_, used)| used))
}

async fn count_anew(
    conn: &mut Conn,
    organization: &OrganizationId,
    period: BillingPeriod,
) -> Result<i64, Failure> {
    let (start, end) = (period.start.as_millis(), period.end.as_millis());
    let counted = || {
        bids::table
            .filter(bids::organization_id.eq(organization.as_str()))
            .filter(sql::<Bool>("bids.status IN ('queued', 'submitted')"))
    };
    let within: i64 = counted()
        .filter(bids::queued_at.ge(start).and(bids::queued_at.lt(end)))
        .count()
        .get_result(conn)
        .await?;
    let early: i64 = counted()
        .filter(sql::<Bool>("bids.queued_at < bids.period_start"))
        // For an equality SQLite would read all bids before the period instead of those few.
        .filter(bids::period_start.between(start, start))
        .count()
        .get_result(conn)
        .await?;
    let used = within.saturating_add(early);
    diesel::insert_into(quota_usage::table)
        .values((
            quota_usage::organization_id.eq(organization.as_str()),
            quota_usage::period_start.eq(start),
            quota_usage::period_end.eq(end),
            quota_usage::used.eq(used),
        ))
        .on_conflict((quota_usage::organization_id, quota_usage::period_start))
        .do_update()
        .set((quota_usage::period_end.eq(end), quota_usage::used.eq(used)))
        .execute(conn)
        .await?;
    Ok(used)
}
