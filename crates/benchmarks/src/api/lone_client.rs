//! One client that waits for each answer to its bids. It is compared with the same client of a program that decides on each
//! bid by itself, and with one client of the database.

use std::sync::Arc;

use anyhow::Result;

use super::contest::{Contender, Goals, hold};
use super::fill::filled_world;
use super::load::Requests;
use super::operations::{SERVICE, contender};
use super::options::{Options, Part};
use super::pgbench::PgbenchContender;
use super::statements;
use crate::postgres::PostgresDatabase;
use crate::program::{Program, Service};
use crate::report::{Report, progress};
use crate::world::World;

/// The number of the first run by SQL: far beyond those of the other contenders.
const FIRST_RUN: u32 = 1000;

/// Measures the client, whose bids are `spread` over organizations.
pub(super) fn measure(
    world: &World<'_>,
    database: &PostgresDatabase<'_>,
    spread: Arc<Requests>,
    options: &Options,
    report: &mut Report,
) -> Result<()> {
    let before = options
        .before
        .as_deref()
        .map(|program| {
            progress("filling the other program's database");
            filled_world(
                &Program::find(Some(program))?,
                database.server,
                Part::Lone,
                options,
            )
        })
        .transpose()?;
    let before = before.map(|(world, filled)| (world, Requests::each(filled.spread)));
    let services = [
        Some((SERVICE, world, spread)),
        before
            .as_ref()
            .map(|(world, spread)| ("each bid by itself", world, Arc::clone(spread))),
    ];
    let (mut running, mut contenders) = (Vec::new(), Vec::<Box<dyn Contender + '_>>::new());
    for (name, world, requests) in services.into_iter().flatten() {
        let service = world.installation.serve("api")?;
        contenders.push(Box::new(contender(name, world, &service, requests, 1)));
        running.push(service);
    }
    let script = statements::bid(&world.database)?;
    contenders.push(Box::new(PgbenchContender::new(database, 1, script, FIRST_RUN)?));
    let goals = Goals {
        p50: before.as_ref().map(|_| 1.1),
        ..Goals::default()
    };
    hold(
        &world.name("bids of a lone client"),
        &mut contenders,
        goals,
        options,
        report,
    )?;
    running.into_iter().try_for_each(Service::stop)
}
