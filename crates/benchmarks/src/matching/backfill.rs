//! Backfills over a million stored jobs while others arrive: from changing a filter to the list that follows it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use bidloop_domain::matching::PreparedJob;

use super::fill::{Change, parse};
use super::median;
use super::metrics::Metrics;
use super::posts::{Posts, stream};
use super::world::{World, filter_change};
use crate::http::{self, Connection};
use crate::program::Service;
use crate::report::{Report, Row, progress};

/// Jobs that arrive a second meanwhile.
const ARRIVING: u32 = 75;
const GLANCE: Duration = Duration::from_millis(20);
const PATIENCE: Duration = Duration::from_secs(120);

/// One backfill, in seconds.
#[derive(Debug)]
struct Switched {
    /// From starting `bidloop apply` to the list that holds every match.
    after: f64,
    /// From the command's return; 0 if the list was there by then.
    after_return: f64,
    stored_meanwhile: f64,
    longest_standstill: f64,
}

/// Measures all changes one after the other, and that every list ends up right.
pub(super) fn measure(world: &World<'_>, changes: &[Change], report: &mut Report) -> Result<()> {
    let service = world.installation.serve("api,watch")?;
    let stop = AtomicBool::new(false);
    let arrived: Vec<AtomicU64> = changes.iter().map(|_| AtomicU64::new(0)).collect();
    let switched = std::thread::scope(|scope| {
        let stream = scope.spawn(|| arrive(world, changes, &arrived, &stop));
        let switched = changes.iter().map(|change| switch(world, &service, change));
        let switched = switched.collect::<Result<Vec<Switched>>>();
        stop.store(true, Ordering::Relaxed);
        let published = stream
            .join()
            .map_err(|_| anyhow::anyhow!("the stream panicked"))??;
        let switched = switched?;
        let mut metrics = Metrics::of(&service)?;
        let since = Instant::now();
        while metrics.stored_jobs()? < published {
            ensure!(since.elapsed() < PATIENCE, "the feed is not read");
            std::thread::sleep(GLANCE);
        }
        anyhow::Ok(switched)
    })?;
    for (change, arrived) in changes.iter().zip(&arrived) {
        let mut connection = Connection::open(service.address)?;
        let total = total(&mut connection, &change.campaign)?;
        let expected = change.matches + arrived.load(Ordering::Relaxed);
        ensure!(
            total == expected,
            "{} lists {total} jobs, {expected} match",
            change.campaign
        );
    }
    for kind in ["narrow", "wide"] {
        report.add(row(world, kind, changes, &switched));
    }
    service.stop()
}

fn row(world: &World<'_>, kind: &str, changes: &[Change], switched: &[Switched]) -> Row {
    let of_kind = || {
        let all = changes.iter().zip(switched);
        all.filter(|(change, _)| change.campaign.starts_with(kind))
    };
    let middle =
        |figure: &dyn Fn(&Switched) -> f64| median(of_kind().map(|(_, switched)| figure(switched)).collect());
    #[expect(clippy::cast_precision_loss, reason = "a count of jobs")]
    let matches = median(of_kind().map(|(change, _)| change.matches as f64).collect());
    let longest = of_kind().map(|(_, switched)| switched.longest_standstill);
    Row::new(
        world.name(&format!("backfill of a new {kind} filter over 1,000,000 jobs")),
        middle(&|switched| switched.after),
        "s",
    )
    .at_most(10.0)
    .with("matches", Some(matches))
    .with(
        "after apply's return s",
        Some(middle(&|switched| switched.after_return)),
    )
    .with(
        "jobs a second stored meanwhile",
        Some(middle(&|switched| switched.stored_meanwhile)),
    )
    .with("longest without s", longest.reduce(f64::max))
}

/// Puts up jobs until told to stop, counting those that match each change's filter.
fn arrive(world: &World<'_>, changes: &[Change], arrived: &[AtomicU64], stop: &AtomicBool) -> Result<u64> {
    let mut drawn = Posts::new(80);
    stream(&world.marketplace, ARRIVING, stop, |count| {
        let posts = drawn.some(count)?;
        for post in &posts {
            let prepared = PreparedJob::new(&parse(&post.to_string())?.facts());
            for (count, change) in arrived.iter().zip(changes) {
                let matches = change.compiled.matches(&prepared);
                count.fetch_add(u64::from(matches), Ordering::Relaxed);
            }
        }
        Ok(posts)
    })
}

/// Gives a campaign its filter and waits for its list.
fn switch(world: &World<'_>, service: &Service, change: &Change) -> Result<Switched> {
    let mut connection = Connection::open(service.address)?;
    let mut metrics = Metrics::of(service)?;
    let at_start = metrics.stored_jobs()?;
    let started = Instant::now();
    let (listed_at, returned_at, arrivals) = std::thread::scope(|scope| {
        let apply = scope.spawn(|| {
            let document = filter_change(&change.campaign, &change.filter);
            world.installation.apply(&document).map(|()| started.elapsed())
        });
        let mut arrivals = Arrivals::new(at_start);
        let mut listed_at = None;
        while listed_at.is_none() {
            ensure!(
                started.elapsed() < PATIENCE,
                "{} does not switch",
                change.campaign
            );
            std::thread::sleep(GLANCE);
            arrivals.see(metrics.stored_jobs()?);
            let is_there = total(&mut connection, &change.campaign)? >= change.matches;
            listed_at = is_there.then(|| started.elapsed());
        }
        let returned_at = apply.join().map_err(|_| anyhow::anyhow!("apply panicked"))??;
        Ok((listed_at.unwrap_or_default(), returned_at, arrivals))
    })?;
    let switched = Switched {
        after: listed_at.as_secs_f64(),
        after_return: listed_at.saturating_sub(returned_at).as_secs_f64(),
        stored_meanwhile: arrivals.a_second(at_start, listed_at),
        longest_standstill: arrivals.longest.as_secs_f64(),
    };
    progress(&format!(
        "{}: {switched:?}, apply returned after {returned_at:?}",
        change.campaign
    ));
    Ok(switched)
}

/// How many jobs were stored, and the longest time without.
#[derive(Debug)]
struct Arrivals {
    count: u64,
    changed: Instant,
    longest: Duration,
}

impl Arrivals {
    fn new(count: u64) -> Self {
        Self {
            count,
            changed: Instant::now(),
            longest: Duration::ZERO,
        }
    }

    fn see(&mut self, count: u64) {
        self.longest = self.longest.max(self.changed.elapsed());
        if count != self.count {
            self.count = count;
            self.changed = Instant::now();
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "a count of jobs")]
    fn a_second(&self, before: u64, time: Duration) -> f64 {
        (self.count - before) as f64 / time.as_secs_f64()
    }
}

/// What the List operation says of a campaign's matches.
fn total(connection: &mut Connection, campaign: &str) -> Result<u64> {
    let path = format!("/v1/campaigns/{campaign}/leads?limit=1");
    let page = connection.ask(&http::get(&path))?.json()?;
    page["total"].as_u64().context("a page without its total")
}
