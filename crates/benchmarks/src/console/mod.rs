//! The console over a large database: the time that the released program takes to answer a whole request, and what it needs
//! to start, beside their goals.

mod fill;
mod pages;
mod statistics;
mod visitor;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use self::fill::Sizes;
use self::pages::Page;
use self::visitor::Visitor;
use crate::database::Database;
use crate::marketplace::Marketplace;
use crate::postgres::PostgresServer;
use crate::process;
use crate::program::{Installation, Program};
use crate::report::{Report, Row, median, progress};
use crate::world::{Databases, on_databases};

/// How often each page is asked for.
const ROUNDS: usize = 100;
const STARTS: usize = 10;
const ALL_ROLES: &str = "api,watch,dispatch,submit";
/// How long a service is left alone before it counts as idle.
const SETTLED: Duration = Duration::from_secs(3);

/// What to measure.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Print JSON instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    databases: Databases,
    /// Jobs, each of which is a lead of one campaign.
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    leads: u32,
    /// Entries of the Activity record.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    activities: u32,
    /// Pages whose names contain this, and nothing else.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Keep the SQLite file here, and use the one of a run before: filling takes the longest.
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// The program to measure; the installed one if left out, which is built with the profile `distribution`.
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

/// Runs the suite.
pub(crate) fn measure(options: &Options) -> Result<Report> {
    let mut report = Report::default();
    let program = Program::find(options.program.as_deref())?;
    on_databases(options.databases, &mut report, |server, report| {
        measure_on(server, &program, options, report)
    });
    Ok(report)
}

fn measure_on(
    server: Option<&PostgresServer>,
    program: &Program,
    options: &Options,
    report: &mut Report,
) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = options
        .file
        .clone()
        .unwrap_or_else(|| folder.path().join("console.db"));
    let postgres = server.map(PostgresServer::create_database).transpose()?;
    let url = match &postgres {
        Some(database) => database.url.clone(),
        None => format!("sqlite://{}", std::path::absolute(&file)?.display()),
    };
    let raw = match postgres {
        Some(database) => Database::Postgres(database),
        None => Database::Sqlite(file.clone()),
    };
    let marketplace = Marketplace::open()?;
    let mut installation = Installation::new(program, Some(&url))?;
    installation.watch(marketplace.address());
    if matches!(raw, Database::Postgres(_)) || !is_filled(&file) {
        let sizes = Sizes {
            leads: options.leads,
            activities: options.activities,
        };
        progress(&format!("storing {sizes:?}, {}", raw.name()));
        let started = Instant::now();
        fill::fill(&installation, &url, &raw, sizes)?;
        progress(&format!("stored in {} s", started.elapsed().as_secs()));
    }
    if options.only.is_none() {
        start(&installation, &raw, report)?;
    }
    visit(&installation, &raw, options, report)?;
    if options.only.is_none() {
        statistics::measure(&url, &raw, report)?;
    }
    Ok(())
}

fn is_filled(file: &Path) -> bool {
    file.metadata().is_ok_and(|data| data.len() > 0)
}

/// From starting the process to its first 200 on `/readyz`, and its memory when it has nothing to do.
fn start(installation: &Installation, raw: &Database<'_>, report: &mut Report) -> Result<()> {
    let mut times = Vec::new();
    for _ in 0..STARTS {
        let service = installation.serve(ALL_ROLES)?;
        times.push(service.ready_after.as_secs_f64() * 1000.0);
        service.stop()?;
    }
    let longest = times.iter().copied().reduce(f64::max);
    let row = Row::new(format!("Start to ready, {}", raw.name()), median(times), "ms");
    report.add(row.below(50.0).with("longest ms", longest));
    let service = installation.serve(ALL_ROLES)?;
    std::thread::sleep(SETTLED);
    let idle = process::resident_megabytes(service.pid()).context("this system tells no process's memory")?;
    report.add(Row::new(format!("Idle memory, {}", raw.name()), idle, "MB").below(40.0));
    service.stop()
}

/// Asks for each page many times, one after the other. The time is from the request's first byte to the answer's last, over
/// a kept connection on the same machine; pages are compressed as for a browser.
fn visit(
    installation: &Installation,
    raw: &Database<'_>,
    options: &Options,
    report: &mut Report,
) -> Result<()> {
    let factor = match raw {
        Database::Sqlite(_) => 1.0,
        Database::Postgres(_) => 2.0,
    };
    let service = installation.serve(ALL_ROLES)?;
    let mut visitor = Visitor::sign_in(&service)?;
    let wanted = |page: &Page| {
        options
            .only
            .as_ref()
            .is_none_or(|text| page.name.contains(text.as_str()))
    };
    let pages = pages::all(&mut visitor, options.leads)?;
    for page in pages.into_iter().filter(wanted) {
        let shown = visitor.read(&page.request).with_context(|| page.name.clone())?;
        let (text, least) = page.shows;
        let found = shown.matches(text).count();
        ensure!(
            found >= least,
            "{}: {text} stands {found} times on the page, not {least}",
            page.name
        );
        let mut times = Vec::with_capacity(ROUNDS);
        let mut bytes = 0;
        for _ in 0..ROUNDS {
            let started = Instant::now();
            bytes = visitor.visit(&page.request)?;
            times.push(started.elapsed().as_secs_f64() * 1000.0);
        }
        times.sort_unstable_by(f64::total_cmp);
        let at = |percent: usize| times[(ROUNDS * percent / 100).min(ROUNDS - 1)];
        let row = Row::new(format!("{}, {}", page.name, raw.name()), at(95), "ms");
        let row = match page.goal {
            Some(goal) => row.below(goal * factor),
            None => row,
        };
        #[expect(clippy::cast_precision_loss, reason = "a page has some kilobytes")]
        let kilobytes = bytes as f64 / 1000.0;
        report.add(row.with("p50 ms", at(50)).with("kB", kilobytes));
    }
    if let Some(peak) = process::peak_megabytes(service.pid()) {
        report.add(Row::new(format!("Most memory, {}", raw.name()), peak, "MB"));
    }
    service.stop()
}
