//! What is read of all organizations at once: their list, and what in them needs somebody's attention.

use bidloop_domain::bidding::current_period;
use bidloop_domain::model::{OrganizationId, Subscription, Timestamp};
use bidloop_domain::port::{InstallationState, OrganizationName, OrganizationSummary, SubscriptionUsage};
use diesel::dsl::sql;
use diesel::sql_types::{BigInt, Nullable};

use super::overview::used_in;
use super::prelude::*;

/// An organization's columns: its id twice, name, subscription, how many campaigns it has, when its newest counted bid was queued, and
/// start, end and use of a period that may be in force.
type SummaryRow = (
    String,
    Attempt<Col<OrganizationId>>,
    Attempt<Col<String>>,
    Tried<Subscription>,
    i64,
    Option<i64>,
    Option<(i64, i64, Col<u64>)>,
);

/// With the last id, readable or not; `None` without a row. One statement, and one more for each organization whose period was changed since its last bid.
pub(super) async fn summaries(
    conn: &mut Conn,
    quarantine: &Quarantine,
    after: String,
    limit: i64,
    now: Timestamp,
) -> Result<(Vec<OrganizationSummary>, Option<String>), Failure> {
    let now_millis = now.as_millis();
    // The period that was reported is in force before its start too.
    let may_be_in_force = quota_usage::period_end.gt(now_millis).and(
        quota_usage::period_start
            .le(now_millis)
            .or(quota_usage::period_start.eq(organizations::period_start)),
    );
    // The second condition lets PostgreSQL begin where the page begins when it reads both tables side by side.
    let its_usage = quota_usage::organization_id
        .eq(organizations::id)
        .and(quota_usage::organization_id.gt(after.clone()));
    let newest_bid = "(SELECT MAX(b.queued_at) FROM bids AS b WHERE b.organization_id = organizations.id \
                      AND b.status IN ('queued', 'submitted'))";
    let rows: Vec<SummaryRow> = organizations::table
        .left_join(quota_usage::table.on(its_usage.and(may_be_in_force)))
        .filter(organizations::id.gt(after))
        .order(organizations::id)
        .limit(limit)
        .select((
            organizations::id,
            organizations::id,
            organizations::name,
            Tried::<Subscription>::as_select(),
            sql::<BigInt>("(SELECT COUNT(*) FROM campaigns AS c WHERE c.organization_id = organizations.id)"),
            sql::<Nullable<BigInt>>(newest_bid),
            (
                quota_usage::period_start,
                quota_usage::period_end,
                quota_usage::used,
            )
                .nullable(),
        ))
        .load(conn)
        .await?;
    let last = rows.last().map(|(id, ..)| id.clone());
    let mut summaries: Vec<OrganizationSummary> = Vec::with_capacity(rows.len());
    for (_, id, name, subscription, campaigns, newest_bid, counted) in rows {
        let (Ok(Col(id)), Ok(Col(name))) = (id.0, name.0) else {
            continue;
        };
        let usage = match subscription.or_aside(quarantine) {
            None => None,
            Some(subscription) => {
                let period = current_period(&subscription, now);
                let in_force = (period.start.as_millis(), period.end.as_millis());
                let used = match counted {
                    Some((start, end, Col(used))) if (start, end) == in_force => used,
                    _ if newest_bid.is_none_or(|at| at < in_force.0) => 0,
                    _ => used_in(conn, &id, period).await?,
                };
                Some(SubscriptionUsage {
                    subscription,
                    period,
                    used,
                })
            }
        };
        let campaigns = u64::try_from(campaigns).unwrap_or(0);
        let name = OrganizationName { id, name };
        // An organization stands twice if two of its counted periods may be in force.
        if summaries.last().is_none_or(|last| last.name.id != name.id) {
            summaries.push(OrganizationSummary {
                name,
                usage,
                campaigns,
            });
        }
    }
    Ok((summaries, last))
}

/// Bids that are being decided or wait to be: the index `bids_given_up` has them by their deadlines.
const OLDEST_BID: &str = "(SELECT queued_at FROM bids WHERE status = 'queued' AND NOT answer_outstanding \
                          ORDER BY deadline LIMIT 1)";
