//! A million stored jobs: drawn in threads, stored by bulk SQL as the program would have stored them.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Instant;

use anyhow::{Context as _, Result, anyhow, ensure};
use bidloop_domain::matching::{FilterIndex, JobSignature, MatchScratch, PreparedJob, SavedFilter};
use bidloop_domain::model::JobPost;
use serde_json::{Value, json};

use super::posts::{now_ms, served};
use super::workload::{Filters, Jobs, Kind};
use crate::database::Database;
use crate::report::progress;
use crate::world::{ORGANIZATION, World, organization};

/// The campaign that lists every job.
pub(super) const EVERYTHING: &str = "everything";

/// Stored jobs: a million, and the last pages behind them.
const STORED: usize = 1_001_000;
/// Jobs that are drawn and stored together.
const BATCH: usize = 7_000;
const THREADS: usize = 2;
/// Seeds of the jobs that filters are chosen by, and of the first batch.
const TRIAL_SEED: u64 = 70;
const SEED: u64 = 1_000;
/// The time from a job's posting to the next.
const APART_MS: i64 = 500;

/// Filters of each kind that backfills are measured with.
const CHANGES: usize = 3;
const CANDIDATES: usize = 3_000;
const TRIALS: usize = 50_000;

/// A filter that a campaign is given after the jobs have been stored.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) campaign: String,
    pub(super) filter: Value,
    pub(super) compiled: SavedFilter,
    /// Stored jobs that match, each evaluated by itself.
    pub(super) matches: u64,
}

/// Jobs in a row.
struct Batch {
    /// The SQL that stores them.
    statements: String,
    /// How many match each change's filter.
    matches: Vec<u64>,
}

/// Provisions the organization and stores the jobs. Returns the filters to measure backfills with.
pub(super) fn fill(world: &World<'_>) -> Result<Vec<Change>> {
    let mut changes = changes()?;
    let waiting = changes.iter().map(|change| (change.campaign.clone(), None));
    let campaigns = std::iter::once((EVERYTHING.to_owned(), Some(json!({})))).chain(waiting);
    world.installation.apply(&organization(campaigns))?;

    let started = Instant::now();
    let first_posted_at = now_ms() - i64::try_from(STORED)? * APART_MS;
    let mut totals = vec![0; changes.len()];
    std::thread::scope(|scope| -> Result<()> {
        let (database, changes) = (&world.database, &changes);
        let threads = (0..THREADS).map(|thread| {
            let (sender, receiver) = sync_channel(1);
            scope.spawn(move || draw(thread, first_posted_at, database, changes, &sender));
            receiver
        });
        let threads: Vec<Receiver<Result<Batch>>> = threads.collect();
        for (number, thread) in (0..STORED.div_ceil(BATCH)).zip(threads.iter().cycle()) {
            let batch = thread.recv()??;
            database.execute(&batch.statements)?;
            for (total, matches) in totals.iter_mut().zip(batch.matches) {
                *total += matches;
            }
            if number % 20 == 19 {
                progress(&format!("{} jobs stored", (number + 1) * BATCH));
            }
        }
        Ok(())
    })?;
    world.database.execute(&listing())?;
    let listed = world.database.number(&format!(
        "SELECT count(*) FROM matches WHERE campaign_id = '{EVERYTHING}'"
    ))?;
    ensure!(listed == i64::try_from(STORED)?, "{listed} jobs are listed");
    progress(&format!(
        "stored a million jobs in {} s",
        started.elapsed().as_secs()
    ));
    for (change, total) in changes.iter_mut().zip(totals) {
        change.matches = total;
    }
    Ok(changes)
}

/// Makes every job a match of the campaign that lists all, and sets the program's counts accordingly.
fn listing() -> String {
    format!(
        "INSERT INTO matches (organization_id, campaign_id, generation, seq, job_id, created_at) \
         SELECT c.organization_id, c.id, c.generation, j.seq, j.id, j.posted_at FROM jobs j, campaigns c \
         WHERE c.organization_id = '{ORGANIZATION}' AND c.id = '{EVERYTHING}' ORDER BY j.seq; \
         UPDATE campaigns SET match_total = {STORED}, last_match_at = (SELECT max(posted_at) FROM jobs) \
         WHERE organization_id = '{ORGANIZATION}' AND id = '{EVERYTHING}'; \
         UPDATE feed_position SET last_job_seq = {STORED}"
    )
}

