//! Adding fresh counts to those of their hours and days. First the counts of many transactions are gathered in a few rows, in
//! which each thing is counted once. Then these rows are added up one after the other, each in a short transaction.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::time::Instant;

use bidloop_domain::model::{StatisticsStep, Timestamp, VariantArray};
use diesel::dsl::{min, sql};
use diesel::expression::SqlLiteral;
use diesel::sql_types::BigInt;

use super::super::super::{ADDED_UP_AT_ONCE, GATHERED_AT_ONCE};
use super::super::prelude::*;
use super::FreshRow;
use crate::columns::Encoded;
use crate::count_list::{self, ListedCount};
use crate::low_water::LowWater;

/// How many rows are gathered at once at most, however short they are.
const ROWS_AT_ONCE: i64 = 20_000;
/// How many counts a gathered row has, if that makes no more rows than [`GATHERED_ROWS`].
const GATHERED_COUNTS: usize = 1_000;
/// How many rows there are after gathering, for each hour: adding one up every half second ends before the next gathering.
const GATHERED_ROWS: usize = 36;

/// The ids of the first rows found, which are given with their sizes: not many more than so many bytes.
fn first_of(found: &[(i64, i64)], at_most_bytes: i64) -> Vec<i64> {
    let mut bytes = 0;
    let first = found.iter().take_while(|(_, size)| {
        let is_one = bytes < at_most_bytes;
        bytes += size;
        is_one
    });
    first.map(|(id, _)| *id).collect()
}

/// A row's size, which is known without reading its text.
fn size() -> SqlLiteral<BigInt> {
    sql("CAST(octet_length(counts) AS BIGINT)")
}

/// Deletes rows and returns them.
async fn take(conn: &mut Conn, ids: &[i64]) -> Result<Vec<FreshRow>, Failure> {
    let rows = diesel::delete(fresh_counts::table.filter(one_of!(fresh_counts::id, ids)))
        .returning((fresh_counts::hour, fresh_counts::counts))
        .load(conn)
        .await?;
    Ok(rows)
}

/// Everything that rows count, once and in order, with its hour.
fn put_together(rows: &[FreshRow]) -> Vec<(i64, ListedCount<'_>)> {
    let mut sums: HashMap<_, i64> = HashMap::new();
    for (hour, list) in rows {
        for ListedCount(organization, measure, campaign, subject, bucket, count) in count_list::counts(list) {
            let counted = (*hour, organization, measure, campaign, subject, bucket);
            let sum = sums.entry(counted).or_default();
            *sum = sum.saturating_add(count);
        }
    }
    let sums = sums.into_iter();
    let counts = sums.map(
        |((hour, organization, measure, campaign, subject, bucket), sum)| {
            (
                hour,
                ListedCount(organization, measure, campaign, subject, bucket, sum),
            )
        },
    );
    let mut counts: Vec<_> = counts.collect();
    counts.sort_unstable();
    counts
}

/// Puts the counts of the rows with the lowest ids together. Returns whether there may be more to gather.
pub(super) async fn gather(conn: &mut Conn, low: &LowWater) -> Result<bool, Failure> {
    let (from, began) = (low.from(), Instant::now());
    let found: Vec<(i64, i64)> = fresh_counts::table
        .filter(fresh_counts::id.ge(from))
        .filter(fresh_counts::is_gathered.eq(false))
        .order(fresh_counts::id)
        .limit(ROWS_AT_ONCE)
        .select((fresh_counts::id, size()))
        .load(conn)
        .await?;
    let first: Option<i64> = fresh_counts::table
        .filter(fresh_counts::id.ge(from))
        .select(min(fresh_counts::id))
        .first(conn)
        .await?;
    low.note(from, began, first);
    let ids = first_of(&found, GATHERED_AT_ONCE);
    if ids.is_empty() {
        return Ok(false);
    }
    let taken = take(conn, &ids).await?;
    let counts = put_together(&taken);
    let mut rows: Vec<(i64, Encoded)> = Vec::new();
    for of_hour in counts.chunk_by(|(hour, _), (next, _)| hour == next) {
        let a_row = GATHERED_COUNTS.max(of_hour.len().div_ceil(GATHERED_ROWS));
        for some in of_hour.chunks(a_row) {
            rows.push((
                some[0].0,
                count_list::list_of(some.iter().map(|(_, count)| count))?,
            ));
        }
    }
    Batch::of("fresh_counts", &rows)
        .with(fresh_counts::hour, |(hour, _)| *hour)
        .with(fresh_counts::counts, |(_, list)| list.clone())
        .with(fresh_counts::is_gathered, |_| true)
        .run_at_commit(conn, Write::Insert)
        .await?;
    Ok(ids.len() < found.len() || stored(found.len()) == ROWS_AT_ONCE)
}

