//! Saved filters with the database: the real program on a million stored jobs and on 100,000 saved filters, on SQLite and
//! PostgreSQL.
//!
//! Owns the course. The index by itself is measured in `crates/matching/benches`, whose jobs and filters are used here.

mod backfill;
mod database;
mod edits;
mod fill;
mod ingest;
mod metrics;
mod paging;
mod posts;
mod receiver;
mod saved_filters;
#[path = "../../../matching/benches/workload/mod.rs"]
mod workload;
mod world;

use anyhow::Result;

use self::database::Kind;
use self::ingest::Ingesting;
use crate::postgres::PostgresServer;
use crate::program::Program;
use crate::report::{Report, Row, progress};

/// What to measure.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Print JSON instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
    /// Measure this part alone.
    #[arg(long, value_enum, value_name = "PART")]
    only: Option<Part>,
}

/// What can be measured by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    /// Paging and backfills over a million stored jobs.
    Stored,
    /// Ingesting against 100,000 saved filters, and edits of one meanwhile.
    Ingest,
}

impl Options {
    fn asks_for(&self, part: Part) -> bool {
        self.only.is_none_or(|only| only == part)
    }
}

/// Measures the parts on both databases. A part that cannot be measured is a row that fails; the others are measured all
/// the same.
pub(crate) fn measure(options: &Options) -> Result<Report> {
    let mut report = Report::default();
    let program = Program::find(None)?;
    for kind in [Kind::Sqlite, Kind::Postgres] {
        if let Err(error) = measure_on(kind, options, &program, &mut report) {
            report.add(Row::failed(
                format!("everything else, {}", kind.name()),
                format!("{error:#}"),
            ));
        }
    }
    Ok(report)
}

fn measure_on(kind: Kind, options: &Options, program: &Program, report: &mut Report) -> Result<()> {
    let server = match kind {
        Kind::Sqlite => None,
        Kind::Postgres => Some(PostgresServer::start()?),
    };
    if options.asks_for(Part::Stored) {
        progress(&format!("storing a million jobs, {}", kind.name()));
        let world = world::World::new(program, server.as_ref())?;
        let changes = fill::fill(&world)?;
        paging::measure(&world, report)?;
        backfill::measure(&world, &changes, report)?;
    }
    if options.asks_for(Part::Ingest) {
        let mut ingesting = Ingesting::begin(program, server.as_ref(), report)?;
        ingesting.measure(report)?;
        edits::next_job(&ingesting, report)?;
        edits::slowdown(&mut ingesting, report)?;
    }
    Ok(())
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}
