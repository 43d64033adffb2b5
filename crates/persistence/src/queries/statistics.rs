//! Counts of hours and days: each command inserts its fresh ones as one row in its own transaction, a worker adds those to the
//! counts of their hours and days, and people read the sums of both.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use bidloop_domain::model::{
    CampaignId, Measure, OrganizationId, StatisticsStep, Tally, TimeBucket, Timestamp, VariantArray,
};
use bidloop_domain::port::{CountedSum, CountsQuery, StatisticsStore, StoreError};
use diesel::dsl::sql;
use diesel::sql_types::{BigInt, Text};

use super::super::ADDED_UP_AT_ONCE;
use super::prelude::*;
use crate::columns::Encoded;
use crate::count_list;
use crate::grouping::Locks;
use crate::low_water::LowWater;

/// How many fresh rows one transaction adds up at most, however short they are.
const ROWS_AT_ONCE: i64 = 2_000;

/// What stays apart in the sums of a measure: time, campaign, subject, bucket.
type Group = (i64, String, String, i64);

/// A sum as the database returns it: time, campaign, subject, bucket, count.
type SumRow = (i64, String, String, i64, i64);

/// A fresh row as the database returns it: the hour and the list of its counts.
type FreshRow = (i64, Attempt<Encoded>);

#[async_trait]
impl StatisticsStore for Store {
    async fn sums(&self, query: &CountsQuery) -> Result<Vec<CountedSum>, StoreError> {
        let query = query.clone();
        // On one snapshot, so that no count is on the way from one table to the other.
        self.snapshot(async move |conn: &mut Conn| sums(conn, &query).await)
            .await
    }

    async fn add_up(&self) -> Result<bool, StoreError> {
        let low = Arc::clone(&self.fresh_counts_from);
        let work = async move |conn: &mut Conn| add_up(conn, &low, ROWS_AT_ONCE).await;
        let added_up = self.write_by_keys(Locks::Patiently, work).await?;
        Ok(added_up.is_some_and(|added_up| added_up.are_more))
    }
}

