//! Edits of a saved filter by another process while the feed is read: whether they hold for the next job, and what
//! they cost.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use super::ingest::Ingesting;
use super::posts::{Posts, now_ms, served, stream};
use super::saved_filters::{EDITED, edit, word};
use super::workload::Jobs;
use crate::report::{Report, Row, median, progress};
use crate::waiting::{alongside, wait_until};
use crate::world::World;

/// Edits whose effect on the next job is checked.
const CHECKED: usize = 20;
/// Jobs a second that arrive meanwhile.
const ARRIVING: u32 = 50;
/// Jobs of a round, and rounds with edits and without.
const BACKLOG: usize = 3_000;
const ROUNDS: usize = 5;
const PAUSE: Duration = Duration::from_secs(1);
const GLANCE: Duration = Duration::from_millis(20);

/// Measures the share of edits that hold for the next job, which is posted when the edit has been reported as done.
pub(super) fn next_job(ingesting: &Ingesting<'_>, report: &mut Report) -> Result<()> {
    progress("editing a filter while jobs arrive");
    let world = &ingesting.world;
    let mut others = Posts::new(91);
    let mut jobs = Jobs::new(92);
    let mut held = 0;
    let mut seconds = Vec::new();
    alongside(
        |stop| stream(&world.marketplace, ARRIVING, stop, |count| Ok(others.some(count))),
        || {
            for number in 1..=CHECKED {
                let started = Instant::now();
                world.installation.apply(&edit(number))?;
                seconds.push(started.elapsed().as_secs_f64());
                held += usize::from(holds(world, number, &mut jobs)?);
            }
            Ok(())
        },
    )?;
    let name = world.name("edits of another process that hold for the next job");
    report.add(
        Row::new(name, held as f64 * 100.0 / CHECKED as f64, "%")
            .at_least(100.0)
            .with("bidloop apply s", median(seconds)),
    );
    Ok(())
}

/// Posts a job with the word before the edit and one with the word after it. Returns whether the second alone became a
/// lead. A lead is created when its job is stored; a later backfill creates none.
fn holds(world: &World<'_>, number: usize, jobs: &mut Jobs) -> Result<bool> {
    let words = [number - 1, number];
    let ids = words.map(|word| format!("edit{number}asks{word}"));
    let mut posts = Vec::new();
    for (wanted, id) in words.iter().zip(&ids) {
        let mut job = jobs.next().context("no more jobs")?;
        job.description = format!("{} {}", job.description, word(*wanted));
        posts.push(served(&job, id, now_ms()));
    }
    world.marketplace.publish(posts)?;
    let [before, after] = ids;
    let stored = format!("SELECT count(*) FROM jobs WHERE id IN ('{before}', '{after}')");
    wait_until("the jobs after an edit are stored", GLANCE, || {
        Ok(world.database.number(&stored)? == 2)
    })?;
    let [organization, campaign, _] = EDITED;
    let leads = |job: &str| {
        world.database.number(&format!(
            "SELECT count(*) FROM leads WHERE organization_id = '{organization}' \
             AND campaign_id = '{campaign}' AND job_id = '{job}'"
        ))
    };
    Ok(leads(&before)? == 0 && leads(&after)? == 1)
}

/// Measures by how much an edit a second slows reading a backlog, in rounds with and without in turn.
pub(super) fn slowdown(ingesting: &mut Ingesting<'_>, report: &mut Report) -> Result<()> {
    let mut without = Vec::new();
    let mut with = Vec::new();
    let mut edits = CHECKED;
    for round in 0..ROUNDS {
        progress(&format!("round {round}, without and with edits"));
        let posts = ingesting.posts.some(BACKLOG);
        without.push(ingesting.drain(posts)?.rate);
        let posts = ingesting.posts.some(BACKLOG);
        let (drained, ()) = alongside(
            |stop| {
                let mut due = Instant::now();
                while !stop.load(Ordering::Relaxed) {
                    edits += 1;
                    ingesting.world.installation.apply(&edit(edits))?;
                    due += PAUSE;
                    std::thread::sleep(due.saturating_duration_since(Instant::now()));
                }
                Ok(())
            },
            || ingesting.drain(posts),
        )?;
        with.push(drained.rate);
    }
    let [without, with] = [without, with].map(median);
    let name = ingesting.world.name("ingesting slowed by an edit a second");
    report.add(
        Row::new(name, (1.0 - with / without) * 100.0, "%")
            .at_most(10.0)
            .with("without, jobs a second", without)
            .with("with, jobs a second", with)
            .with("edits", (edits - CHECKED) as f64),
    );
    Ok(())
}
