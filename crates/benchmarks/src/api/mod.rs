//! The suite `api`: the real program over HTTP beside the same SQL and beside a bare server, on both databases, and
//! what it needs when idle.

mod bare_actix;
mod contest;
mod footprint;
mod load;
mod on_postgres;
mod on_sqlite;
mod operations;
mod pgbench;
mod sqlite_loop;
mod statements;
mod world;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, ensure};
use clap::Args;

pub(crate) use bare_actix::BareActix;

use crate::program::Program;
use crate::report::{Report, Row, progress};
use contest::Pace;

/// How the suite is run.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Length of a measured round.
    #[arg(long, value_name = "N", default_value_t = 5)]
    seconds: u64,
    /// Rounds of each contender; the median counts.
    #[arg(long, value_name = "N", default_value_t = 3)]
    rounds: usize,
    /// Connections of the load generator and of pgbench.
    #[arg(long, value_name = "N", default_value_t = 16)]
    connections: usize,
    /// The program to measure; the one beside this executable if left out, built if it is not there.
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

/// Runs the suite. What cannot be measured is a row that fails; the rest is measured all the same.
pub(crate) fn measure(options: &Options) -> Result<Report> {
    ensure!(
        options.seconds > 0 && options.rounds > 0 && options.connections > 0,
        "seconds, rounds and connections are at least 1"
    );
    let program = Program::find(options.program.as_deref())?;
    let pace = Pace {
        rounds: options.rounds,
        round: Duration::from_secs(options.seconds),
    };
    let mut report = Report::default();
    progress("starting the service over and over");
    footprint::starts(&program, &mut report)?;

    progress("filling SQLite");
    let marketplace = world::marketplace()?;
    let measured = on_sqlite::measure(&program, marketplace, pace, options.connections, &mut report);
    note("SQLite", measured, &mut report);

    progress("filling PostgreSQL");
    let marketplace = world::marketplace()?;
    let measured = on_postgres::measure(&program, marketplace, pace, options.connections, &mut report);
    note("PostgreSQL", measured, &mut report);
    Ok(report)
}

fn note(database: &str, measured: Result<()>, report: &mut Report) {
    if let Err(error) = measured {
        report.add(Row::failed(
            format!("everything else on {database}"),
            format!("{error:#}"),
        ));
    }
}