async fn sums(conn: &mut Conn, query: &CountsQuery) -> Result<Vec<CountedSum>, Failure> {
    let organization = query.organization_id.as_ref().map_or("", OrganizationId::as_str);
    let mut fresh = fresh_sums(conn, query, organization).await?;
    let mut found = Vec::new();
    // One measure at a time is one range of the key.
    for measure in &query.measures {
        // Rows are grouped by what differs alone: by more, SQLite takes twice as long to sort them.
        let mut keys = "subject, bucket".to_owned();
        let at = query.by_time.map_or_else(
            || "0".to_owned(),
            |steps| {
                let at = format!("starts_at - starts_at % {}", width(query, steps));
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
        let select = format!(
            "SELECT CAST({at} AS BIGINT), {campaign}, subject, bucket, CAST(SUM(count) AS BIGINT) FROM statistics \
             WHERE organization_id = "
        );
        let rows = sql::<(BigInt, Text, Text, BigInt, BigInt)>(&select)
            .bind::<Text, _>(organization)
            .sql(" AND step = ")
            .bind::<Text, _>(query.step.as_str())
            .sql(" AND measure = ")
            .bind::<Text, _>(measure.as_str())
            .sql(" AND starts_at >= ")
            .bind::<BigInt, _>(query.from.as_millis())
            .sql(" AND starts_at < ")
            .bind::<BigInt, _>(query.until.as_millis())
            .sql(&format!(" GROUP BY {keys}"));
        let rows: Vec<SumRow> = rows.load(conn).await?;
        let mut fresh = fresh.remove(measure).unwrap_or_default();
        for (at, campaign, subject, bucket, count) in rows {
            let group = (at, campaign, subject, bucket);
            let count = count.saturating_add(fresh.remove(&group).unwrap_or_default());
            found.extend(sum(query, *measure, group, count));
        }
        let fresh = fresh.into_iter();
        found.extend(fresh.filter_map(|(group, count)| sum(query, *measure, group, count)));
    }
    Ok(found)
}

/// How many milliseconds a group of steps takes.
fn width(query: &CountsQuery, steps: u8) -> i64 {
    query.step.millis().saturating_mul(i64::from(steps.max(1)))
}

/// The sums of the fresh counts that a query asks for, of each measure.
async fn fresh_sums(
    conn: &mut Conn,
    query: &CountsQuery,
    organization: &str,
) -> Result<HashMap<Measure, HashMap<Group, i64>>, Failure> {
    let rows = fresh_counts::table.filter(contains!("counts", count_list::mark_of(organization)));
    let rows: Vec<FreshRow> = rows
        .select((fresh_counts::hour, fresh_counts::counts))
        .load(conn)
        .await?;
    let mut sums: HashMap<Measure, HashMap<Group, i64>> = HashMap::new();
    for (hour, list) in rows {
        let starts_at = query.step.start(Timestamp::from_millis(hour));
        if starts_at < query.from || starts_at >= query.until {
            continue;
        }
        let starts_at = starts_at.as_millis();
        let at = query
            .by_time
            .map_or(0, |steps| starts_at - starts_at % width(query, steps));
        for (of, measure, campaign, subject, bucket, count) in count_list::counts(&list) {
            let asked = query.measures.iter().find(|asked| asked.as_str() == measure);
            if let Some(measure) = asked
                && of == organization
            {
                let campaign = if query.by_campaign {
                    campaign
                } else {
                    String::new()
                };
                let group = (at, campaign, subject, bucket);
                let sum = sums.entry(*measure).or_default().entry(group).or_default();
                *sum = sum.saturating_add(count);
            }
        }
    }
    Ok(sums)
}

/// `None` if the row is damaged: it is one of thousands that are added up.
fn sum(query: &CountsQuery, measure: Measure, group: Group, count: i64) -> Option<CountedSum> {
    let (at, campaign, subject, bucket) = group;
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

/// What a pass did.
#[derive(Debug)]
pub(super) struct AddedUp {
    /// How many fresh rows there were.
    pub(super) rows: usize,
    /// Whether there may be more.
    pub(super) are_more: bool,
}

/// Adds up the counts of the fresh rows with the lowest ids, of some at most.
pub(super) async fn add_up(conn: &mut Conn, low: &LowWater, at_most: i64) -> Result<AddedUp, Failure> {
    let (from, began) = (low.from(), Instant::now());
    let found = fresh_counts::table
        .filter(fresh_counts::id.ge(from))
        .order(fresh_counts::id)
        .limit(at_most);
    // The size is known without reading the text.
    let size = sql::<BigInt>("CAST(octet_length(counts) AS BIGINT)");
    let found: Vec<(i64, i64)> = found.select((fresh_counts::id, size)).load(conn).await?;
    low.note(from, began, found.iter().map(|(id, _)| *id).min());
    let mut bytes = 0;
    let now = found.iter().take_while(|(_, size)| {
        let is_now = bytes < ADDED_UP_AT_ONCE;
        bytes += size;
        is_now
    });
    let now: Vec<i64> = now.map(|(id, _)| *id).collect();
    let (Some(first), Some(last)) = (now.iter().min(), now.iter().max()) else {
        return Ok(AddedUp {
            rows: 0,
            are_more: false,
        });
    };
    let moved: Vec<FreshRow> =
        diesel::delete(fresh_counts::table.filter(fresh_counts::id.between(first, last)))
            .returning((fresh_counts::hour, fresh_counts::counts))
            .load(conn)
            .await?;
    let added_up = AddedUp {
        rows: moved.len(),
        are_more: now.len() < found.len() || stored(found.len()) == at_most,
    };
    let sums: Vec<(Counted, i64)> = sums_of_steps(moved).into_iter().collect();
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
    Ok(added_up)
}

/// What fresh rows add to the counts of their hours and days, in the same order in each transaction, so that none waits for
/// another that waits for it.
fn sums_of_steps(rows: Vec<FreshRow>) -> BTreeMap<Counted, i64> {
    let mut hours: HashMap<(String, String, i64, String, String, i64), i64> = HashMap::new();
    for (hour, list) in rows {
        for (organization, measure, campaign, subject, bucket, count) in count_list::counts(&list) {
            let counted = (organization, measure, hour, campaign, subject, bucket);
            *hours.entry(counted).or_default() += count;
        }
    }
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
    sums
}

/// Counts what happened at `at`.
pub(super) async fn count(conn: &mut Conn, tally: &Tally, at: Timestamp) -> Result<(), Failure> {
    let lists: Vec<Encoded> = count_list::listed(tally)?.into_iter().collect();
    let hour = StatisticsStep::Hour.start(at).as_millis();
    Batch::of("fresh_counts", &lists)
        .with(fresh_counts::hour, |_| hour)
        .with(fresh_counts::counts, Encoded::clone)
        .run_at_commit(conn, Write::Insert)
        .await
}
