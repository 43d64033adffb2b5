//! The queues: deliveries through the ports beside another queue and bare SQL, and the program's whole path from a posted
//! job to the receiver. The goals are PostgreSQL's.

mod bare_sql;
mod bursts;
mod delay;
mod floor;
mod graphile;
mod ports;
mod receiver;
mod snapshot;
mod worked_off;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::ValueEnum as _;

use self::bursts::Bursts;
use self::worked_off::WorkedOff;
use crate::database::Database;
use crate::postgres::PostgresServer;
use crate::program::Program;
use crate::report::{Report, Row, progress};
use crate::world::{Databases, World, on_databases};

/// Deliveries on SQLite, where they are only shown.
const ON_SQLITE: usize = 20_000;

/// What to measure.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Print JSON instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
    /// Measure these parts alone.
    #[arg(long, value_enum, value_name = "PART", value_delimiter = ',')]
    only: Vec<Part>,
    #[command(flatten)]
    databases: Databases,
    /// Deliveries through the ports, a multiple of 1,000.
    #[arg(long, value_name = "N", default_value_t = 200_000)]
    deliveries: usize,
    /// Jobs of the largest burst.
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    burst: usize,
    /// How long the snapshot is held at least.
    #[arg(long, value_name = "SECONDS", default_value_t = 180)]
    hold: u64,
    /// Jobs that are worked off while it is held.
    #[arg(long, value_name = "N", default_value_t = 200_000)]
    held_jobs: usize,
    /// How long jobs arrive for the delay's measure.
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    arriving: u64,
    /// The program to measure; the installed one if left out, built with the profile `distribution` if it is not there.
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

/// A part that can be measured by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    /// Deliveries through the ports, beside another queue and bare SQL.
    Ports,
    /// Jobs posted at once, ingested and delivered by the program.
    Bursts,
    /// The same while a snapshot is held, beside a database without one; on PostgreSQL.
    Snapshot,
    /// From a job's posting to its webhook, against 100,000 saved filters; on PostgreSQL.
    Delay,
}

impl Part {
    fn measure(
        self,
        program: &Program,
        server: Option<&PostgresServer>,
        options: &Options,
        report: &mut Report,
    ) -> Result<()> {
        let world = World::new(program, server)?;
        let on_postgres = server.is_some();
        match self {
            Self::Ports => through_the_ports(&world, options, report),
            Self::Bursts => Bursts::begin(world)?.measure(options.burst, report),
            Self::Snapshot if on_postgres => {
                let hold = Duration::from_secs(options.hold);
                let without = World::new(program, server)?;
                snapshot::measure(world, without, options.held_jobs, hold, report)
            }
            Self::Delay if on_postgres => {
                let arriving = Duration::from_secs(options.arriving);
                delay::measure(world, arriving, report)
            }
            Self::Snapshot | Self::Delay => Ok(()),
        }
    }
}

impl Options {
    fn asks_for(&self, part: Part) -> bool {
        self.only.is_empty() || self.only.contains(&part)
    }
}

/// Runs the suite.
pub(crate) fn measure(options: &Options) -> Result<Report> {
    let program = Program::find(options.program.as_deref())?;
    let mut report = Report::default();
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
    if let Some(server) = server {
        server.must_wait_for_the_disk()?;
    }
    for part in Part::value_variants() {
        if !options.asks_for(*part) {
            continue;
        }
        if let Err(error) = part.measure(program, server, options, report) {
            let name = format!("{part:?}, the rest");
            report.add(Row::failed(name, format!("not measured: {error:#}")));
        }
    }
    Ok(())
}

fn through_the_ports(world: &World<'_>, options: &Options, report: &mut Report) -> Result<()> {
    let name = |what: &str| world.name(&format!("deliveries: {what}"));
    let count = match world.database {
        Database::Sqlite(_) => options.deliveries.min(ON_SQLITE),
        Database::Postgres(_) => options.deliveries,
    };
    progress(&name(&format!("{count} through the ports")));
    let ours = ports::work_off(world, count)?;
    report.add(ours.row(name("through the ports")));
    let Database::Postgres(database) = &world.database else {
        return Ok(());
    };
    // Each begins without what the one before left to be written.
    database.execute("CHECKPOINT")?;
    progress(&name("graphile-worker"));
    let graphile = graphile::work_off(database, count);
    compare(ours, graphile, name("graphile-worker"), 1.0, report);
    database.execute("CHECKPOINT")?;
    progress(&name("bare SQL"));
    let bare = bare_sql::work_off(database, count);
    compare(ours, bare, name("bare SQL in batches of 100"), 0.6, report);
    Ok(())
}

fn compare(ours: WorkedOff, peer: Result<WorkedOff>, name: String, goal: f64, report: &mut Report) {
    let ratio = format!("{name}: ratio to it");
    match peer {
        Ok(peer) => {
            report.add(peer.row(name));
            report.add(Row::new(ratio, ours.rate() / peer.rate(), "×").at_least(goal));
        }
        Err(error) => report.add(Row::failed(ratio, format!("not measured: {error:#}"))),
    }
}
