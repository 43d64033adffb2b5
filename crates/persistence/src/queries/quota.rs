//! The quota: a bid uses one unit of its organization's billing period, and returns it if it ends without a proposal
//! (decision B3).
//!
//! `quota_usage.used` always equals the number of the period's bids that count. Accepting a bid locks the row here and
//! adds one in the transaction that stores the bid.
//!
//! Each of these changes leaves an old version of the row, and PostgreSQL removes none as long as any transaction may see it.
//! So accepting a bid looks for it from the end of its index, where the newest version mostly is, and changes it where it
//! found it.

use std::collections::BTreeSet;

use bidloop_domain::bidding::{BillingPeriod, QuotaUsage, current_period};
use bidloop_domain::model::{OrganizationId, Subscription, Timestamp};
use diesel::dsl::sql;
use diesel::sql_types::{BigInt, Bool, Text};

use super::prelude::*;

/// Locks the usage of the period in force at `at`, counting it first if that was not done before. No other transaction
/// changes it until this one ends. `subscription` is the organization's, as the last commit left it.
pub(super) async fn locked_quota(
    conn: &mut Conn,
    organization: &OrganizationId,
    mut subscription: Subscription,
    at: Timestamp,
) -> Result<(Usage, QuotaUsage), Failure> {
    let mut period = current_period(&subscription, at);
    let mut counted = locked_usage(conn, organization, period).await?;
    if counted.is_none() {
        // Not counted yet, or billing has reported another period meanwhile. Returning units and changing the
        // subscription lock the organization's row too, so counting misses none.
        let organization_row = organizations::table
            .find(organization.as_str())
            .select(Row::<Subscription>::as_select());
        // Bids that are accepted at the same time share a lock on it, so an exclusive one could end in a deadlock.
        Row(subscription) = for_no_key_update!(organization_row).first(conn).await?;
        period = current_period(&subscription, at);
        counted = locked_usage(conn, organization, period).await?;
    }
    let usage = match counted {
        Some(usage) => usage,
        None => count_anew(conn, organization, period).await?,
    };
    let quota = QuotaUsage::of(&subscription, period, usage.used.0);
    Ok((usage, quota))
}

/// The unit of quota that a bid took.
pub(super) struct Unit<'b> {
    pub(super) organization: &'b str,
    pub(super) queued_at: i64,
    /// The start of the period that was in force.
    pub(super) period_start: i64,
}

/// What was counted of an organization's period. Its row is locked.
#[derive(Queryable)]
pub(super) struct Usage {
    pub(super) organization_id: Col<OrganizationId>,
    pub(super) period_start: i64,
    pub(super) period_end: i64,
    pub(super) used: Col<u64>,
    /// Where the row's newest version stands.
    place: String,
}

/// The types of a [`Usage`].
pub(super) type UsageRow = (Text, BigInt, BigInt, BigInt, Text);

/// The columns of a [`Usage`].
macro_rules! usage_columns {
    () => {
        (
            quota_usage::organization_id,
            quota_usage::period_start,
            quota_usage::period_end,
            quota_usage::used,
            place_of!("quota_usage"),
        )
    };
}

/// Locks the usage of each period that a unit may be returned to: of all that end after the units were taken. The caller
/// has locked the leads, and no account or bid yet.
pub(super) async fn locked_usages(conn: &mut Conn, units: &[Unit<'_>]) -> Result<Vec<Usage>, Failure> {
    let taken = units.iter().map(|unit| unit.queued_at.min(unit.period_start));
    let Some(first) = taken.min() else {
        return Ok(Vec::new());
    };
    let of: BTreeSet<&str> = units.iter().map(|unit| unit.organization).collect();
    // No transaction counts a period's bids until it can see that this one has ended.
    let organizations = organizations::table
        .filter(one_of!(organizations::id, &of))
        .order(organizations::id)
        .select(organizations::id);
    let usages = quota_usage::table
        .filter(one_of!(quota_usage::organization_id, &of))
        .filter(quota_usage::period_end.gt(first))
        .filter(quota_usage::used.gt(0))
        .order((quota_usage::organization_id, quota_usage::period_start))
        .select(usage_columns!());
    let (_, usages): (Vec<String>, Vec<Usage>) =
        load_together!(conn, for_share!(organizations), for_update!(usages))?;
    Ok(usages)
}

/// Returns the units of bids that end as skipped or failed to the periods that they were taken from, together with the
/// commit. `usages` are what [`locked_usages`] returned for them.
pub(super) async fn return_units(
    conn: &mut Conn,
    mut usages: Vec<Usage>,
    units: &[Unit<'_>],
) -> Result<(), Failure> {
    for usage in &mut usages {
        let returned = units.iter().filter(|unit| {
            let queued_within = usage.period_start <= unit.queued_at && unit.queued_at < usage.period_end;
            unit.organization == usage.organization_id.0.as_str()
                && (queued_within || unit.period_start == usage.period_start)
        });
        usage.used.0 = usage.used.0.saturating_sub(returned.count() as u64);
    }
    set_used(conn, &usages.iter().collect::<Vec<_>>()).await
}

/// Writes how many units of organizations' periods are used, together with the commit.
pub(super) async fn set_used(conn: &mut Conn, usages: &[&Usage]) -> Result<(), Failure> {
    Batch::of("quota_usage", usages)
        .with_place(|usage| usage.place.as_str())
        .with(quota_usage::organization_id, |usage| {
            usage.organization_id.0.as_str()
        })
        .with(quota_usage::period_start, |usage| usage.period_start)
        .with(quota_usage::used, |usage| stored(usage.used.0))
        .run_at_commit(conn, Write::UpdatePlaced(2))
        .await
}

/// What was counted for exactly this period.
async fn locked_usage(
    conn: &mut Conn,
    organization: &OrganizationId,
    period: BillingPeriod,
) -> Result<Option<Usage>, Failure> {
    let start = period.start.as_millis();
    let row = quota_usage::table
        .filter(quota_usage::organization_id.eq(organization.as_str()))
        // Read from its end, so that the newest version comes first.
        .filter(quota_usage::period_start.between(start, start))
        .order(quota_usage::period_start.desc())
        .select(usage_columns!());
    let found: Option<Usage> = for_update!(row).first(conn).await.optional()?;
    Ok(found.filter(|usage| usage.period_end == period.end.as_millis()))
}

async fn count_anew(
    conn: &mut Conn,
    organization: &OrganizationId,
    period: BillingPeriod,
) -> Result<Usage, Failure> {
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
    let counted = locked_usage(conn, organization, period).await?;
    counted.ok_or_else(|| Failure::fault("what was counted of a period is gone".to_owned()))
}
