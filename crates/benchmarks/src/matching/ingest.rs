//! Ingesting a backlog of the feed against 100,000 saved filters: read, matched, stored, leads and deliveries queued.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::metrics::{Metrics, STORED_JOBS};
use super::posts::Posts;
use super::saved_filters::{self, COUNT};
use crate::bare_actix::{BareActix, BareActixProcess};
use crate::database::Database;
use crate::process::{self, Cpu};
use crate::program::Service;
use crate::report::{Report, Row, progress};
use crate::waiting::wait_until;
use crate::world::World;

/// All roles that handle jobs; no bids are submitted here.
const ROLES: &str = "api,watch,dispatch";
/// Jobs that are published at once.
const BACKLOG: usize = 10_000;
const GLANCE: Duration = Duration::from_millis(10);
/// One for each delivery that has been received.
const DELIVERIES: &str = "bidloop_posting_to_delivery_seconds_count";

/// The program with all the filters.
#[derive(Debug)]
pub(crate) struct Ingesting<'s> {
    /// The first field, so that it ends before what it uses.
    service: Service,
    pub(crate) world: World<'s>,
    pub(crate) posts: Posts,
    /// Receives the webhooks, unless someone else does.
    _receiver: Option<BareActixProcess>,
}

/// How a backlog was read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Drained {
    /// Jobs a second, from the first stored page to the last.
    pub(super) rate: f64,
    matches_a_job: f64,
    /// The longest delay behind the feed, in seconds.
    behind: f64,
    delivered_a_second: f64,
    /// Seconds a job.
    cpu: Cpu,
}

impl<'s> Ingesting<'s> {
    /// Provisions all filters and waits until the program has loaded them. Reports how long that takes.
    pub(super) fn begin(world: World<'s>, report: &mut Report) -> Result<Self> {
        let receiver = BareActix { bytes: 0 }.start()?;
        let ingesting = Self::telling(receiver.address, world, report)?;
        Ok(Self {
            _receiver: Some(receiver),
            ..ingesting
        })
    }

    /// As [`begin`](Self::begin), with the webhooks sent to this receiver.
    pub(crate) fn telling(receiver: SocketAddr, world: World<'s>, report: &mut Report) -> Result<Self> {
        let documents = saved_filters::documents(receiver);
        progress(&format!("applying {COUNT} filters"));
        let started = Instant::now();
        for document in documents {
            world.installation.apply(&document)?;
        }
        let applied = started.elapsed();
        let stored = world.database.number("SELECT count(*) FROM filters")?;
        ensure!(
            usize::try_from(stored)? == COUNT + 1,
            "{stored} filters are stored"
        );
        let service = world.installation.serve(ROLES)?;
        let mut posts = Posts::new(90);
        let loaded = first_job(&world, &service, posts.some(1))?;
        let name = world.name("100,000 filters: first job stored");
        report.add(
            Row::new(name, loaded.as_secs_f64(), "s after it is posted")
                .with("ready after s", service.ready_after.as_secs_f64())
                .with("bidloop apply s", applied.as_secs_f64()),
        );
        Ok(Self {
            service,
            world,
            posts,
            _receiver: None,
        })
    }

    /// Publishes jobs at once and measures how they are stored.
    pub(super) fn drain(&self, posts: Vec<Value>) -> Result<Drained> {
        let jobs = posts.len() as f64;
        let mut metrics = Metrics::of(&self.service)?;
        let before = metrics.read()?;
        let stored_before = before.value(STORED_JOBS);
        let mut first_page = None;
        let mut behind: f64 = 0.0;
        let started = Instant::now();
        self.world.marketplace.publish(posts)?;
        let cpu = self.cpu();
        wait_until("the backlog is stored", GLANCE, || {
            let reading = metrics.read()?;
            behind = behind.max(reading.value("bidloop_feed_behind_seconds"));
            let stored = reading.value(STORED_JOBS);
            if stored > stored_before && first_page.is_none() {
                first_page = Some((Instant::now(), stored));
            }
            Ok(stored >= stored_before + jobs)
        })?;
        let done = Instant::now();
        let cpu = self.cpu().each_since(cpu, jobs);
        let after = metrics.read()?;
        let increase = |name: &str| after.value(name) - before.value(name);
        let (first_at, first_stored) = first_page.context("no page was stored")?;
        Ok(Drained {
            rate: (stored_before + jobs - first_stored) / (done - first_at).as_secs_f64(),
            matches_a_job: increase("bidloop_matches_total") / jobs,
            behind,
            delivered_a_second: increase(DELIVERIES) / (done - started).as_secs_f64(),
            cpu,
        })
    }

    /// The CPU seconds of the program and of the database server.
    pub(crate) fn cpu(&self) -> Cpu {
        Cpu::of(Some(self.service.pid()), self.world.database.server_pid())
    }

    /// Measures one long backlog.
    pub(super) fn measure(&mut self, report: &mut Report) -> Result<()> {
        progress("ingesting a backlog");
        let posts = self.posts.some(BACKLOG);
        let drained = self.drain(posts)?;
        let goal = match self.world.database {
            Database::Sqlite(_) => 200.0,
            Database::Postgres(_) => 500.0,
        };
        let milliseconds = |seconds: f64| seconds * 1000.0;
        let name = self.world.name("ingesting 10,000 jobs against 100,000 filters");
        report.add(
            Row::new(name, drained.rate, "jobs a second")
                .at_least(goal)
                .with("matching campaigns a job", drained.matches_a_job)
                .with("deliveries a second meanwhile", drained.delivered_a_second)
                .with("behind the feed s", drained.behind)
                .with("CPU ms a job", drained.cpu.server.map(milliseconds))
                .with("PostgreSQL's", drained.cpu.database.map(milliseconds))
                .with("most memory MB", process::peak_megabytes(self.service.pid())),
        );
        Ok(())
    }
}

/// From posting a job to storing it. The program matches it when all filters are loaded.
fn first_job(world: &World<'_>, service: &Service, post: Vec<Value>) -> Result<Duration> {
    let mut metrics = Metrics::of(service)?;
    let started = Instant::now();
    world.marketplace.publish(post)?;
    wait_until("the first job is stored", GLANCE, || {
        Ok(metrics.stored_jobs()? > 0.0)
    })?;
    Ok(started.elapsed())
}
