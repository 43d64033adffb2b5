//! The suite `api`: the real program over HTTP beside the same SQL and beside a bare server, on both databases, and
//! what it needs when idle.

mod contest;
mod fill;
mod footprint;
mod load;
mod operations;
mod options;
mod pgbench;
mod sqlite_loop;
mod statements;

use anyhow::Result;

pub(crate) use options::Options;

use crate::database::Database;
use crate::postgres::PostgresServer;
use crate::program::Program;
use crate::report::{Report, progress};
use crate::world::{World, on_both_databases};

/// Runs the suite.
pub(crate) fn measure(options: &Options) -> Result<Report> {
    let program = Program::find(options.program.as_deref())?;
    let mut report = Report::default();
    progress("starting the service repeatedly");
    footprint::starts(&program, &mut report)?;
    on_both_databases(&mut report, |server, report| {
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
    let world = World::new(program, server)?;
    progress(&format!("filling {}", world.database.name()));
    let leads = fill::fill(&world)?;
    match &world.database {
        Database::Sqlite(_) => footprint::memory(&world.installation, &leads, report)?,
        Database::Postgres(database) => pgbench::prepare(database)?,
    }
    operations::measure(&world, &leads, options, report)
}
