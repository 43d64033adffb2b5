//! The quota: a bid uses one unit of its organization's billing period, and returns it if it ends without a proposal
//! (decision B3).
//!
//! `quota_usage.used` always equals the number of the period's bids that count. Accepting a bid locks the row here and
//! adds one in the transaction that stores the bid.

use bidloop_domain::bidding::{BillingPeriod, QuotaUsage, current_period};
use bidloop_domain::model::{OrganizationId, Subscription, Timestamp};
use diesel::dsl::sql;
use diesel::sql_types::Bool;

use super::prelude::*;

/// Locks the usage of the period in force at `at`, counting it first if that was not done before. Returns the period
/// and its usage, which no other transaction changes until this one ends. `subscription` is the organization's, as the
/// last commit left it.
pub(super) async fn locked_quota(
    conn: &mut Conn,
    organization: &OrganizationId,
    mut subscription: Subscription,
    at: Timestamp,
) -> Result<(BillingPeriod, QuotaUsage), Failure> {
    let mut period = current_period(&subscription, at);
    let mut counted = locked_usage(conn, organization, period).await?;
    if counted.is_none() {
        // Not counted yet, or billing has reported another period meanwhile. Returning a unit and changing the
        // subscription lock the organization's row too, so counting misses none.
        let organization_row = organizations::table
            .find(organization.as_str())
            .select(Row::<Subscription>::as_select());
        // Bids that are accepted at the same time share a lock on it, so an exclusive one could end in a deadlock.
        Row(subscription) = for_no_key_update!(organization_row).first(conn).await?;
        period = current_period(&subscription, at);
        counted = locked_usage(conn, organization, period).await?;
    }
    let used = match counted {
        Some(used) => used,
        None => count_anew(conn, organization, period).await?,
    };
    Ok((period, QuotaUsage::of(&subscription, period, used)))
}

/// Returns the unit of a bid that ends as skipped or failed to the period that it was taken from.
///
/// The caller has locked the lead and has not written the bid yet: locks are taken in that order.
pub(super) async fn return_unit(
    conn: &mut Conn,
    organization: &OrganizationId,
    queued_at: Timestamp,
    period_start: Timestamp,
) -> Result<(), Failure> {
    // No transaction counts the period's bids until it can see that this one has ended.
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

/// What was counted for exactly this period.
async fn locked_usage(
    conn: &mut Conn,
    organization: &OrganizationId,
    period: BillingPeriod,
) -> Result<Option<u64>, Failure> {
    let row = quota_usage::table
        .find((organization.as_str(), period.start.as_millis()))
        .select((quota_usage::period_end, quota_usage::used));
    let found: Option<(i64, Col<u64>)> = for_update!(row).first(conn).await.optional()?;
    Ok(found
        .filter(|(period_end, _)| *period_end == period.end.as_millis())
        .map(|(_, used)| used.0))
}

async fn count_anew(
    conn: &mut Conn,
    organization: &OrganizationId,
    period: BillingPeriod,
) -> Result<u64, Failure> {
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
    let fields = (quota_usage::period_end.eq(end), quota_usage::used.eq(used));
    let row = (
        quota_usage::organization_id.eq(organization.as_str()),
        quota_usage::period_start.eq(start),
        fields,
    );
    put!(conn, quota_usage, row, fields);
    Ok(u64::try_from(used).unwrap_or(0))
}