const OLDEST_DELIVERY: &str =
    "(SELECT MIN(created_at) FROM deliveries WHERE state = 'pending' AND ended_at IS NULL)";
const DISCONNECTED_ACCOUNTS: &str = "(SELECT COUNT(*) FROM bidder_accounts AS a WHERE NOT a.connected AND EXISTS (\
     SELECT 1 FROM campaigns AS c WHERE c.organization_id = a.organization_id AND c.account_id = a.id \
     AND c.state = 'active'))";
const LAPSED_ORGANIZATIONS: &str = "(SELECT COUNT(*) FROM organizations AS o \
     WHERE (o.subscription_status <> 'active' OR o.collection_paused) AND EXISTS (\
     SELECT 1 FROM campaigns AS c WHERE c.organization_id = o.id AND c.state = 'active'))";

/// The oldest bid and delivery, disconnected accounts, lapsed organizations, unsettled bids.
type StateRow = (Option<i64>, Option<i64>, i64, i64, i64);

pub(super) async fn state(conn: &mut Conn, now: Timestamp) -> Result<InstallationState, Failure> {
    let now = now.as_millis();
    let scalars = format!("{OLDEST_BID}, {OLDEST_DELIVERY}, {DISCONNECTED_ACCOUNTS}, {LAPSED_ORGANIZATIONS}");
    // The index `bids_unanswered` has the few bids whose answer is outstanding.
    let select = sql::<(Nullable<BigInt>, Nullable<BigInt>, BigInt, BigInt, BigInt)>(&format!(
        "SELECT {scalars}, (SELECT COUNT(*) FROM bids AS b LEFT JOIN bidder_accounts AS a \
         ON a.organization_id = b.organization_id AND a.id = b.account_id \
         WHERE b.status = 'queued' AND b.answer_outstanding AND (a.id IS NULL OR b.deadline <= "
    ))
    .bind::<BigInt, _>(now)
    .sql("))");
    let row: StateRow = select.get_result(conn).await?;
    let (oldest_bid, oldest_delivery, disconnected, lapsed, unsettled) = row;
    let (without, low) = quotas(conn, now).await?;
    let count = |count: i64| u64::try_from(count).unwrap_or(0);
    Ok(InstallationState {
        oldest_bid: oldest_bid.map(Timestamp::from_millis),
        oldest_delivery: oldest_delivery.map(Timestamp::from_millis),
        unsettled_bids: count(unsettled),
        disconnected_accounts: count(disconnected),
        lapsed_organizations: count(lapsed),
        organizations_without_quota: count(without),
        organizations_low_on_quota: count(low),
    })
}

/// How many organizations have no proposal left, and how many less than a tenth of them. The condition is written so that
/// PostgreSQL reads the campaigns of these organizations alone.
async fn quotas(conn: &mut Conn, now: i64) -> Result<(i64, i64), Failure> {
    let select = sql::<(BigInt, BigInt)>(
        "SELECT COUNT(DISTINCT CASE WHEN used >= proposal_limit THEN id END), \
         COUNT(DISTINCT CASE WHEN used < proposal_limit THEN id END) FROM (\
         SELECT o.id, o.proposal_limit, COALESCE(q.used, 0) AS used FROM organizations AS o LEFT JOIN quota_usage AS q \
         ON q.organization_id = o.id AND q.period_end > ",
    )
    .bind::<BigInt, _>(now)
    .sql(" AND (q.period_start <= ")
    .bind::<BigInt, _>(now)
    .sql(
        " OR q.period_start = o.period_start) \
         WHERE o.proposal_limit IS NOT NULL AND o.subscription_status = 'active' AND NOT o.collection_paused) AS quotas \
         WHERE CASE WHEN used >= proposal_limit OR used * 10 > proposal_limit * 9 THEN (\
         SELECT COUNT(*) FROM campaigns AS c WHERE c.organization_id = quotas.id AND c.state = 'active') ELSE 0 END > 0",
    );
    Ok(select.get_result(conn).await?)
}
