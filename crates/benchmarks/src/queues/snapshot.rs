//! The pace of bursts while another session holds a snapshot, so that no dead row can be removed.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::bursts::{Bursts, USUAL};
use crate::postgres::HeldSnapshot;
use crate::report::{Report, Row, progress};
use crate::world::World;

/// Bursts whose median counts.
const ROUNDS: usize = 5;

/// Measures the pace without the snapshot, holds one until so many jobs are worked off and for at least `hold`, and
/// measures again.
pub(super) fn measure(world: World<'_>, jobs: usize, hold: Duration, report: &mut Report) -> Result<()> {
    let name = world.name(&format!(
        "bursts of {USUAL} while a snapshot is held: pace, to without"
    ));
    let url = world.database.url();
    let mut bursts = Bursts::begin(world)?;
    let without = bursts.bursts(USUAL, ROUNDS)?;
    let snapshot = HeldSnapshot::of(&url)?;
    let started = Instant::now();
    for _ in 0..jobs.div_ceil(USUAL) {
        bursts.burst(USUAL)?;
    }
    let rest = hold.saturating_sub(started.elapsed());
    progress(&format!("holding the snapshot for another {} s", rest.as_secs()));
    std::thread::sleep(rest);
    let with = bursts.bursts(USUAL, ROUNDS)?;
    let held_for = snapshot.release()?;
    let after = bursts.bursts(USUAL, ROUNDS)?;
    report.add(
        Row::new(name, with.rate / without.rate, "times")
            .at_least(0.95)
            .with("without, jobs a second", without.rate)
            .with("with", with.rate)
            .with("after its release", after.rate)
            .with("held for s", held_for.as_secs_f64()),
    );
    Ok(())
}