/// Draws the batches of one thread, until there are enough or the receiver is gone.
fn draw(
    thread: usize,
    first_posted_at: i64,
    database: &Database<'_>,
    changes: &[Change],
    sender: &SyncSender<Result<Batch>>,
) {
    let mut numbers = (thread..STORED.div_ceil(BATCH)).step_by(THREADS);
    while let Some(number) = numbers.next()
        && sender
            .send(batch(number, first_posted_at, database, changes))
            .is_ok()
    {}
}

fn batch(number: usize, first_posted_at: i64, database: &Database<'_>, changes: &[Change]) -> Result<Batch> {
    let mut jobs = Vec::with_capacity(BATCH);
    let mut signatures = Vec::with_capacity(BATCH);
    let mut matches = vec![0; changes.len()];
    let places = (number * BATCH..STORED).take(BATCH);
    for (place, job) in places.zip(Jobs::new(SEED + number as u64)) {
        let id = format!("18{place:016}");
        let posted_at = first_posted_at + i64::try_from(place)? * APART_MS;
        let json = served(&job, &id, posted_at).to_string();
        let prepared = PreparedJob::new(&parse(&json)?.facts());
        for (count, change) in matches.iter_mut().zip(changes) {
            *count += u64::from(change.compiled.matches(&prepared));
        }
        let seq = place + 1;
        let signature = blob(database, &JobSignature::of(&prepared).to_bytes());
        jobs.push(format!(
            "('{id}', {seq}, {posted_at}, '{}')",
            json.replace('\'', "''")
        ));
        signatures.push(format!("({seq}, {signature})"));
    }
    let (jobs, signatures) = (jobs.join(", "), signatures.join(", "));
    let statements = format!(
        "INSERT INTO jobs (id, seq, posted_at, json) VALUES {jobs}; \
         INSERT INTO job_signatures (seq, signature) VALUES {signatures}"
    );
    Ok(Batch { statements, matches })
}

/// Bytes as a literal of SQL.
fn blob(database: &Database<'_>, bytes: &[u8]) -> String {
    let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let start = match database {
        Database::Sqlite(_) => "X'",
        Database::Postgres(_) => r"'\x",
    };
    format!("{start}{}'", digits.concat())
}

pub(super) fn parse(json: &str) -> Result<JobPost> {
    JobPost::parse(json).map_err(|fault| anyhow!("a generated post: {fault}"))
}

/// Filters of the workload, chosen by how many of some other jobs they match.
fn changes() -> Result<Vec<Change>> {
    let mut changes = Vec::new();
    for (name, kind, of_a_million) in [("narrow", Kind::Selective, 300), ("wide", Kind::Wide, 20_000)] {
        let candidates: Vec<Value> = Filters::new(kind, 51, &[]).take(CANDIDATES).collect();
        let mut index = FilterIndex::new();
        for (place, filter) in candidates.iter().enumerate() {
            index.insert(place, &compiled(filter)?)?;
        }
        let mut found = vec![0_usize; CANDIDATES];
        let mut scratch = MatchScratch::default();
        for job in Jobs::new(TRIAL_SEED).take(TRIALS) {
            let job = PreparedJob::new(&parse(&served(&job, "trial", 0).to_string())?.facts());
            index.for_each_match(&job, &mut scratch, |place| found[*place] += 1);
        }
        let sought = of_a_million * TRIALS / 1_000_000;
        let mut places: Vec<usize> = (0..CANDIDATES).collect();
        places.sort_by_key(|place| found[*place].abs_diff(sought));
        for (number, place) in places.into_iter().take(CHANGES).enumerate() {
            let filter = candidates.get(place).context("no candidate")?.clone();
            changes.push(Change {
                campaign: format!("{name}_{number}"),
                compiled: compiled(&filter)?,
                filter,
                matches: 0,
            });
        }
    }
    Ok(changes)
}

fn compiled(filter: &Value) -> Result<SavedFilter> {
    SavedFilter::parse(&filter.to_string()).map_err(|faults| anyhow!("a generated filter: {faults:?}"))
}
