//! Jobs that are posted at once, ingested and delivered by the program: its pace, and the CPU that a job costs.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::floor;
use super::receiver::Receiver;
use crate::database::Database;
use crate::matching::posts::{Posts, now_ms};
use crate::process::Cpu;
use crate::program::Service;
use crate::report::{Report, Row, median, progress};
use crate::waiting::wait_until_within;
use crate::world::{ORGANIZATION, World, subscription};

const ROLES: &str = "api,watch,dispatch";
const WARM_UP: usize = 1_000;
const SMALL: usize = 3_000;
pub(super) const USUAL: usize = 10_000;
/// Bursts of the smaller sizes in a row; the median counts.
const ROUNDS: usize = 3;
const GLANCE: Duration = Duration::from_millis(20);
const PATIENCE: Duration = Duration::from_secs(600);
/// What makes a webhook's body 2 kB long.
const REST: &str = "The rest of this post is the same in all of them.";

/// The program with a campaign that is told of every job.
#[derive(Debug)]
pub(super) struct Bursts<'s> {
    /// The first field, so that it ends before what it uses.
    service: Service,
    pub(super) world: World<'s>,
    posts: Posts,
    receiver: Receiver,
    /// Jobs so far.
    published: usize,
}

/// How a burst was handled.
#[derive(Debug, Clone, Copy)]
pub(super) struct Burst {
    /// Jobs a second, from their posting to the record of the last one's delivery.
    pub(super) rate: f64,
    /// Microseconds a job.
    cpu: Cpu,
}

impl Burst {
    fn whole_cpu(self) -> f64 {
        self.cpu.server.unwrap_or(f64::NAN) + self.cpu.database.unwrap_or(0.0)
    }

    /// The median of each figure.
    fn median_of(bursts: &[Self]) -> Self {
        let of = |figure: fn(&Self) -> Option<f64>| {
            let figures: Option<Vec<f64>> = bursts.iter().map(figure).collect();
            figures.map(median)
        };
        Self {
            rate: of(|burst| Some(burst.rate)).unwrap_or(f64::NAN),
            cpu: Cpu {
                server: of(|burst| burst.cpu.server),
                database: of(|burst| burst.cpu.database),
            },
        }
    }
}

impl<'s> Bursts<'s> {
    pub(super) fn begin(world: World<'s>) -> Result<Self> {
        let receiver = Receiver::start()?;
        world
            .installation
            .apply(&json!({"organizations": [organization(&receiver)]}))?;
        let mut bursts = Self {
            service: world.installation.serve(ROLES)?,
            world,
            posts: Posts::new(97),
            receiver,
            published: 0,
        };
        bursts.burst(WARM_UP)?;
        Ok(bursts)
    }

    /// Posts this many jobs at once and waits for the record of their deliveries.
    pub(super) fn burst(&mut self, jobs: usize) -> Result<Burst> {
        let mut posts = self.posts.some(jobs);
        for post in &mut posts {
            let described = format!("{} {REST}", post["description"].as_str().unwrap_or_default());
            post["description"] = described.into();
        }
        let cpu = || Cpu::of(Some(self.service.pid()), self.world.database.server_pid());
        let before = cpu();
        let (started, began_at) = (Instant::now(), now_ms());
        self.world.marketplace.publish(posts)?;
        self.published += jobs;
        let published = self.published;
        wait_until_within(PATIENCE, "all webhooks have arrived", GLANCE, || {
            Ok(self.receiver.count() >= published)
        })?;
        // Of this burst alone: the look costs the same however many came before.
        let recorded = format!(
            "SELECT count(*) FROM activities WHERE at >= {began_at} AND kind = 'delivery' AND outcome = 'delivered'"
        );
        wait_until_within(PATIENCE, "all deliveries are recorded", GLANCE, || {
            Ok(usize::try_from(self.world.database.number(&recorded)?)? >= jobs)
        })?;
        let seconds = started.elapsed().as_secs_f64();
        let cpu = cpu().each_since(before, jobs as f64 / 1e6);
        ensure!(self.receiver.count() == published, "a webhook came twice");
        let burst = Burst {
            rate: jobs as f64 / seconds,
            cpu,
        };
        progress(&format!("{jobs} jobs: {burst:?}"));
        Ok(burst)
    }

    /// Bursts one after the other.
    fn several(&mut self, jobs: usize) -> Result<Vec<Burst>> {
        (0..ROUNDS).map(|_| self.burst(jobs)).collect()
    }

    /// Measures bursts of all sizes; on SQLite the usual one, without goals.
    pub(super) fn measure(&mut self, largest: usize, report: &mut Report) -> Result<()> {
        if matches!(self.world.database, Database::Sqlite(_)) {
            let usual = Burst::median_of(&self.several(USUAL)?);
            report.add(self.row(USUAL, usual));
            return Ok(());
        }
        let server = self.world.database.server_pid();
        ensure!(
            server.is_some(),
            "the CPU of a server that others started is unknown"
        );
        // The small ones before and after the large one: the machine's pace changes, and the large one takes long.
        let mut small = self.several(SMALL)?;
        let usual = Burst::median_of(&self.several(USUAL)?);
        let large = self.burst(largest)?;
        small.extend(self.several(SMALL)?);
        let small = Burst::median_of(&small);
        report.add(self.row(SMALL, small));
        report.add(self.row(USUAL, usual).at_most(600.0));
        let name = self
            .world
            .name(&format!("bursts of {USUAL}: ingested and delivered"));
        report.add(Row::new(name, usual.rate, "jobs a second").at_least(2_000.0));
        report.add(self.row(largest, large));
        let name = self
            .world
            .name(&format!("CPU of a burst of {largest} to one of {SMALL}"));
        report.add(Row::new(name, large.whole_cpu() / small.whole_cpu(), "times").at_most(1.1));
        floor::measure(&self.receiver, report)
    }

    fn row(&self, jobs: usize, burst: Burst) -> Row {
        let name = self.world.name(&format!("bursts of {jobs}: CPU of a job"));
        Row::new(name, burst.whole_cpu(), "µs")
            .with("service µs", burst.cpu.server)
            .with("PostgreSQL µs", burst.cpu.database)
            .with("jobs a second", burst.rate)
    }
}

fn organization(receiver: &Receiver) -> Value {
    let url = format!("http://{}/0", receiver.address);
    json!({
        "id": ORGANIZATION, "name": "Benchmark", "subscription": subscription(),
        "webhooks": [{"id": "endpoint", "url": url, "events": ["job.new"], "active": true}],
        "campaigns": [{
            "id": "campaign", "name": "Campaign", "mode": "external", "state": "active",
            "filters": [{"id": "filter", "name": "All"}],
        }],
    })
}
