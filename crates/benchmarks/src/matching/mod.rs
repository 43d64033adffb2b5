//! Saved filters with the database: the real program on a million stored jobs and on 100,000 saved filters, on SQLite and
//! PostgreSQL.
//!
//! The index by itself is measured in `crates/matching/benches`, whose jobs and filters are used here.

mod backfill;
mod edits;
mod fill;
pub(crate) mod ingest;
pub(crate) mod metrics;
mod paging;
pub(crate) mod posts;
mod saved_filters;
#[path = "../../../matching/benches/workload/mod.rs"]
pub(crate) mod workload;

use anyhow::Result;

use self::ingest::Ingesting;
use crate::postgres::PostgresServer;
use crate::program::Program;
use crate::report::{Report, progress};
use crate::world::{Databases, World, on_databases};

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

/// A part that can be measured by itself.
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

/// Runs the suite.
pub(crate) fn measure(options: &Options) -> Result<Report> {
    let mut report = Report::default();
    let program = Program::find(None)?;
    on_databases(Databases::default(), &mut report, |server, report| {
        measure_on(server, options, &program, report)
    });
    Ok(report)
}

fn measure_on(
    server: Option<&PostgresServer>,
    options: &Options,
    program: &Program,
    report: &mut Report,
) -> Result<()> {
    if options.asks_for(Part::Stored) {
        let world = World::new(program, server)?;
        progress(&world.name("storing a million jobs"));
        let changes = fill::fill(&world)?;
        paging::measure(&world, report)?;
        backfill::measure(&world, &changes, report)?;
    }
    if options.asks_for(Part::Ingest) {
        let mut ingesting = Ingesting::begin(World::new(program, server)?, report)?;
        ingesting.measure(report)?;
        edits::next_job(&ingesting, report)?;
        edits::slowdown(&mut ingesting, report)?;
    }
    Ok(())
}
