//! The rows that the ports wrote, written once more by SQL alone, in batches of 100: stored, marked, ended with their Activity
//! entries, counted.
//!
//! The tables are copies of the program's, indexes included. The rows are those of the program's tables, stored page after page
//! and ended in the order of their ends. Nothing is read meanwhile.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Result, anyhow, ensure};
use tokio::task::JoinSet;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, NoTls, Row};

use super::worked_off::WorkedOff;
use crate::postgres::PostgresDatabase;
use crate::process::Cpu;

const BATCH: usize = 100;
/// Connections that write at the same time.
const CONNECTIONS: usize = 4;

const TABLES: &str = "\
DROP SCHEMA IF EXISTS bare CASCADE; CREATE SCHEMA bare; \
CREATE TABLE bare.deliveries (LIKE public.deliveries INCLUDING ALL); \
CREATE TABLE bare.activities (LIKE public.activities INCLUDING ALL); \
CREATE TABLE bare.fresh_counts (LIKE public.fresh_counts INCLUDING ALL) WITH (toast_tuple_target = 8160); \
CREATE TABLE bare.told_leads (LIKE public.told_leads INCLUDING ALL)";

const ROWS: &str = "\
SELECT d.organization_id, d.id, d.endpoint_id, d.campaign_id, d.lead_id, d.created_at, d.ended_at, a.id, a.details \
FROM public.deliveries d JOIN public.activities a \
ON a.organization_id = d.organization_id AND a.lead_id = d.lead_id AND a.details::json ->> 'deliveryId' = d.id \
WHERE a.kind = 'delivery'";

const ENQUEUE: &str = "\
INSERT INTO bare.deliveries (organization_id, id, endpoint_id, campaign_id, lead_id, created_at, event, state) \
SELECT *, 'job.new', 'pending' FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[])";

const MARK: &str = "\
UPDATE bare.deliveries SET state = 'sending', owner = '01a1f8bc-df9f-77d7-9675-a05f6911b658', owner_until = $3 \
FROM unnest($1::text[], $2::text[]) AS batch (organization_id, id) \
WHERE deliveries.organization_id = batch.organization_id AND deliveries.id = batch.id";

const FINISH: &str = "\
UPDATE bare.deliveries SET state = 'delivered', ended_at = batch.ended_at \
FROM unnest($1::text[], $2::text[], $3::bigint[]) AS batch (organization_id, id, ended_at) \
WHERE deliveries.organization_id = batch.organization_id AND deliveries.id = batch.id";

const RECORD: &str = "\
INSERT INTO bare.activities (organization_id, id, at, campaign_id, lead_id, details, kind, actor_kind, outcome, dry_run, \
message) \
SELECT *, 'delivery', 'service', 'delivered', FALSE, 'job.new delivered.' \
FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[]) ON CONFLICT DO NOTHING";

/// The time of each delivery, by its endpoint.
const COUNT: &str = "INSERT INTO bare.fresh_counts (hour, counts) VALUES ($1, $2)";

const TELL: &str = "\
INSERT INTO bare.told_leads (organization_id, lead_id) SELECT * FROM unnest($1::text[], $2::text[]) ON CONFLICT DO NOTHING";

const HOUR_MS: i64 = 3_600_000;

/// A delivery with its Activity entry, as the ports wrote them.
#[derive(Clone)]
struct Written {
    organization: String,
    id: String,
    endpoint: String,
    campaign: String,
    lead: String,
    created_at: i64,
    ended_at: i64,
    activity: String,
    details: String,
    /// Whether it is the first of its lead's to end.
    tells_first: bool,
}

impl From<Row> for Written {
    fn from(row: Row) -> Self {
        Self {
            organization: row.get(0),
            id: row.get(1),
            endpoint: row.get(2),
            campaign: row.get(3),
            lead: row.get(4),
            created_at: row.get(5),
            ended_at: row.get(6),
            activity: row.get(7),
            details: row.get(8),
            tells_first: false,
        }
    }
}

/// What a connection does with a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Enqueue,
    /// A transaction each for the mark and the end.
    Work,
}

