//! Deliveries through the ports, in this process, with a sender that does nothing: stored with the leads that they tell of,
//! marked, ended with their Activity entries. As in the program, they are sent while others are stored, and the loop is that
//! of its worker.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use async_trait::async_trait;
use bidloop_domain::matching::{JobSignature, PreparedJob};
use bidloop_domain::model::{CampaignId, JobPost, Links, OrganizationId, Timestamp};
use bidloop_domain::port::{
    Clock, FeedCursor, LeaseOwner, MatchedJob, MatchedPage, OutgoingWebhook, RecordPage, StatisticsStore,
    StoreError, WebhookAttempt, WebhookFailure, WebhookSender,
};
use bidloop_domain::use_case::{DeliverWebhooks, InFlight, MAX_IN_FLIGHT};
use bidloop_persistence::{Database, DatabaseSettings};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::worked_off::WorkedOff;
use crate::matching::posts::{Posts, now_ms};
use crate::process::Cpu;
use crate::world::{World, subscription};

/// Organizations, each with a campaign.
const ORGANIZATIONS: usize = 50;
/// Endpoints of each: each of its leads is told to all of them.
const ENDPOINTS: usize = 20;
/// Deliveries of a job, which is a lead in all campaigns.
const DELIVERIES_A_JOB: usize = ORGANIZATIONS * ENDPOINTS;
/// Jobs of a page.
const PAGE: usize = 10;
/// The worker's pause if there was nothing to send.
const PAUSE: Duration = Duration::from_millis(500);
/// How often the worker of statistics gathers what was counted.
const BETWEEN_SUMS: Duration = Duration::from_secs(10);
/// How long nothing may happen.
const PATIENCE: Duration = Duration::from_secs(60);

/// Answers success, without a connection.
#[derive(Debug)]
struct NoSender;

#[async_trait]
impl WebhookSender for NoSender {
    async fn send(&self, _webhook: OutgoingWebhook) -> WebhookAttempt {
        WebhookAttempt {
            failure: None,
            response_status: Some(200),
            duration: Duration::ZERO,
            response_body: String::new(),
        }
    }

    fn check_target(&self, _url: &str) -> Result<(), WebhookFailure> {
        Ok(())
    }
}

/// The machine's clock.
#[derive(Debug)]
struct MachineClock(Instant);

impl Clock for MachineClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(now_ms())
    }

    fn monotonic(&self) -> Duration {
        self.0.elapsed()
    }
}

/// The use case as the program wires it, but for the sender.
fn deliver_webhooks(database: &Database) -> DeliverWebhooks {
    DeliverWebhooks {
        store: database.deliveries(),
        sender: Arc::new(NoSender),
        clock: Arc::new(MachineClock(Instant::now())),
        links: Links::new("http://127.0.0.1", Some("http://127.0.0.1")),
        owner: LeaseOwner::new("benchmark"),
        max_in_flight: MAX_IN_FLIGHT,
        in_flight: InFlight::default(),
    }
}

/// Provisions the organizations, then stores this many deliveries and works them off.
pub(super) fn work_off(world: &World<'_>, count: usize) -> Result<WorkedOff> {
    let organizations: Vec<Value> = (0..ORGANIZATIONS).map(organization).collect();
    world
        .installation
        .apply(&json!({"organizations": organizations}))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let cpu = || Cpu::of(Some(std::process::id()), world.database.server_pid());
    runtime.block_on(async {
        let database = Database::open(&DatabaseSettings::new(world.database.url()))?;
        let pages = pages(count)?;
        let before = cpu();
        let started = Instant::now();
        let wake = Arc::new(Notify::new());
        let webhooks = Arc::new(deliver_webhooks(&database));
        let enqueue = async {
            enqueue(&database, pages, &wake).await?;
            Ok(started.elapsed().as_secs_f64())
        };
        let statistics = database.statistics();
        let (enqueue, ()) = tokio::try_join!(enqueue, deliver(&webhooks, &statistics, &wake, count))?;
        Ok(WorkedOff {
            count,
            enqueue,
            work: started.elapsed().as_secs_f64() - enqueue,
            cpu: cpu().each_since(before, count as f64 / 1e6),
        })
    })
}

