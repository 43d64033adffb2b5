//! Counts of hours and days: each command inserts its fresh ones as one row in its own transaction, a worker
//! [adds those](adding_up) to the counts of their hours and days, and people read the sums of both.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use bidloop_domain::model::{
    CampaignId, Measure, OrganizationId, StatisticsStep, Tally, TimeBucket, Timestamp,
};
use bidloop_domain::port::{CountedSum, CountsQuery, StatisticsStore, StoreError};
use diesel::dsl::sql;
use diesel::sql_types::{BigInt, Text};

use self::adding_up::{add_gathered_up, gather};
use super::prelude::*;
use crate::columns::Encoded;
use crate::count_list::{self, ListedCount};
use crate::grouping::Locks;

pub(super) mod adding_up;

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

    async fn gather(&self) -> Result<bool, StoreError> {
        let low = Arc::clone(&self.fresh_counts_from);
        let work = async move |conn: &mut Conn| gather(conn, &low).await;
        let are_more = self.write_by_keys(Locks::Patiently, work).await?;
        Ok(are_more.unwrap_or_default())
    }

    async fn add_up(&self) -> Result<bool, StoreError> {
        let low = Arc::clone(&self.fresh_counts_from);
        let work = async move |conn: &mut Conn| add_gathered_up(conn, &low).await;
        let are_more = self.write_by_keys(Locks::Patiently, work).await?;
        Ok(are_more.unwrap_or_default())
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
        for ListedCount(of, measure, campaign, subject, bucket, count) in count_list::counts(&list) {
            let asked = query.measures.iter().find(|asked| asked.as_str() == measure);
            if let Some(measure) = asked
                && of == organization
            {
                let campaign = Some(campaign).filter(|_| query.by_campaign).unwrap_or_default();
                let group = (at, campaign.into_owned(), subject.into_owned(), bucket);
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