/// Stores the deliveries that the ports have ended, this many, and ends them.
pub(super) fn work_off(database: &PostgresDatabase<'_>, count: usize) -> Result<WorkedOff> {
    database.execute(TABLES)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut written = runtime.block_on(read(&database.url))?;
    ensure!(
        written.len() == count,
        "the ports wrote {} deliveries",
        written.len()
    );
    written.sort_by_key(|delivery| delivery.ended_at);
    let mut told = HashSet::new();
    for delivery in &mut written {
        delivery.tells_first = told.insert(delivery.lead.clone());
    }
    let ended = Arc::new(written.clone());
    written.sort_by(|a, b| (a.created_at, &a.lead, &a.endpoint).cmp(&(b.created_at, &b.lead, &b.endpoint)));
    let stored = Arc::new(written);
    let cpu = || Cpu::of(Some(std::process::id()), database.server.pid());
    let before = cpu();
    let (enqueue, work) = runtime.block_on(async {
        let enqueue = in_parallel(&database.url, &stored, Step::Enqueue).await?;
        let work = in_parallel(&database.url, &ended, Step::Work).await?;
        anyhow::Ok((enqueue, work))
    })?;
    let cpu = cpu().each_since(before, count as f64 / 1e6);
    let ended = database.execute("SELECT count(*) FROM bare.deliveries WHERE state = 'delivered'")?;
    let recorded = database.execute("SELECT count(*) FROM bare.activities")?;
    ensure!(
        ended == count.to_string() && recorded == ended,
        "{ended} ended, {recorded} recorded"
    );
    Ok(WorkedOff {
        count,
        enqueue,
        work,
        cpu,
    })
}

async fn connected(url: &str) -> Result<Client> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

async fn read(url: &str) -> Result<Vec<Written>> {
    let rows = connected(url).await?.query(ROWS, &[]).await?;
    Ok(rows.into_iter().map(Written::from).collect())
}

/// Gives each connection a share of the batches. Returns how long that took.
async fn in_parallel(url: &str, deliveries: &Arc<Vec<Written>>, step: Step) -> Result<f64> {
    let mut clients = Vec::new();
    for _ in 0..CONNECTIONS {
        clients.push(connected(url).await?);
    }
    let started = Instant::now();
    let mut tasks = JoinSet::new();
    for (share, client) in clients.into_iter().enumerate() {
        let deliveries = Arc::clone(deliveries);
        tasks.spawn(async move {
            let batches = deliveries.chunks(BATCH).skip(share).step_by(CONNECTIONS);
            write(client, batches, step).await
        });
    }
    while let Some(written) = tasks.join_next().await {
        written.map_err(|error| anyhow!(error))??;
    }
    Ok(started.elapsed().as_secs_f64())
}

async fn write(client: Client, batches: impl Iterator<Item = &[Written]>, step: Step) -> Result<()> {
    let [enqueue, mark, finish, record, count, tell] = [
        client.prepare(ENQUEUE).await?,
        client.prepare(MARK).await?,
        client.prepare(FINISH).await?,
        client.prepare(RECORD).await?,
        client.prepare(COUNT).await?,
        client.prepare(TELL).await?,
    ];
    for batch in batches {
        let texts = |of: fn(&Written) -> &str| batch.iter().map(of).collect::<Vec<&str>>();
        let organizations = texts(|delivery| &delivery.organization);
        let ids = texts(|delivery| &delivery.id);
        let endpoints = texts(|delivery| &delivery.endpoint);
        let campaigns = texts(|delivery| &delivery.campaign);
        let leads = texts(|delivery| &delivery.lead);
        match step {
            Step::Enqueue => {
                let created_at: Vec<i64> = batch.iter().map(|delivery| delivery.created_at).collect();
                let rows: [&(dyn ToSql + Sync); 6] =
                    [&organizations, &ids, &endpoints, &campaigns, &leads, &created_at];
                client.execute(&enqueue, &rows).await?;
            }
            Step::Work => {
                let ended_at: Vec<i64> = batch.iter().map(|delivery| delivery.ended_at).collect();
                let hour = ended_at[0] - ended_at[0] % HOUR_MS;
                let counted = organizations.iter().zip(&endpoints);
                let times = counted.map(|(of, endpoint)| (of, "endpoint_time", "", endpoint, 0, 1));
                let times = serde_json::to_string(&times.collect::<Vec<_>>())?;
                let activities = texts(|delivery| &delivery.activity);
                let details = texts(|delivery| &delivery.details);
                let first = batch.iter().filter(|delivery| delivery.tells_first);
                let (told_in, told): (Vec<&str>, Vec<&str>) = first
                    .map(|delivery| (delivery.organization.as_str(), delivery.lead.as_str()))
                    .unzip();
                client
                    .execute(&mark, &[&organizations, &ids, &ended_at[0]])
                    .await?;
                let finished: [&(dyn ToSql + Sync); 3] = [&organizations, &ids, &ended_at];
                let recorded: [&(dyn ToSql + Sync); 6] = [
                    &organizations,
                    &activities,
                    &ended_at,
                    &campaigns,
                    &leads,
                    &details,
                ];
                let counted: [&(dyn ToSql + Sync); 2] = [&hour, &times];
                let told: [&(dyn ToSql + Sync); 2] = [&told_in, &told];
                // The statements of the transaction are sent at once.
                tokio::try_join!(
                    client.batch_execute("BEGIN"),
                    client.execute(&finish, &finished),
                    client.execute(&record, &recorded),
                    client.execute(&count, &counted),
                    client.execute(&tell, &told),
                    client.batch_execute("COMMIT"),
                )?;
            }
        }
    }
    Ok(())
}
