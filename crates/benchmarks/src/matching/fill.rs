//! A million stored jobs: drawn in threads, stored by bulk SQL as the program would have stored them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Instant;

use anyhow::{Context as _, Result, anyhow, ensure};
use bidloop_domain::matching::{FilterIndex, JobSignature, MatchScratch, PreparedJob, SavedFilter};
use bidloop_domain::model::JobPost;
use serde_json::{Value, json};

use super::database::StoredPost;
use super::posts::{now_ms, served};
use super::workload::{Filters, Jobs, Kind};
use super::world::{EVERYTHING, ORGANIZATION, World, organization};
use crate::report::progress;

/// Stored jobs: a million, and the last pages behind them.
pub(super) const STORED: usize = 1_001_000;
/// Jobs that a thread draws before it hands them over.
const AT_ONCE: usize = 7_000;
const THREADS: usize = 2;
/// Seeds of the jobs that filters are chosen by, and of the first that are stored.
const TRIAL_SEED: u64 = 70;
const SEED: u64 = 1_000;
/// How long before now each job was posted than the one after it.
const APART_MS: i64 = 500;

/// Filters of each kind that backfills are measured with.
pub(super) const CHANGES: usize = 3;
const CANDIDATES: usize = 3_000;
const TRIALS: usize = 50_000;

/// A filter that a campaign is given while the jobs are stored.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) campaign: String,
    pub(super) filter: Value,
    pub(super) compiled: SavedFilter,
    /// Stored jobs that match, each looked at by itself.
    pub(super) matches: u64,
}

/// Jobs in a row.
struct Batch {
    number: usize,
    posts: Vec<StoredPost>,
    /// How many match each change's filter.
    matches: Vec<u64>,
}

/// Provisions the organization and stores the jobs; the filters that backfills are to be measured with.
pub(super) fn fill(world: &World<'_>) -> Result<Vec<Change>> {
    let mut changes = changes()?;
    let waiting = changes.iter().map(|change| (change.campaign.clone(), None));
    let campaigns = std::iter::once((EVERYTHING.to_owned(), Some(json!({})))).chain(waiting);
    world.installation.apply(&organization(campaigns))?;

    let started = Instant::now();
    let mut loader = world.database.loader()?;
    let first = now_ms() - i64::try_from(STORED)? * APART_MS;
    let (sender, receiver) = sync_channel(THREADS);
    let next = AtomicUsize::new(0);
    let mut totals = vec![0; changes.len()];
    std::thread::scope(|scope| -> Result<()> {
        for _ in 0..THREADS {
            let (sender, next, changes) = (sender.clone(), &next, &changes);
            scope.spawn(move || draw(next, first, changes, &sender));
        }
        drop(sender);
        // Moved in, so that the threads end when this does.
        let receiver = receiver;
        let mut early = BTreeMap::new();
        let mut stored = 0;
        while let Ok(batch) = receiver.recv() {
            let batch = batch?;
            early.insert(batch.number, batch);
            while let Some(batch) = early.remove(&stored) {
                loader.add(&batch.posts)?;
                for (total, matches) in totals.iter_mut().zip(&batch.matches) {
                    *total += matches;
                }
                stored += 1;
                if stored % 20 == 0 {
                    progress(&format!("{} jobs stored", stored * AT_ONCE));
                }
            }
        }
        Ok(())
    })?;
    loader.finish()?;
    world.database.execute(&listing()?)?;
    let listed = world
        .database
        .number("SELECT count(*) FROM matches WHERE campaign_id = 'everything'")?;
    ensure!(listed == i64::try_from(STORED)?, "{listed} jobs are listed");
    progress(&format!(
        "a million jobs are stored after {} s",
        started.elapsed().as_secs()
    ));
    for (change, total) in changes.iter_mut().zip(totals) {
        change.matches = total;
    }
    Ok(changes)
}

/// Makes every job a match of the campaign that lists all, and tells the program of them.
fn listing() -> Result<String> {
    let stored = i64::try_from(STORED)?;
    Ok(format!(
        "INSERT INTO matches (organization_id, campaign_id, generation, seq, job_id, created_at) \
         SELECT c.organization_id, c.id, c.generation, j.seq, j.id, j.posted_at FROM jobs j, campaigns c \
         WHERE c.organization_id = '{ORGANIZATION}' AND c.id = '{EVERYTHING}' ORDER BY j.seq; \
         UPDATE campaigns SET match_total = {stored}, last_match_at = (SELECT max(posted_at) FROM jobs) \
         WHERE organization_id = '{ORGANIZATION}' AND id = '{EVERYTHING}'; \
         UPDATE feed_position SET last_job_seq = {stored}"
    ))
}

/// Draws batch after batch until there are enough or nobody takes them.
fn draw(next: &AtomicUsize, first: i64, changes: &[Change], sender: &SyncSender<Result<Batch>>) {
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number * AT_ONCE >= STORED || sender.send(batch(number, first, changes)).is_err() {
            return;
        }
    }
}

fn batch(number: usize, first: i64, changes: &[Change]) -> Result<Batch> {
    let start = number * AT_ONCE;
    let end = (start + AT_ONCE).min(STORED);
    let mut batch = Batch {
        number,
        posts: Vec::with_capacity(end - start),
        matches: vec![0; changes.len()],
    };
    for (place, job) in (start..end).zip(Jobs::new(SEED + number as u64)) {
        let place = i64::try_from(place)?;
        let id = format!("18{place:016}");
        let posted_at = first + place * APART_MS;
        let json = served(&job, &id, posted_at).to_string();
        let prepared = PreparedJob::new(&parse(&json)?.facts());
        for (count, change) in batch.matches.iter_mut().zip(changes) {
            *count += u64::from(change.compiled.matches(&prepared));
        }
        batch.posts.push(StoredPost {
            id,
            seq: place + 1,
            posted_at,
            json,
            signature: JobSignature::of(&prepared),
        });
    }
    Ok(batch)
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
