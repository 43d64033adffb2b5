//! The rows of deliveries written by SQL alone, in batches of 100: stored, marked, ended with their Activity entries, counted.
//!
//! The tables are copies of the program's, indexes included. Nothing is read.

use std::time::Instant;

use anyhow::{Result, anyhow, ensure};
use tokio::task::JoinSet;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, NoTls};

use super::worked_off::WorkedOff;
use crate::postgres::PostgresDatabase;
use crate::process::Cpu;
use crate::world::ORGANIZATION;

const BATCH: usize = 100;
/// Connections that write at the same time.
const CONNECTIONS: usize = 4;

const TABLES: &str = "\
DROP SCHEMA IF EXISTS bare CASCADE; CREATE SCHEMA bare; \
CREATE TABLE bare.deliveries (LIKE public.deliveries INCLUDING ALL); \
CREATE TABLE bare.activities (LIKE public.activities INCLUDING ALL); \
CREATE TABLE bare.fresh_counts (LIKE public.fresh_counts INCLUDING ALL); \
CREATE TABLE bare.told_leads (LIKE public.told_leads INCLUDING ALL)";

const ENQUEUE: &str = "\
INSERT INTO bare.deliveries (organization_id, id, endpoint_id, campaign_id, lead_id, event, created_at, state) \
SELECT $1, id, 'endpoint_' || substr(id, 35, 2), 'campaign', 'ld_' || id, 'job.new', $2, 'pending' FROM unnest($3::text[]) id";

const MARK: &str = "\
UPDATE bare.deliveries SET state = 'sending', owner = '01a1f8bc-df9f-77d7-9675-a05f6911b658', owner_until = $2 \
WHERE organization_id = $1 AND id = ANY($3::text[])";

const FINISH: &str = "\
UPDATE bare.deliveries SET state = 'delivered', ended_at = $2 WHERE organization_id = $1 AND id = ANY($3::text[])";

const RECORD: &str = "\
INSERT INTO bare.activities (organization_id, id, at, campaign_id, lead_id, kind, actor_kind, outcome, dry_run, \
message, details) \
SELECT $1, id, $2, 'campaign', 'ld_' || id, 'delivery', 'service', 'delivered', FALSE, 'job.new delivered.', $4 \
FROM unnest($3::text[]) id ON CONFLICT DO NOTHING";

/// The time of each delivery, by its endpoint.
const COUNT: &str = "\
INSERT INTO bare.fresh_counts (organization_id, measure, hour, campaign_id, subject, bucket, count) \
SELECT $1, 'endpoint_time', $2, '', 'endpoint_' || substr(id, 35, 2), 0, 1 FROM unnest($3::text[]) id";

/// The lead of every twentieth delivery: each is told to twenty endpoints.
const TELL: &str = "\
INSERT INTO bare.told_leads (organization_id, lead_id) \
SELECT $1, 'ld_' || id FROM unnest($2::text[]) WITH ORDINALITY AS told (id, place) WHERE place % 20 = 0 \
ON CONFLICT DO NOTHING";

/// As long as a delivery's.
const DETAILS: &str = r#"{"deliveryId":"01a1f8bc-df9f-77d7-9675-a05f6911b658","durationMs":0,"endpointId":"endpoint_00","event":"job.new","reason":null,"responseBody":"","responseStatus":200,"url":"https://receiver.example/0/0"}"#;

/// What a connection does with a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Enqueue,
    /// A transaction each for the mark and the end.
    Work,
}

/// Stores this many deliveries and ends them.
pub(super) fn work_off(database: &PostgresDatabase<'_>, count: usize) -> Result<WorkedOff> {
    database.execute(TABLES)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let cpu = || Cpu::of(Some(std::process::id()), database.server.pid());
    let before = cpu();
    let (enqueue, work) = runtime.block_on(async {
        let enqueue = in_parallel(&database.url, count, Step::Enqueue).await?;
        let work = in_parallel(&database.url, count, Step::Work).await?;
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

/// Gives each connection a share of the batches. Returns how long that took.
async fn in_parallel(url: &str, count: usize, step: Step) -> Result<f64> {
    let mut clients = Vec::new();
    for _ in 0..CONNECTIONS {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
        tokio::spawn(connection);
        clients.push(client);
    }
    let started = Instant::now();
    let mut tasks = JoinSet::new();
    for (share, client) in clients.into_iter().enumerate() {
        tasks.spawn(async move {
            let batches = (0..count).step_by(BATCH).skip(share).step_by(CONNECTIONS);
            write(client, batches.map(|first| first..count.min(first + BATCH)), step).await
        });
    }
    while let Some(written) = tasks.join_next().await {
        written.map_err(|error| anyhow!(error))??;
    }
    Ok(started.elapsed().as_secs_f64())
}

async fn write(
    client: Client,
    batches: impl Iterator<Item = std::ops::Range<usize>>,
    step: Step,
) -> Result<()> {
    let [enqueue, mark, finish, record, count, tell] = [
        client.prepare(ENQUEUE).await?,
        client.prepare(MARK).await?,
        client.prepare(FINISH).await?,
        client.prepare(RECORD).await?,
        client.prepare(COUNT).await?,
        client.prepare(TELL).await?,
    ];
    let organization = ORGANIZATION;
    let at = 1_795_174_490_015_i64;
    for batch in batches {
        let ids: Vec<String> = batch.map(id).collect();
        match step {
            Step::Enqueue => {
                client.execute(&enqueue, &[&organization, &at, &ids]).await?;
            }
            Step::Work => {
                client.execute(&mark, &[&organization, &at, &ids]).await?;
                let finished: [&(dyn ToSql + Sync); 3] = [&organization, &at, &ids];
                let recorded: [&(dyn ToSql + Sync); 4] = [&organization, &at, &ids, &DETAILS];
                let told: [&(dyn ToSql + Sync); 2] = [&organization, &ids];
                // The statements of the transaction are sent at once.
                tokio::try_join!(
                    client.batch_execute("BEGIN"),
                    client.execute(&finish, &finished),
                    client.execute(&record, &recorded),
                    client.execute(&count, &finished),
                    client.execute(&tell, &told),
                    client.batch_execute("COMMIT"),
                )?;
            }
        }
    }
    Ok(())
}

/// An id of the form and spread of a delivery's.
fn id(number: usize) -> String {
    let spread = (number as u128).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
    format!("{spread:036x}")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ids_differ_and_are_as_long_as_a_delivery_s() {
        let ids: BTreeSet<String> = (0..1000).map(id).collect();
        assert_eq!(ids.len(), 1000);
        assert!(ids.iter().all(|id| id.len() == 36));
    }
}
