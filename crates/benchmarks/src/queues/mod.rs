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
use crate::postgres::{PostgresDatabase, PostgresServer};
use crate::program::Program;
use crate::report::{Report, Row, median_ratio, progress};
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
    /// Rounds of them on PostgreSQL, in which they take turns with the others.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
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
    /// The program to measure; the installed one if left out, which is built with the profile `distribution`.
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
        let world = || World::new(program, server);
        let on_postgres = server.is_some();
        match self {
            Self::Ports if on_postgres => beside_others(&world, options, report),
            Self::Ports => through_the_ports(&world()?, options, report),
            Self::Bursts => Bursts::begin(world()?)?.measure(options.burst, report),
            Self::Snapshot if on_postgres => {
                let hold = Duration::from_secs(options.hold);
                snapshot::measure(world()?, world()?, options.held_jobs, hold, report)
            }
            Self::Delay if on_postgres => {
                let arriving = Duration::from_secs(options.arriving);
                delay::measure(world()?, arriving, report)
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

/// Deliveries through the ports on SQLite, which are only shown.
fn through_the_ports(world: &World<'_>, options: &Options, report: &mut Report) -> Result<()> {
    let name = world.name("deliveries: through the ports");
    progress(&name);
    let ours = ports::work_off(world, options.deliveries.min(ON_SQLITE))?;
    report.add(ours.row(name));
    Ok(())
}

/// What works off the same number on the same database.
struct Peer {
    name: &'static str,
    /// How many times its rate the ports must reach.
    goal: f64,
    work_off: fn(&PostgresDatabase<'_>, usize) -> Result<WorkedOff>,
}

const PEERS: [Peer; 2] = [
    Peer {
        name: "bare SQL in batches of 100",
        goal: 0.6,
        work_off: bare_sql::work_off,
    },
    Peer {
        name: "graphile-worker",
        goal: 1.0,
        work_off: graphile::work_off,
    },
];

/// Deliveries through the ports and by others, which take turns. Each round has a database of its own.
fn beside_others<'s>(
    world: &impl Fn() -> Result<World<'s>>,
    options: &Options,
    report: &mut Report,
) -> Result<()> {
    let name = |what: &str| format!("deliveries: {what}, PostgreSQL");
    let mut ours = Vec::new();
    let mut theirs = PEERS.each_ref().map(|_| Vec::new());
    for round in 1..=options.rounds {
        let world = world()?;
        progress(&format!("{}, round {round}", name("through the ports")));
        ours.push(ports::work_off(&world, options.deliveries)?);
        let Database::Postgres(database) = &world.database else {
            return Ok(());
        };
        for (peer, runs) in PEERS.iter().zip(&mut theirs) {
            // Each begins without what the one before left to be written.
            database.execute("CHECKPOINT")?;
            progress(&format!("{}, round {round}", name(peer.name)));
            runs.push((peer.work_off)(database, options.deliveries));
        }
    }
    report.add(WorkedOff::median(&ours).row(name("through the ports")));
    for (peer, runs) in PEERS.iter().zip(theirs) {
        let name = name(peer.name);
        let ratio = format!("{name}: ratio to it");
        match runs.into_iter().collect::<Result<Vec<_>>>() {
            Ok(runs) => {
                let times = median_ratio(&ours, &runs, WorkedOff::rate);
                report.add(WorkedOff::median(&runs).row(name));
                report.add(Row::new(ratio, times, "×").at_least(peer.goal));
            }
            Err(error) => report.add(Row::failed(ratio, format!("not measured: {error:#}"))),
        }
    }
    Ok(())
}
