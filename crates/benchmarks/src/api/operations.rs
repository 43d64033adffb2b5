//! The measured operations, each by three contenders: the service over HTTP, the same SQL without the service, and a
//! bare server that answers as many bytes. On PostgreSQL also who bids: one organization, or one client.

use std::sync::Arc;

use anyhow::{Result, ensure};

use super::contest::{Contender, Goals, Named, hold};
use super::fill::{Filled, LISTED};
use super::load::{HttpContender, Requests};
use super::options::{Options, Part};
use super::pgbench::PgbenchContender;
use super::sqlite_loop::LoopContender;
use super::statements::{self, Script, UNKNOWN_LEAD};
use super::{bystander, held_snapshot, lone_client, pooler};
use crate::bare_actix::BareActix;
use crate::database::Database;
use crate::http::{get, page_path, post};
use crate::process;
use crate::program::Service;
use crate::report::{Report, Row};
use crate::world::World;

/// Bytes of the answer to a bid, approximately.
const ACKNOWLEDGEMENT: usize = 120;
pub(super) const SERVICE: &str = "bidloop";

/// An operation of the service.
struct Operation {
    name: &'static str,
    requests: Arc<Requests>,
    expected: u16,
    /// What the bare server is asked every time.
    sample: Vec<u8>,
    answer_bytes: usize,
    sql: Script,
    /// The same by other statements, without goals.
    other_sql: Option<(&'static str, Script)>,
    goals: Goals,
}

/// Measures the operations on a filled database, each with a service that has just started.
pub(super) fn measure(
    world: &World<'_>,
    filled: Filled,
    options: &Options,
    report: &mut Report,
) -> Result<()> {
    let on_sqlite = matches!(world.database, Database::Sqlite(_));
    if options.asks_for(Part::List) {
        let peak = list(world, &filled.newest, options, report)?;
        if let Some(peak) = peak {
            let row = Row::new(world.name("most memory under the load of lists"), peak, "MB");
            report.add(if on_sqlite { row.at_most(80.0) } else { row });
        }
    }
    if options.asks_for(Part::LookUps) {
        look_up(world, options, report)?;
    }
    let spread = Requests::each(filled.spread);
    if options.asks_for(Part::Bids) {
        bid(world, &spread, options, report)?;
    }
    let Database::Postgres(database) = &world.database else {
        return Ok(());
    };
    let hot = Requests::each(filled.hot);
    if options.asks_for(Part::Hot) {
        let bystander = Requests::each(filled.bystander);
        one_hot_organization(world, &spread, [&hot, &bystander], options, report)?;
    }
    if options.asks_for(Part::Held) {
        held_snapshot::measure(database.server, options, report)?;
    }
    if options.asks_for(Part::Lone) {
        lone_client::measure(world, database, Arc::clone(&spread), options, report)?;
    }
    if options.asks_for(Part::Pooler) {
        pooler::measure(world, database, &spread, options, report)?;
    }
    Ok(())
}

/// Returns the most memory of the service.
fn list(world: &World<'_>, newest: &[String], options: &Options, report: &mut Report) -> Result<Option<f64>> {
    let service = world.installation.serve("api")?;
    let list = get(&page_path(LISTED, 0));
    let operation = Operation {
        name: "list of 100",
        requests: Requests::same(list.clone()),
        expected: 200,
        answer_bytes: service.client()?.ask(&list)?.expect(200)?.len(),
        sample: list,
        sql: statements::list(&world.database, newest)?,
        other_sql: None,
        goals: Goals::throughput(by_database(world, 0.8, 1.5)),
    };
    contest(world, &service, operation, options, report)?;
    let peak = process::peak_megabytes(service.pid());
    service.stop()?;
    Ok(peak)
}

fn look_up(world: &World<'_>, options: &Options, report: &mut Report) -> Result<()> {
    let service = world.installation.serve("api")?;
    let path = format!("/v1/campaigns/{LISTED}/leads/{UNKNOWN_LEAD}/reject");
    let look_up = post(&path, "application/json", "{}");
    let operation = Operation {
        name: "point look-ups",
        requests: Requests::same(look_up.clone()),
        expected: 404,
        answer_bytes: service.client()?.ask(&look_up)?.expect(404)?.len(),
        sample: look_up,
        sql: statements::look_up(&world.database)?,
        other_sql: Some(("two statements", statements::look_up_now(&world.database)?)),
        goals: Goals::throughput(by_database(world, 0.4, 1.0)),
    };
    contest(world, &service, operation, options, report)?;
    service.stop()
}

fn bid(world: &World<'_>, spread: &Arc<Requests>, options: &Options, report: &mut Report) -> Result<()> {
    let service = world.installation.serve("api")?;
    let operation = Operation {
        name: "bids of 50 organizations",
        requests: Arc::clone(spread),
        expected: 200,
        sample: spread.first(),
        answer_bytes: ACKNOWLEDGEMENT,
        sql: statements::bid(&world.database)?,
        other_sql: None,
        goals: Goals {
            throughput: Some(by_database(world, 1.5, 1.25)),
            cpu: matches!(world.database, Database::Postgres(_)).then_some(1.0),
            p50: None,
        },
    };
    contest(world, &service, operation, options, report)?;
    let bids = world.database.number(&statements::bids_by_sql())?;
    ensure!(bids > 0, "the bids by SQL are not there");
    service.stop()
}

fn by_database(world: &World<'_>, sqlite: f64, postgres: f64) -> f64 {
    match world.database {
        Database::Sqlite(_) => sqlite,
        Database::Postgres(_) => postgres,
    }
}

fn contest(
    world: &World<'_>,
    service: &Service,
    operation: Operation,
    options: &Options,
    report: &mut Report,
) -> Result<()> {
    let server = BareActix {
        bytes: operation.answer_bytes,
    }
    .start()?;
    let ours = HttpContender {
        expected: operation.expected,
        ..contender(SERVICE, world, service, operation.requests, options.connections)
    };
    let bare = HttpContender {
        name: "bare actix",
        address: server.address,
        requests: Requests::same(operation.sample),
        expected: 200,
        pid: server.pid(),
        database_pid: None,
        ..ours
    };
    let mut contenders: Vec<Box<dyn Contender + '_>> = vec![
        Box::new(ours),
        by_sql(world, operation.sql, options)?,
        Box::new(bare),
    ];
    if let Some((name, script)) = operation.other_sql {
        contenders.push(Box::new(Named(name, by_sql(world, script, options)?)));
    }
    let name = world.name(operation.name);
    hold(&name, &mut contenders, operation.goals, options, report)
}

