//! Bids while another session holds a snapshot, so that no old version of a row can be removed: those of the organization's
//! used quota are as many as its bids.

use std::sync::Arc;

use anyhow::{Result, ensure};

use super::contest::Contender as _;
use super::load::{HttpContender, Requests};
use super::operations::{SERVICE, contender};
use super::options::Options;
use crate::postgres::{HeldSnapshot, PostgresDatabase};
use crate::report::{Report, Row, median, progress};
use crate::world::World;

/// Bids that one client makes while the snapshot is held, before it is measured again.
const WORKED_OFF: usize = 10_000;

/// Measures a client of one organization before the snapshot is taken, while it is held, and after it was released.
pub(super) fn measure(
    world: &World<'_>,
    database: &PostgresDatabase<'_>,
    bids: &Arc<Requests>,
    options: &Options,
    report: &mut Report,
) -> Result<()> {
    let service = world.installation.serve("api")?;
    let mut client = contender(SERVICE, world, &service, Arc::clone(bids), 1);
    let before = rate(&mut client, options)?;
    let snapshot = HeldSnapshot::of(&database.url)?;
    progress("bidding while a snapshot is held");
    let mut worked_off = 0;
    while worked_off < WORKED_OFF {
        let made = client.run(options.round())?.latencies_us.len();
        ensure!(made > 0, "there are too few leads");
        worked_off += made;
    }
    let held = rate(&mut client, options)?;
    let held_for = snapshot.release()?;
    database.execute("VACUUM")?;
    let after = rate(&mut client, options)?;
    let without = f64::midpoint(before, after);
    report.add(
        Row::new(
            world.name("bids of a client while a snapshot is held, to without"),
            held / without,
            "× throughput",
        )
        .at_least(0.95)
        .with("with, bids a second", held)
        .with("before", before)
        .with("after", after)
        .with("bids while it was held", worked_off as f64)
        .with("held for s", held_for.as_secs_f64()),
    );
    service.stop()
}

/// The median of rounds, in bids a second.
fn rate(client: &mut HttpContender, options: &Options) -> Result<f64> {
    let mut rates = Vec::new();
    for _ in 0..options.rounds {
        let run = client.run(options.round())?;
        ensure!(!run.latencies_us.is_empty(), "there are too few leads");
        rates.push(run.latencies_us.len() as f64 / run.seconds);
    }
    Ok(median(rates))
}
