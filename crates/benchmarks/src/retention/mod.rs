//! A year of activity, pruned while jobs come in: what that costs the loop, and whether lists stay exact.

mod year;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use self::year::{LISTS, Year};
use crate::matching::metrics::{Metrics, STORED_JOBS};
use crate::matching::posts::Posts;
use crate::postgres::PostgresServer;
use crate::program::{Program, Service};
use crate::report::{Report, Row, median, progress};
use crate::waiting::{alongside, wait_until};
use crate::world::{Databases, World, on_databases};

/// What is pruned in turn: the setting that asks for it, and its name.
const KINDS: [(&str, &str); 5] = [
    ("BIDLOOP_RETENTION__LETTERS_DAYS", "letters"),
    ("BIDLOOP_RETENTION__DELIVERIES_DAYS", "deliveries"),
    ("BIDLOOP_RETENTION__ACTIVITY_DAYS", "Activity entries"),
    ("BIDLOOP_RETENTION__JOBS_DAYS", "matches"),
    ("BIDLOOP_RETENTION__JOBS_DAYS", JOBS),
];
/// Pruned after the matches: these are cleared by the benchmark before, in one go.
const JOBS: &str = "jobs";
/// Pairs of a round without pruning and one with it, for each kind.
const ROUNDS: usize = 8;
/// Jobs of a round.
const BACKLOG: usize = 4_000;
const GLANCE: Duration = Duration::from_millis(5);
/// The time that the command has to begin.
const HEAD_START: Duration = Duration::from_millis(500);
/// Pause between two looks at a list.
const LOOK: Duration = Duration::from_millis(50);

/// What to measure.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Print JSON instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    databases: Databases,
    /// Rows of the year.
    #[arg(long, value_name = "N", default_value_t = 3_000_000)]
    rows: u32,
}

/// Runs the suite.
pub(crate) fn measure(options: &Options) -> Result<Report> {
    let mut report = Report::default();
    let program = Program::find(None)?;
    on_databases(options.databases, &mut report, |server, report| {
        measure_on(server, &program, options.rows, report)
    });
    Ok(report)
}

fn measure_on(
    server: Option<&PostgresServer>,
    program: &Program,
    rows: u32,
    report: &mut Report,
) -> Result<()> {
    let mut world = World::new(program, server)?;
    let year = Year::of(rows);
    progress(&world.name(&format!("storing a year of {} rows", year.rows())));
    year.fill(&world)?;
    // The service itself keeps everything: rounds with pruning run the command beside it.
    for (setting, _) in KINDS {
        world.installation.set(setting, "0");
    }
    let service = world.installation.serve("api,watch")?;
    let mut posts = Posts::new(95);
    drain(&world, &service, posts.some(BACKLOG))?;
    let (mut ratios, mut looks) = (Vec::new(), 0);
    for (setting, kind) in KINDS {
        progress(&world.name(&format!("ingesting, with pruning of {kind} and without in turn")));
        if kind == JOBS {
            year::clear_lists(&world)?;
        }
        world.installation.set(setting, "1");
        let (mut without, mut with) = (Vec::new(), Vec::new());
        let (mut removed, mut pruning_for) = (0, Duration::ZERO);
        for _ in 0..ROUNDS {
            let round = posts.some(BACKLOG);
            let (rate, looked) = watched_drain(&world, &service, round)?;
            without.push(rate);
            looks += looked;
            let before = year::left(&world)?;
            let started = Instant::now();
            let command = world.installation.start(&["prune"])?;
            std::thread::sleep(HEAD_START);
            let round = posts.some(BACKLOG);
            let (rate, looked) = watched_drain(&world, &service, round)?;
            with.push(rate);
            looks += looked;
            drop(command);
            pruning_for += started.elapsed();
            removed += before - year::left(&world)?;
        }
        world.installation.set(setting, "0");
        ratios.extend(with.iter().zip(&without).map(|(with, without)| with / without));
        let (without, with) = (median(without), median(with));
        let name = world.name(&format!("ingesting while {kind} are pruned, to without"));
        report.add(
            Row::new(name, with / without * 100.0, "%")
                .with("with, jobs a second", with)
                .with("without", without)
                .with(
                    "rows removed a second",
                    removed as f64 / pruning_for.as_secs_f64(),
                ),
        );
    }
    let name = world.name("ingesting while a year is pruned, to without");
    report.add(Row::new(name, median(ratios) * 100.0, "%").at_least(95.0));
    let name = world.name("lists whose total or order is wrong");
    report.add(
        Row::new(name, year::faults(&world)? as f64, "lists")
            .at_most(0.0)
            .with("exact pages meanwhile", looks as f64),
    );
    Ok(())
}

/// As [`drain`], while lists are looked at. Returns how many pages too.
fn watched_drain(world: &World<'_>, service: &Service, posts: Vec<Value>) -> Result<(f64, usize)> {
    alongside(|stop| look(service, stop), || drain(world, service, posts))
}

/// Publishes jobs at once. Returns how many are stored a second, from the first page to the last.
fn drain(world: &World<'_>, service: &Service, posts: Vec<Value>) -> Result<f64> {
    let jobs = posts.len() as f64;
    let mut metrics = Metrics::of(service)?;
    let before = metrics.read()?.value(STORED_JOBS);
    let mut first_page = None;
    world.marketplace.publish(posts)?;
    wait_until("the backlog is stored", GLANCE, || {
        let stored = metrics.stored_jobs()?;
        if stored > before && first_page.is_none() {
            first_page = Some((Instant::now(), stored));
        }
        Ok(stored >= before + jobs)
    })?;
    let (first_at, first_stored) = first_page.context("no page was stored")?;
    Ok((before + jobs - first_stored) / first_at.elapsed().as_secs_f64())
}

/// Asks for small pages all over a list until `stop`, each of which must be as long as its own total says. Returns how
/// many they were.
fn look(service: &Service, stop: &AtomicBool) -> Result<usize> {
    let mut client = service.client()?;
    let (mut looks, mut total) = (0, 1);
    while !stop.load(Ordering::Relaxed) {
        let list = &LISTS[looks % LISTS.len()];
        // Far from the newest, around what is pruned.
        let offset = total - 1 - (looks as u64 * 7919) % total.min(50_000);
        let path = format!("/v1/campaigns/{list}/leads?limit=2&offset={offset}");
        let page: Value = serde_json::from_slice(client.get(&path)?)?;
        total = page["total"].as_u64().context("a page without its total")?.max(1);
        let shown = page["data"].as_array().context("a page without leads")?.len() as u64;
        ensure!(
            shown == total.saturating_sub(offset).min(2) && page["hasMore"] == (offset + shown < total),
            "{shown} leads at {offset} of {total}"
        );
        looks += 1;
        std::thread::sleep(LOOK);
    }
    Ok(looks)
}