/// The SQL without the service.
fn by_sql<'w>(world: &'w World<'_>, script: Script, options: &Options) -> Result<Box<dyn Contender + 'w>> {
    Ok(match &world.database {
        Database::Sqlite(file) => Box::new(LoopContender::new(file, script)?),
        Database::Postgres(database) => {
            Box::new(PgbenchContender::new(database, options.connections, script, 0)?)
        }
    })
}

/// The service under bids.
pub(super) fn contender(
    name: &'static str,
    world: &World<'_>,
    service: &Service,
    requests: Arc<Requests>,
    connections: u16,
) -> HttpContender {
    HttpContender {
        name,
        address: service.address,
        requests,
        expected: 200,
        connections,
        pid: service.pid(),
        database_pid: world.database.server_pid(),
    }
}

/// All bids are one organization's: their rate beside that of many, and what another organization notices.
fn one_hot_organization(
    world: &World<'_>,
    spread: &Arc<Requests>,
    [hot, bystander]: [&Arc<Requests>; 2],
    options: &Options,
    report: &mut Report,
) -> Result<()> {
    let service = world.installation.serve("api")?;
    let name = world.name("bids of one hot organization");
    let of = |name, requests: &Arc<Requests>, connections| {
        contender(name, world, &service, Arc::clone(requests), connections)
    };
    let connections = options.connections;
    let mut contenders: [Box<dyn Contender + '_>; 2] = [
        Box::new(of("one organization", hot, connections)),
        Box::new(of("50 organizations", spread, connections)),
    ];
    hold(&name, &mut contenders, Goals::throughput(0.8), options, report)?;
    let loads = [
        &mut of("one organization", hot, connections - 1),
        &mut of("50 organizations", spread, connections - 1),
    ];
    let mut bystander = of("bystander", bystander, 1);
    let name = world.name("a bystander's bids beside a hot organization, to beside 50");
    bystander::measure(&name, &mut bystander, loads, options, report)?;
    service.stop()
}
