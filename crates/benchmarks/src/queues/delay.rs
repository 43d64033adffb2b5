//! From posting a job to receiving its `job.new`, at a steady rate against 100,000 saved filters.

use std::time::Duration;

use anyhow::{Result, ensure};

use super::receiver::Receiver;
use crate::matching::ingest::Ingesting;
use crate::matching::posts::{Posts, stream};
use crate::report::{Report, Row, progress};
use crate::waiting::{alongside, wait_until};
use crate::world::World;

/// Jobs a second.
const ARRIVING: u32 = 200;
/// A start that is not counted.
const WARM_UP: Duration = Duration::from_secs(5);
const GLANCE: Duration = Duration::from_millis(50);

/// Posts jobs for so long and reports how long after their posting the webhooks arrive.
pub(super) fn measure(world: World<'_>, arriving: Duration, report: &mut Report) -> Result<()> {
    let receiver = Receiver::start()?;
    let ingesting = Ingesting::telling(receiver.address, world, report)?;
    let world = &ingesting.world;
    progress(&format!("posting {ARRIVING} jobs a second"));
    let mut posts = Posts::new(98);
    let (cpu, _) = alongside(
        |stop| stream(&world.marketplace, ARRIVING, stop, |count| Ok(posts.some(count))),
        || {
            std::thread::sleep(WARM_UP);
            receiver.take_delays_ms();
            let before = ingesting.cpu();
            std::thread::sleep(arriving);
            Ok(ingesting.cpu().each_since(before, arriving.as_secs_f64()))
        },
    )?;
    // What is on its way counts, too.
    let pending = "SELECT count(*) FROM deliveries WHERE ended_at IS NULL";
    wait_until("everything is delivered", GLANCE, || {
        Ok(world.database.number(pending)? == 0)
    })?;
    let mut delays = receiver.take_delays_ms();
    ensure!(!delays.is_empty(), "no webhook arrived");
    delays.sort_unstable();
    let percentile = |percent: usize| delays[(delays.len() * percent / 100).min(delays.len() - 1)] as f64;
    let name = world.name("posting to job.new, 200 jobs a second, 100,000 filters: p99");
    report.add(
        Row::new(name, percentile(99), "ms")
            .at_most(350.0)
            .with("p50 ms", percentile(50))
            .with("longest ms", percentile(100))
            .with("received a second", delays.len() as f64 / arriving.as_secs_f64())
            .with("service's processors", cpu.server)
            .with("PostgreSQL's", cpu.database),
    );
    Ok(())
}
