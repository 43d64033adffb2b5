//! Edits of a saved filter by another process while the feed is read: whether they hold for the next job, and what
//! they cost.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::ingest::{Drained, Ingesting};
use super::median;
use super::posts::{Posts, now_ms, served, stream};
use super::saved_filters::{EDITED, edit, word};
use super::workload::Jobs;
use super::world::World;
use crate::report::{Report, Row, progress};

/// Edits that are looked at closely.
const LOOKED_AT: usize = 20;
/// Jobs that arrive a second meanwhile.
const ARRIVING: u32 = 50;
/// Jobs of a round, and rounds of either kind.
const BACKLOG: usize = 3_000;
const ROUNDS: usize = 5;
const PAUSE: Duration = Duration::from_secs(1);
const GLANCE: Duration = Duration::from_millis(20);
const PATIENCE: Duration = Duration::from_secs(60);

/// The share of jobs, posted once an edit is reported as done, that the next stored page treats by it.
#[expect(clippy::cast_precision_loss, reason = "a count of edits")]
pub(super) fn next_job(ingesting: &Ingesting<'_>, report: &mut Report) -> Result<()> {
    progress("editing a filter while jobs arrive");
    let world = &ingesting.world;
    let stop = AtomicBool::new(false);
    let (right, applied) = std::thread::scope(|scope| {
        let mut others = Posts::new(91);
        let stop = &stop;
        let stream =
            scope.spawn(move || stream(&world.marketplace, ARRIVING, stop, |count| others.some(count)));
        let mut right = 0;
        let mut applied = Vec::new();
        let mut jobs = Jobs::new(92);
        let outcome = (1..=LOOKED_AT).try_for_each(|number| {
            let started = Instant::now();
            world.installation.apply(&edit(number))?;
            applied.push(started.elapsed().as_secs_f64());
            right += usize::from(holds(world, number, &mut jobs)?);
            anyhow::Ok(())
        });
        stop.store(true, Ordering::Relaxed);
        stream
            .join()
            .map_err(|_| anyhow::anyhow!("the stream panicked"))??;
        outcome.map(|()| (right, applied))
    })?;
    report.add(
        Row::new(
            world.name("edits of another process that hold for the next job"),
            right as f64 * 100.0 / LOOKED_AT as f64,
            "%",
        )
        .at_least(100.0)
        .with("bidloop apply s", Some(median(applied))),
    );
    Ok(())
}

/// Posts a job that the filter asked for until now and one that it asks for since, and whether the second alone became
/// a lead: leads are made as jobs are stored, whatever a backfill does later.
fn holds(world: &World<'_>, number: usize, jobs: &mut Jobs) -> Result<bool> {
    let wanted = [number - 1, number];
    let ids = wanted.map(|wanted| format!("edit{number}asks{wanted}"));
    let posts = wanted.iter().zip(&ids).map(|(wanted, id)| {
        let mut job = jobs.next().context("no more jobs")?;
        job.description = format!("{} {}", job.description, word(*wanted));
        Ok(served(&job, id, now_ms()))
    });
    world.marketplace.publish(posts.collect::<Result<Vec<_>>>()?)?;
    let started = Instant::now();
    let stored = format!(
        "SELECT count(*) FROM jobs WHERE id IN ('{}', '{}')",
        ids[0], ids[1]
    );
    while world.database.number(&stored)? < 2 {
        ensure!(
            started.elapsed() < PATIENCE,
            "the jobs after an edit are not stored"
        );
        std::thread::sleep(GLANCE);
    }
    let [organization, campaign, _] = EDITED;
    let lead = |id: &str| {
        world.database.number(&format!(
            "SELECT count(*) FROM leads WHERE organization_id = '{organization}' \
             AND campaign_id = '{campaign}' AND job_id = '{id}'"
        ))
    };
    Ok(lead(&ids[0])? == 0 && lead(&ids[1])? == 1)
}

/// What an edit a second takes from the rate at which a backlog is read, in rounds with and without in turn.
pub(super) fn slowdown(ingesting: &mut Ingesting<'_>, report: &mut Report) -> Result<()> {
    let mut rates = [Vec::new(), Vec::new()];
    let mut edits = 0;
    for round in 0..ROUNDS {
        for (kind, rates) in rates.iter_mut().enumerate() {
            progress(&format!("round {round}, {} edits", ["without", "with"][kind]));
            let posts = ingesting.posts.some(BACKLOG)?;
            let drained = if kind == 0 {
                ingesting.drain(posts)?
            } else {
                with_edits(ingesting, posts, &mut edits)?
            };
            rates.push(drained.rate);
        }
    }
    let [without, with] = rates.map(median);
    let name = ingesting.world.name("ingesting slowed by an edit a second");
    #[expect(clippy::cast_precision_loss, reason = "a count of edits")]
    report.add(
        Row::new(name, (1.0 - with / without) * 100.0, "%")
            .at_most(10.0)
            .with("without, jobs a second", Some(without))
            .with("with, jobs a second", Some(with))
            .with("edits", Some(edits as f64)),
    );
    Ok(())
}

fn with_edits(ingesting: &Ingesting<'_>, posts: Vec<Value>, edits: &mut usize) -> Result<Drained> {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let editor = scope.spawn(|| {
            let mut due = Instant::now();
            while !stop.load(Ordering::Relaxed) {
                *edits += 1;
                let document = edit(LOOKED_AT + *edits);
                ingesting.world.installation.apply(&document)?;
                due += PAUSE;
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
            }
            anyhow::Ok(())
        });
        let drained = ingesting.drain(posts);
        stop.store(true, Ordering::Relaxed);
        editor
            .join()
            .map_err(|_| anyhow::anyhow!("the editor panicked"))??;
        drained
    })
}
