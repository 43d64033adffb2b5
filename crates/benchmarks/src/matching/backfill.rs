//! Backfills over a million stored jobs while others arrive: from changing a filter to the complete list.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use bidloop_domain::matching::PreparedJob;

use super::fill::{Change, parse};
use super::metrics::Metrics;
use super::posts::{Posts, stream};
use crate::program::Service;
use crate::report::{Report, Row, median, progress};
use crate::waiting::{alongside, wait_until};
use crate::world::{World, filter_change};

/// Jobs a second that arrive meanwhile.
const ARRIVING: u32 = 75;
const GLANCE: Duration = Duration::from_millis(20);

/// One backfill. Times are in seconds.
#[derive(Debug)]
struct Backfill {
    /// From starting `bidloop apply` to the list that holds every match.
    after: f64,
    /// The same from the command's return; 0 if the list was complete by then.
    after_return: f64,
    /// Jobs a second.
    stored_meanwhile: f64,
    /// The longest time in which no job was stored.
    longest_standstill: f64,
}

/// Measures all changes one after the other, and checks that every list ends up right.
pub(super) fn measure(world: &World<'_>, changes: &[Change], report: &mut Report) -> Result<()> {
    let service = world.installation.serve("api,watch")?;
    let (backfills, (published, arrived)) = alongside(
        |stop| arrive(world, changes, stop),
        || {
            let backfills = changes.iter().map(|change| backfill(world, &service, change));
            backfills.collect::<Result<Vec<Backfill>>>()
        },
    )?;
    let mut metrics = Metrics::of(&service)?;
    wait_until("the feed is read", GLANCE, || {
        Ok(metrics.stored_jobs()? >= published as f64)
    })?;
    let mut client = service.client()?;
    for (change, arrived) in changes.iter().zip(arrived) {
        let total = client.total(&change.campaign)?;
        let expected = change.matches + arrived;
        ensure!(
            total == expected,
            "{} lists {total} jobs, {expected} match",
            change.campaign
        );
    }
    for kind in ["narrow", "wide"] {
        report.add(row(world, kind, changes, &backfills));
    }
    service.stop()
}

fn row(world: &World<'_>, kind: &str, changes: &[Change], backfills: &[Backfill]) -> Row {
    let of_kind = || {
        let all = changes.iter().zip(backfills);
        all.filter(|(change, _)| change.campaign.starts_with(kind))
    };
    let middle =
        |figure: fn(&Backfill) -> f64| median(of_kind().map(|(_, backfill)| figure(backfill)).collect());
    let matches = median(of_kind().map(|(change, _)| change.matches as f64).collect());
    let longest = of_kind().map(|(_, backfill)| backfill.longest_standstill);
    let name = world.name(&format!("backfill of a new {kind} filter over 1,000,000 jobs"));
    Row::new(name, middle(|backfill| backfill.after), "s")
        .at_most(10.0)
        .with("matches", matches)
        .with("after apply's return s", middle(|backfill| backfill.after_return))
        .with(
            "jobs a second stored meanwhile",
            middle(|backfill| backfill.stored_meanwhile),
        )
        .with("longest without s", longest.reduce(f64::max))
}

/// Publishes jobs until told to stop. Returns how many, and how many of them match each change's filter.
fn arrive(world: &World<'_>, changes: &[Change], stop: &AtomicBool) -> Result<(usize, Vec<u64>)> {
    let mut drawn = Posts::new(80);
    let mut arrived = vec![0; changes.len()];
    let published = stream(&world.marketplace, ARRIVING, stop, |count| {
        let posts = drawn.some(count);
        for post in &posts {
            let prepared = PreparedJob::new(&parse(&post.to_string())?.facts());
            for (count, change) in arrived.iter_mut().zip(changes) {
                *count += u64::from(change.compiled.matches(&prepared));
            }
        }
        Ok(posts)
    })?;
    Ok((published, arrived))
}

/// Gives a campaign its filter and waits for its list.
fn backfill(world: &World<'_>, service: &Service, change: &Change) -> Result<Backfill> {
    let mut client = service.client()?;
    let mut metrics = Metrics::of(service)?;
    let stored_before = metrics.stored_jobs()?;
    let started = Instant::now();
    let ((listed_at, stored, longest), returned_at) = alongside(
        |_| {
            let document = filter_change(&change.campaign, &change.filter);
            world.installation.apply(&document).map(|()| started.elapsed())
        },
        || {
            let mut stored = stored_before;
            let mut changed = Instant::now();
            let mut longest = Duration::ZERO;
            wait_until("the new list is complete", GLANCE, || {
                let stored_now = metrics.stored_jobs()?;
                longest = longest.max(changed.elapsed());
                if stored_now > stored {
                    (stored, changed) = (stored_now, Instant::now());
                }
                Ok(client.total(&change.campaign)? >= change.matches)
            })?;
            Ok((started.elapsed(), stored, longest))
        },
    )?;
    let backfill = Backfill {
        after: listed_at.as_secs_f64(),
        after_return: listed_at.saturating_sub(returned_at).as_secs_f64(),
        stored_meanwhile: (stored - stored_before) / listed_at.as_secs_f64(),
        longest_standstill: longest.as_secs_f64(),
    };
    progress(&format!("{}: {backfill:?}", change.campaign));
    Ok(backfill)
}
