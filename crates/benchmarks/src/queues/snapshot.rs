//! The pace of bursts while another session holds a snapshot, so that no dead row can be removed.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::bursts::{Bursts, USUAL};
use crate::postgres::HeldSnapshot;
use crate::report::{Report, Row, median, median_ratio, progress};
use crate::world::World;

/// Bursts of each database that count. One may take a fifth more or less than the next.
const ROUNDS: usize = 15;
/// Bursts of each before, which tell how alike the databases are.
const BEFORE: usize = 3;

/// Measures two databases of one server in turn, after so many jobs of each and after at least `lasting`. In one of them the
/// snapshot is held meanwhile. They differ in nothing else: a database gets slower by what is stored in it, too.
pub(super) fn measure(
    held: World<'_>,
    without: World<'_>,
    jobs: usize,
    lasting: Duration,
    report: &mut Report,
) -> Result<()> {
    let name = held.name(&format!(
        "bursts of {USUAL} while a snapshot is held: pace, to without"
    ));
    let url = held.database.url();
    let mut databases = [Bursts::begin(held)?, Bursts::begin(without)?];
    let before = in_turn(&mut databases, BEFORE)?;
    let snapshot = HeldSnapshot::of(&url)?;
    let started = Instant::now();
    in_turn(&mut databases, jobs.div_ceil(USUAL))?;
    let rest = lasting.saturating_sub(started.elapsed());
    progress(&format!("holding the snapshot for another {} s", rest.as_secs()));
    std::thread::sleep(rest);
    let [with, without] = in_turn(&mut databases, ROUNDS)?;
    let held_for = snapshot.release()?;
    report.add(
        Row::new(name, median_ratio(&with, &without, |rate| *rate), "times")
            .at_least(0.95)
            .with("with, jobs a second", median(with))
            .with("without", median(without))
            .with(
                "before it, times",
                median_ratio(&before[0], &before[1], |rate| *rate),
            )
            .with("held for s", held_for.as_secs_f64()),
    );
    Ok(())
}

/// The rates of bursts, which the databases take in turn.
fn in_turn(databases: &mut [Bursts<'_>; 2], rounds: usize) -> Result<[Vec<f64>; 2]> {
    let mut rates = [Vec::new(), Vec::new()];
    for _ in 0..rounds {
        for (bursts, rates) in databases.iter_mut().zip(&mut rates) {
            rates.push(bursts.burst(USUAL)?.rate);
        }
    }
    Ok(rates)
}