/// Adds a gathered row up. Returns whether there may be more. It looks from the mark on, which gathering moves.
pub(super) async fn add_gathered_up(conn: &mut Conn, low: &LowWater) -> Result<bool, Failure> {
    let gathered: Vec<i64> = fresh_counts::table
        .filter(fresh_counts::id.ge(low.mark().unwrap_or(LowWater::START)))
        .filter(fresh_counts::is_gathered.eq(true))
        .order(fresh_counts::id)
        .limit(2)
        .select(fresh_counts::id)
        .load(conn)
        .await?;
    let one = gathered.len().min(1);
    add_up(conn, &gathered[..one]).await?;
    Ok(gathered.len() > one)
}

/// Adds up the rows with the lowest ids, gathered or not, so many at most. Returns how many they were.
pub(in super::super) async fn add_lowest_up(conn: &mut Conn, at_most: i64) -> Result<usize, Failure> {
    let found: Vec<(i64, i64)> = fresh_counts::table
        .order(fresh_counts::id)
        .limit(at_most)
        .select((fresh_counts::id, size()))
        .load(conn)
        .await?;
    let ids = first_of(&found, ADDED_UP_AT_ONCE);
    add_up(conn, &ids).await?;
    Ok(ids.len())
}

/// A count of a step. In the order in which counts are added up in each transaction, so that none waits for another that waits
/// for it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct OfStep<'l> {
    organization: Cow<'l, str>,
    step: &'static str,
    measure: Cow<'l, str>,
    starts_at: i64,
    campaign: Cow<'l, str>,
    subject: Cow<'l, str>,
    bucket: i64,
}

/// Nothing is asked of the database if there are no ids.
async fn add_up(conn: &mut Conn, ids: &[i64]) -> Result<(), Failure> {
    if ids.is_empty() {
        return Ok(());
    }
    let taken = take(conn, ids).await?;
    let mut sums: BTreeMap<OfStep<'_>, i64> = BTreeMap::new();
    for (hour, ListedCount(organization, measure, campaign, subject, bucket, count)) in put_together(&taken) {
        for step in StatisticsStep::VARIANTS {
            let of = OfStep {
                organization: organization.clone(),
                step: step.as_str(),
                measure: measure.clone(),
                starts_at: step.start(Timestamp::from_millis(hour)).as_millis(),
                campaign: campaign.clone(),
                subject: subject.clone(),
                bucket,
            };
            let sum = sums.entry(of).or_default();
            *sum = sum.saturating_add(count);
        }
    }
    let sums: Vec<(OfStep<'_>, i64)> = sums.into_iter().collect();
    Batch::of("statistics", &sums)
        .with(statistics::organization_id, |(of, _)| &*of.organization)
        .with(statistics::step, |(of, _)| of.step)
        .with(statistics::measure, |(of, _)| &*of.measure)
        .with(statistics::starts_at, |(of, _)| of.starts_at)
        .with(statistics::campaign_id, |(of, _)| &*of.campaign)
        .with(statistics::subject, |(of, _)| &*of.subject)
        .with(statistics::bucket, |(of, _)| of.bucket)
        .with(statistics::count, |(_, count)| *count)
        .run_at_commit(conn, Write::Add(7))
        .await
}
