//! The suite `api`: the real program over HTTP beside the same SQL and beside a bare server, on both databases, and
//! what it needs when idle.

mod bystander;
mod contest;
mod fill;
mod footprint;
mod held_snapshot;
mod load;
mod lone_client;
mod operations;
mod options;
mod pgbench;
mod pooler;
mod sqlite_loop;
mod statements;

use anyhow::Result;

pub(crate) use options::Options;

use self::options::Part;
use crate::database::Database;
use crate::postgres::PostgresServer;
use crate::program::Program;
use crate::report::{Report, progress};
use crate::world::{World, on_databases};

/// Runs the suite.
pub(crate) fn measure(options: &Options) -> Result<Report> {
    let program = Program::find(options.program.as_deref())?;
    let mut report = Report::default();
    if options.asks_for(Part::Size) {
        footprint::size(&program, &mut report)?;
    }
    if options.asks_for(Part::Start) && options.databases.has_sqlite() {
        progress("starting the service repeatedly");
        footprint::starts(&program, &mut report)?;
    }
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
    let world = World::new(program, server)?;
    progress(&format!("filling {}", world.database.name()));
    let filled = fill::fill(&world, options)?;
    match &world.database {
        Database::Sqlite(_) if options.asks_for(Part::Idle) => {
            footprint::memory(&world.installation, &filled.newest, report)?;
        }
        Database::Sqlite(_) => {}
        Database::Postgres(database) => pgbench::prepare(database)?,
    }
    operations::measure(&world, filled, options, report)
}
