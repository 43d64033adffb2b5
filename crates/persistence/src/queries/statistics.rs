//! Counts of hours and days: commands add to them in their own transactions, and people read their sums.

use async_trait::async_trait;
use bidloop_domain::model::{
    CampaignId, LeadId, Measure, OrganizationId, StatisticsStep, Tally, TimeBucket, Timestamp, VariantArray,
};
use bidloop_domain::port::{CountedSum, CountsQuery, StatisticsStore, StoreError};
use diesel::dsl::sql;
use diesel::sql_types::{BigInt, Text};

use super::{COUNTED_IN_PARTS, prelude::*};

/// A sum as the database returns it: time, campaign, subject, bucket, count.
type SumRow = (i64, String, String, i64, i64);

#[async_trait]
impl StatisticsStore for Store {
    async fn sums(&self, query: &CountsQuery) -> Result<Vec<CountedSum>, StoreError> {
        let query = query.clone();
        self.read(async move |conn: &mut Conn| sums(conn, &query).await)
            .await
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

/// A count that is to be added.
struct Added<'t> {
    organization: &'t str,
    step: StatisticsStep,
    measure: Measure,
    starts_at: i64,
    campaign: &'t str,
    subject: &'t str,
    bucket: i64,
    count: i64,
}

/// Adds what happened at `at` to the counts, as the last thing that a transaction does: others that add to the same
/// counts wait for its end. `spread` parts them where that would be many.
pub(super) async fn add_up(
    conn: &mut Conn,
    tally: &Tally,
    at: Timestamp,
    spread: Option<u64>,
) -> Result<(), Failure> {
    let part = spread.map_or(0, |number| stored(number).rem_euclid(COUNTED_IN_PARTS));
    let mut rows: Vec<Added<'_>> = Vec::new();
    for (counted, count) in tally.counts() {
        for step in StatisticsStep::VARIANTS {
            rows.push(Added {
                organization: counted
                    .organization_id
                    .as_ref()
                    .map_or("", OrganizationId::as_str),
                step: *step,
                measure: counted.measure,
                starts_at: step.start(at).as_millis(),
                campaign: counted.campaign_id.as_ref().map_or("", CampaignId::as_str),
                subject: &counted.subject,
                bucket: i64::from(counted.bucket.0),
                count: stored(count),
            });
        }
    }
    // The same order in each transaction, so that none waits for another that waits for it.
    rows.sort_by_key(|row| {
        (
            row.organization,
            row.step,
            row.measure,
            row.campaign,
            row.subject,
            row.bucket,
        )
    });
    Batch::of("statistics", &rows)
        .with(statistics::organization_id, |row| row.organization)
        .with(statistics::step, |row| row.step.as_str())
        .with(statistics::measure, |row| row.measure.as_str())
        .with(statistics::starts_at, |row| row.starts_at)
        .with(statistics::campaign_id, |row| row.campaign)
        .with(statistics::subject, |row| row.subject)
        .with(statistics::bucket, |row| row.bucket)
        .with(statistics::part, |_| part)
        .with(statistics::count, |row| row.count)
        .run(conn, Write::Add(8))
        .await?;
    Ok(())
}

/// When the lead's job was posted.
pub(super) async fn posted_at(
    conn: &mut Conn,
    organization: &OrganizationId,
    lead: &LeadId,
) -> Result<Option<Timestamp>, Failure> {
    let posted_at: Option<i64> = leads::table
        .inner_join(jobs::table.on(jobs::id.eq(leads::job_id)))
        .filter(leads::organization_id.eq(organization.as_str()))
        .filter(leads::id.eq(lead.as_str()))
        .select(jobs::posted_at)
        .first(conn)
        .await
        .optional()?;
    Ok(posted_at.map(Timestamp::from_millis))
}

/// Notes that the lead's `job.new` was delivered. Returns whether that is the first time.
pub(super) async fn note_delivered(
    conn: &mut Conn,
    organization: &OrganizationId,
    lead: &LeadId,
    at: Timestamp,
) -> Result<bool, Failure> {
    let noted = diesel::update(leads::table.find((organization.as_str(), lead.as_str())))
        .filter(leads::delivered_at.is_null())
        .set(leads::delivered_at.eq(at.as_millis()))
        .execute(conn)
        .await?;
    Ok(noted == 1)
}
