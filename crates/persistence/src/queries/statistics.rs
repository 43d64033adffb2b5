//! Counts of hours and days: commands insert fresh ones in their own transactions, a worker adds those to the counts of their
//! hours and days, and people read the sums of both.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use bidloop_domain::model::{
    CampaignId, Measure, OrganizationId, StatisticsStep, Tally, TimeBucket, Timestamp, VariantArray,
};
use bidloop_domain::port::{CountedSum, CountsQuery, StatisticsStore, StoreError};
use diesel::dsl::{max, min, sql};
use diesel::sql_types::{BigInt, Text};

use super::super::ADDED_UP_AT_ONCE;
use super::prelude::*;
use crate::grouping::Locks;
use crate::low_water::LowWater;

/// A sum as the database returns it: time, campaign, subject, bucket, count.
type SumRow = (i64, String, String, i64, i64);

#[async_trait]
impl StatisticsStore for Store {
    async fn sums(&self, query: &CountsQuery) -> Result<Vec<CountedSum>, StoreError> {
        let query = query.clone();
        self.read(async move |conn: &mut Conn| sums(conn, &query).await)
            .await
    }

    async fn add_up(&self) -> Result<bool, StoreError> {
        let low = Arc::clone(&self.fresh_counts_from);
        let work = async move |conn: &mut Conn| add_up(conn, &low).await;
        let are_more = self.write_by_keys(Locks::Patiently, work).await?;
        Ok(are_more.unwrap_or_default())
    }
}

async fn sums(conn: &mut Conn, query: &CountsQuery) -> Result<Vec<CountedSum>, Failure> {
    let organization = query.organization_id.as_ref().map_or("", OrganizationId::as_str);
    let mut found = Vec::new();
    // One measure at a time is one range of the key.
    for measure in &query.measures {
        // Rows are grouped by what differs alone: by more, SQLite takes twice as long to sort them.
        let mut keys = "subject, bucket".to_owned();
        let at = query.by_time.map_or_else(
            || "0".to_owned(),
            |steps| {
                let width = query.step.millis().saturating_mul(i64::from(steps.max(1)));
                let at = format!("starts_at - starts_at % {width}");
                keys = format!("{at}, {keys}");
                at
            },
        );
        let campaign = if query.by_campaign {
            keys.push_str(", campaign_id");
            "campaign_id"
        } else {
            "''"
        };
        // One statement, so that no count is on the way from one table to the other.
        let select = format!(
            "SELECT CAST({at} AS BIGINT), {campaign}, subject, bucket, CAST(SUM(count) AS BIGINT) FROM (\
             SELECT starts_at, campaign_id, subject, bucket, count FROM statistics WHERE organization_id = "
        );
        let fresh = format!(
            " UNION ALL SELECT hour - hour % {}, campaign_id, subject, bucket, count FROM fresh_counts \
             WHERE organization_id = ",
            query.step.millis()
        );
        let rows = sql::<(BigInt, Text, Text, BigInt, BigInt)>(&select)
            .bind::<Text, _>(organization)
            .sql(" AND step = ")
            .bind::<Text, _>(query.step.as_str())
            .sql(" AND measure = ")
            .bind::<Text, _>(measure.as_str())
            .sql(&fresh)
            .bind::<Text, _>(organization)
            .sql(" AND measure = ")
            .bind::<Text, _>(measure.as_str())
            .sql(") AS counts WHERE starts_at >= ")
            .bind::<BigInt, _>(query.from.as_millis())
            .sql(" AND starts_at < ")
            .bind::<BigInt, _>(query.until.as_millis())
            .sql(&format!(" GROUP BY {keys}"));
        let rows: Vec<SumRow> = rows.load(conn).await?;
        found.extend(rows.into_iter().filter_map(|row| sum(query, *measure, row)));
    }
    Ok(found)
}

/// `None` if the row is damaged: it is one of thousands that are added up.
fn sum(query: &CountsQuery, measure: Measure, row: SumRow) -> Option<CountedSum> {
    let (at, campaign, subject, bucket, count) = row;
    let campaign_id = match campaign.as_str() {
        "" => None,
        id => Some(CampaignId::parse(id).ok()?),
    };
    Some(CountedSum {
        at: query.by_time.map(|_| Timestamp::from_millis(at)),
        campaign_id,
        measure,
        subject,
        bucket: TimeBucket(u16::try_from(bucket).ok()?),
        count: u64::try_from(count).ok()?,
    })
}