fn organization(number: usize) -> Value {
    let endpoint = |endpoint: usize| {
        json!({
            "id": format!("endpoint_{endpoint}"), "url": format!("https://receiver.example/{number}/{endpoint}"),
            "events": ["job.new"], "active": true,
        })
    };
    json!({
        "id": organization_id(number), "name": "Benchmark", "subscription": subscription(),
        "webhooks": (0..ENDPOINTS).map(endpoint).collect::<Vec<_>>(),
        "campaigns": [{
            "id": "campaign", "name": "Campaign", "mode": "external", "state": "active",
            "filters": [{"id": "filter", "name": "A filter", "keywords": "anything"}],
        }],
    })
}

fn organization_id(number: usize) -> String {
    format!("organization_{number}")
}

/// Jobs that are leads in all campaigns, page by page.
fn pages(count: usize) -> Result<Vec<Vec<MatchedJob>>> {
    ensure!(
        count.is_multiple_of(DELIVERIES_A_JOB),
        "the number of deliveries is no multiple of {DELIVERIES_A_JOB}"
    );
    let campaign = CampaignId::parse("campaign")?;
    let mut campaigns = Vec::with_capacity(ORGANIZATIONS);
    for number in 0..ORGANIZATIONS {
        let organization = OrganizationId::parse(&organization_id(number))?;
        campaigns.push((organization, campaign.clone()));
    }
    let mut jobs = Vec::new();
    for post in Posts::new(96).some(count / DELIVERIES_A_JOB) {
        let json = post.to_string();
        let post = JobPost::parse(&json)?;
        jobs.push(MatchedJob {
            signature: JobSignature::of(&PreparedJob::new(&post.facts())),
            posted_at: post.posted_at,
            campaigns: campaigns.clone(),
            id: post.id,
            json,
        });
    }
    Ok(jobs.chunks(PAGE).map(<[MatchedJob]>::to_vec).collect())
}

/// Stores the pages, and wakes the worker after each.
async fn enqueue(database: &Database, pages: Vec<Vec<MatchedJob>>, wake: &Notify) -> Result<()> {
    let store = database.jobs();
    for (number, jobs) in pages.into_iter().enumerate() {
        let expected = (jobs.len() * DELIVERIES_A_JOB) as u64;
        let page = MatchedPage {
            read_from: store.feed_position().await?,
            cursor: Some(FeedCursor(number.to_string())),
            revision: store.revision().await?,
            at: Timestamp::from_millis(now_ms()),
            act_within: None,
            jobs,
        };
        let recorded = store.record_page(&page).await?;
        ensure!(
            matches!(recorded, RecordPage::Recorded(counts) if counts.deliveries == expected),
            "{recorded:?}"
        );
        wake.notify_one();
    }
    Ok(())
}

/// Works off this many deliveries.
async fn deliver(
    webhooks: &Arc<DeliverWebhooks>,
    statistics: &Arc<dyn StatisticsStore>,
    wake: &Arc<Notify>,
    count: usize,
) -> Result<()> {
    let mut tasks = JoinSet::new();
    let mut counting: JoinSet<Result<(), StoreError>> = JoinSet::new();
    let mut recorded = 0;
    let mut last = Instant::now();
    let mut added_up = Instant::now();
    while recorded < count {
        if added_up.elapsed() >= BETWEEN_SUMS {
            added_up = Instant::now();
            let statistics = Arc::clone(statistics);
            counting.spawn(async move { statistics.add_all_up().await });
        }
        let claimed = webhooks.claim().await?;
        let found_work = !claimed.is_empty();
        for delivery in claimed {
            let (webhooks, wake) = (Arc::clone(webhooks), Arc::clone(wake));
            tasks.spawn(async move {
                let sent = webhooks.send(delivery).await;
                if sent.makes_room {
                    wake.notify_one();
                }
                webhooks.record(&sent).await
            });
        }
        while let Some(ended) = tasks.try_join_next() {
            ensure!(ended??, "a delivery was recorded too late");
            recorded += 1;
            last = Instant::now();
        }
        if !found_work {
            // The permit of a task that has ended is kept until here.
            let _ = tokio::time::timeout(PAUSE, wake.notified()).await;
            if recorded + tasks.len() == count {
                while let Some(ended) = tasks.join_next().await {
                    ensure!(ended??, "a delivery was recorded too late");
                    recorded += 1;
                }
            }
        }
        ensure!(
            last.elapsed() < PATIENCE,
            "{} deliveries are left",
            count - recorded
        );
    }
    while let Some(counted) = counting.join_next().await {
        counted??;
    }
    Ok(())
}
