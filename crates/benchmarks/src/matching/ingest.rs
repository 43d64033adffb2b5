//! Ingesting a backlog of the feed against 100,000 saved filters: read, matched, stored, leads and deliveries queued.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::Value;

use super::database::Kind;
use super::metrics::Metrics;
use super::posts::Posts;
use super::receiver::Receiver;
use super::saved_filters::{self, COUNT};
use super::world::World;
use crate::postgres::PostgresServer;
use crate::process;
use crate::program::{Program, Service};
use crate::report::{Report, Row, progress};

/// Everything that has to do with jobs; nothing is bid on here.
const ROLES: &str = "api,watch,dispatch";
/// Jobs that are put up at once.
const BACKLOG: usize = 10_000;
const GLANCE: Duration = Duration::from_millis(10);
const PATIENCE: Duration = Duration::from_secs(180);
const NEW_JOBS: &str = "bidloop_feed_entries_total{outcome=\"new\"}";

/// The program at work on all the filters.
#[derive(Debug)]
pub(super) struct Ingesting<'s> {
    /// First, so that it has ended when what it runs on goes.
    service: Service,
    pub(super) world: World<'s>,
    pub(super) posts: Posts,
    receiver: Receiver,
    database_pid: Option<u32>,
}

/// How a backlog was read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Drained {
    /// Jobs a second, from the first stored page to the last.
    pub(super) rate: f64,
    matches_a_job: f64,
    /// The furthest behind the feed, in seconds.
    behind: f64,
    delivered_a_second: f64,
    /// Milliseconds a job.
    cpu: Option<f64>,
    database_cpu: Option<f64>,
}

impl<'s> Ingesting<'s> {
    /// Provisions all filters and waits until the program has them, telling how long that takes.
    pub(super) fn begin(
        program: &Program,
        server: Option<&'s PostgresServer>,
        report: &mut Report,
    ) -> Result<Self> {
        let world = World::new(program, server)?;
        let receiver = Receiver::open(world.marketplace.runtime())?;
        let documents = saved_filters::documents(receiver.address);
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
        let mut ingesting = Self {
            posts: Posts::new(90),
            database_pid: server.and_then(PostgresServer::pid),
            world,
            service,
            receiver,
        };
        let loaded = ingesting.first_job()?;
        let name = ingesting.world.name("100,000 filters: first job stored");
        report.add(
            Row::new(name, loaded.as_secs_f64(), "s after it is posted")
                .with("ready after s", Some(ingesting.service.ready_after.as_secs_f64()))
                .with("bidloop apply s", Some(applied.as_secs_f64())),
        );
        Ok(ingesting)
    }

    /// The filters are loaded when there is something to match.
    fn first_job(&mut self) -> Result<Duration> {
        let mut metrics = Metrics::of(&self.service)?;
        let posts = self.posts.some(1)?;
        let started = Instant::now();
        self.world.marketplace.publish(posts)?;
        while metrics.stored_jobs()? == 0 {
            ensure!(started.elapsed() < PATIENCE, "the first job is not stored");
            std::thread::sleep(GLANCE);
        }
        Ok(started.elapsed())
    }

    /// Puts up jobs at once and watches how they are stored.
    #[expect(clippy::cast_precision_loss, reason = "counts of jobs")]
    pub(super) fn drain(&self, posts: Vec<Value>) -> Result<Drained> {
        let jobs = posts.len();
        let mut metrics = Metrics::of(&self.service)?;
        let before = metrics.read()?;
        let all = before.count(NEW_JOBS) + jobs as u64;
        let mut last = before.count(NEW_JOBS);
        let mut first: Option<(Instant, u64)> = None;
        let mut behind: f64 = 0.0;
        let started = Instant::now();
        self.world.marketplace.publish(posts)?;
        let received = self.receiver.received();
        let cpu = self.cpu();
        loop {
            std::thread::sleep(GLANCE);
            let reading = metrics.read()?;
            let now = Instant::now();
            behind = behind.max(reading.value("bidloop_feed_behind_seconds"));
            let stored = reading.count(NEW_JOBS);
            if stored > last && first.is_none() {
                first = Some((now, stored));
            }
            last = stored;
            let Some((first_at, first_stored)) = first else {
                ensure!(started.elapsed() < PATIENCE, "no page is stored");
                continue;
            };
            if stored >= all {
                let matches = "bidloop_matches_total";
                let seconds = (now - started).as_secs_f64();
                let now_cpu = self.cpu();
                let a_job = |place: usize| Some((now_cpu[place]? - cpu[place]?) * 1000.0 / jobs as f64);
                return Ok(Drained {
                    rate: (stored - first_stored) as f64 / (now - first_at).as_secs_f64(),
                    matches_a_job: (reading.value(matches) - before.value(matches)) / jobs as f64,
                    behind,
                    delivered_a_second: (self.receiver.received() - received) as f64 / seconds,
                    cpu: a_job(0),
                    database_cpu: a_job(1),
                });
            }
            let waited = started.elapsed();
            ensure!(
                waited < PATIENCE,
                "{} of {jobs} jobs are not stored after {waited:?}",
                all - stored
            );
        }
    }

    /// CPU seconds of the program and of the database.
    fn cpu(&self) -> [Option<f64>; 2] {
        [
            process::cpu_seconds(self.service.pid()),
            self.database_pid.and_then(process::cpu_seconds_of_family),
        ]
    }

    /// One long backlog.
    pub(super) fn measure(&mut self, report: &mut Report) -> Result<()> {
        progress("ingesting a backlog");
        let posts = self.posts.some(BACKLOG)?;
        let drained = self.drain(posts)?;
        let memory = process::peak_bytes(self.service.pid());
        let goal = match self.world.database.kind() {
            Kind::Sqlite => 200.0,
            Kind::Postgres => 500.0,
        };
        let name = self.world.name("ingesting 10,000 jobs against 100,000 filters");
        #[expect(clippy::cast_precision_loss, reason = "bytes, shown rounded")]
        let megabytes = memory.map(|bytes| bytes as f64 / 1e6);
        report.add(
            Row::new(name, drained.rate, "jobs a second")
                .at_least(goal)
                .with("matching campaigns a job", Some(drained.matches_a_job))
                .with("deliveries a second meanwhile", Some(drained.delivered_a_second))
                .with("behind the feed s", Some(drained.behind))
                .with("CPU ms a job", drained.cpu)
                .with("PostgreSQL's", drained.database_cpu)
                .with("most memory MB", megabytes),
        );
        Ok(())
    }
}