/// A count of a step.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Counted {
    organization: String,
    step: &'static str,
    measure: String,
    starts_at: i64,
    campaign: String,
    subject: String,
    bucket: i64,
}

/// A fresh count as the database returns it: organization, measure, hour, campaign, subject, bucket, count.
type FreshRow = (
    Attempt<String>,
    Attempt<String>,
    i64,
    Attempt<String>,
    Attempt<String>,
    i64,
    i64,
);

/// Returns whether there are more.
async fn add_up(conn: &mut Conn, low: &LowWater) -> Result<bool, Failure> {
    let (from, began) = (low.from(), Instant::now());
    let fresh = fresh_counts::table.filter(fresh_counts::id.ge(from));
    let ends = fresh.select((min(fresh_counts::id), max(fresh_counts::id)));
    let ends: (Option<i64>, Option<i64>) = ends.first(conn).await?;
    low.note(from, began, ends.0);
    let (Some(first), Some(last)) = ends else {
        return Ok(false);
    };
    let last_now = last.min(first.saturating_add(ADDED_UP_AT_ONCE - 1));
    let moved: Vec<FreshRow> =
        diesel::delete(fresh_counts::table.filter(fresh_counts::id.between(first, last_now)))
            .returning((
                fresh_counts::organization_id,
                fresh_counts::measure,
                fresh_counts::hour,
                fresh_counts::campaign_id,
                fresh_counts::subject,
                fresh_counts::bucket,
                fresh_counts::count,
            ))
            .load(conn)
            .await?;
    let mut hours: HashMap<(String, String, i64, String, String, i64), i64> = HashMap::new();
    // One that cannot be read is one of thousands.
    for row in moved {
        if let (
            Attempt(Ok(organization)),
            Attempt(Ok(measure)),
            hour,
            Attempt(Ok(campaign)),
            Attempt(Ok(subject)),
            bucket,
            count,
        ) = row
        {
            let counted = (organization, measure, hour, campaign, subject, bucket);
            *hours.entry(counted).or_default() += count;
        }
    }
    // The same order in each transaction, so that none waits for another that waits for it.
    let mut sums: BTreeMap<Counted, i64> = BTreeMap::new();
    for ((organization, measure, hour, campaign, subject, bucket), count) in hours {
        for step in StatisticsStep::VARIANTS {
            let counted = Counted {
                organization: organization.clone(),
                step: step.as_str(),
                measure: measure.clone(),
                starts_at: step.start(Timestamp::from_millis(hour)).as_millis(),
                campaign: campaign.clone(),
                subject: subject.clone(),
                bucket,
            };
            *sums.entry(counted).or_default() += count;
        }
    }
    let sums: Vec<(Counted, i64)> = sums.into_iter().collect();
    Batch::of("statistics", &sums)
        .with(statistics::organization_id, |(of, _)| of.organization.as_str())
        .with(statistics::step, |(of, _)| of.step)
        .with(statistics::measure, |(of, _)| of.measure.as_str())
        .with(statistics::starts_at, |(of, _)| of.starts_at)
        .with(statistics::campaign_id, |(of, _)| of.campaign.as_str())
        .with(statistics::subject, |(of, _)| of.subject.as_str())
        .with(statistics::bucket, |(of, _)| of.bucket)
        .with(statistics::count, |(_, count)| *count)
        .run_at_commit(conn, Write::Add(7))
        .await?;
    Ok(last_now < last)
}

/// Counts what happened at `at`.
pub(super) async fn count(conn: &mut Conn, tally: &Tally, at: Timestamp) -> Result<(), Failure> {
    let counts: Vec<_> = tally.counts().collect();
    let hour = StatisticsStep::Hour.start(at).as_millis();
    Batch::of("fresh_counts", &counts)
        .with(fresh_counts::organization_id, |(of, _)| {
            of.organization_id.as_ref().map_or("", OrganizationId::as_str)
        })
        .with(fresh_counts::measure, |(of, _)| of.measure.as_str())
        .with(fresh_counts::hour, |_| hour)
        .with(fresh_counts::campaign_id, |(of, _)| {
            of.campaign_id.as_ref().map_or("", CampaignId::as_str)
        })
        .with(fresh_counts::subject, |(of, _)| of.subject.as_str())
        .with(fresh_counts::bucket, |(of, _)| i64::from(of.bucket.0))
        .with(fresh_counts::count, |(_, count)| stored(*count))
        .run_at_commit(conn, Write::Insert)
        .await
}
