//! Bids while another session holds a snapshot, so that no old version of a row can be removed: those of the organization's
//! used quota are as many as its bids.

use anyhow::{Result, ensure};

use super::contest::{Contender, Goals, hold};
use super::fill::{Filled, filled_world};
use super::load::{HttpContender, Requests};
use super::operations::contender;
use super::options::{Options, Part};
use crate::postgres::{HeldSnapshot, PostgresServer};
use crate::program::{Program, Service};
use crate::report::{Report, progress};

/// Bids that each client makes while the snapshot is held, before it is measured.
const WORKED_OFF: usize = 10_000;

/// Measures a client of one organization in each of two databases of the server, in turns. In the first the snapshot is held.
/// They differ in nothing else: a machine's speed changes while a client works off its bids.
pub(super) fn measure(server: &PostgresServer, options: &Options, report: &mut Report) -> Result<()> {
    let program = Program::find(options.program.as_deref())?;
    let filled = || filled_world(&program, server, Part::Held, options);
    let [(held, bids), (other, other_bids)] = [filled()?, filled()?];
    let services = [held.installation.serve("api")?, other.installation.serve("api")?];
    let [service, other_service] = &services;
    let of =
        |name, world, service, bids: Filled| contender(name, world, service, Requests::each(bids.hot), 1);
    let mut clients = [
        of("while a snapshot is held", &held, service, bids),
        of("without", &other, other_service, other_bids),
    ];
    let snapshot = HeldSnapshot::of(&held.database.url())?;
    progress("bidding while a snapshot is held");
    for client in &mut clients {
        work_off(client, options)?;
    }
    let name = held.name("bids of a client");
    let mut contenders = clients.map(|client| Box::new(client) as Box<dyn Contender>);
    hold(&name, &mut contenders, Goals::throughput(0.95), options, report)?;
    snapshot.release()?;
    services.into_iter().try_for_each(Service::stop)
}

fn work_off(client: &mut HttpContender, options: &Options) -> Result<()> {
    let mut made = 0;
    while made < WORKED_OFF {
        let bids = client.run(options.round())?.latencies_us.len();
        ensure!(bids > 0, "there are too few leads");
        made += bids;
    }
    Ok(())
}
