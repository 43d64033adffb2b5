//! Matching where it meets the database: the real program on a million stored jobs and on 100,000 saved filters, on
//! SQLite and PostgreSQL.
//!
//! Owns the course and which parts there are. Does not own how the program is run, nor what jobs and filters are
//! like, which is the workload's.

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
mod world;

use anyhow::Result;

use self::database::Kind;
use self::ingest::Ingesting;
use crate::postgres::PostgresServer;
use crate::program::Program;
use crate::report::{Report, Row, progress};

/// What can be measured by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Parts {
    /// Paging and backfills over a million stored jobs.
    pub(super) stored: bool,
    /// Ingesting against 100,000 saved filters, and edits of one meanwhile.
    pub(super) ingest: bool,
}

/// Measures the parts on both databases. What cannot be measured is a row that fails; the rest is measured all the
/// same.
pub(super) fn measure(parts: Parts, report: &mut Report) -> Result<()> {
    if !parts.stored && !parts.ingest {
        return Ok(());
    }
    let program = Program::find(None)?;
    for kind in [Kind::Sqlite, Kind::Postgres] {
        let measured = measure_on(kind, parts, &program, report);
        if let Err(error) = measured {
            report.add(Row::failed(
                format!("everything else, {}", kind.name()),
                format!("{error:#}"),
            ));
        }
    }
    Ok(())
}

fn measure_on(kind: Kind, parts: Parts, program: &Program, report: &mut Report) -> Result<()> {
    let server = match kind {
        Kind::Sqlite => None,
        Kind::Postgres => Some(PostgresServer::start()?),
    };
    if parts.stored {
        progress(&format!("storing a million jobs, {}", kind.name()));
        let world = world::World::new(program, server.as_ref())?;
        let changes = fill::fill(&world)?;
        paging::measure(&world, report)?;
        backfill::measure(&world, &changes, report)?;
    }
    if parts.ingest {
        let mut ingesting = Ingesting::begin(program, server.as_ref(), report)?;
        ingesting.measure(report)?;
        edits::next_job(&ingesting, report)?;
        edits::slowdown(&mut ingesting, report)?;
    }
    Ok(())
}
