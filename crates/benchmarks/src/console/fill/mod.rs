//! An organization that has been at work for ten months: jobs and matches are stored by the program's own stores, the
//! rest by SQL.

mod leads;
mod record;
mod statistics;

use anyhow::{Context as _, Result, bail};
use bidloop_domain::matching::{JobSignature, PreparedJob};
use bidloop_domain::model::{CampaignId, JobId, JobPost, OrganizationId, Timestamp};
use bidloop_domain::port::{FeedCursor, MatchedJob, MatchedPage, RecordPage};
use bidloop_persistence::{Database, DatabaseSettings};
use bidloop_simulator::Generator;
use serde_json::{Value, json};

use crate::database::Database as Raw;
use crate::http::KEY;
use crate::matching::posts::now_ms;
use crate::program::Installation;
use crate::world::{ORGANIZATION, PERIOD_END, PERIOD_START, subscription};

/// The campaign that lists every job, and makes a lead of each.
pub(super) const CAMPAIGN: &str = "campaign";
/// Others, each of which lists a tenth of the jobs and makes leads of half of these.
pub(super) const OTHERS: [&str; 4] = ["camp_1", "camp_2", "camp_3", "camp_4"];
/// Keys: the first bids in [`CAMPAIGN`] alone, the second in the others, the third nowhere.
pub(super) const KEYS: [&str; 3] = ["key_0", "key_1", "key_2"];
/// Webhook endpoints: two of the organization and one of each campaign.
pub(super) const ENDPOINTS: usize = 2 + 1 + OTHERS.len();
/// Who signs in.
pub(super) const EMAIL: &str = "ops@benchmark.test";
pub(super) const PASSWORD: &str = "a password of the benchmark";

/// Jobs of a page of the feed.
const PAGE: usize = 1_000;
/// Rows that one statement stores.
const ROWS_AT_ONCE: usize = 2_000;
const DAY_MS: i64 = 24 * 60 * 60 * 1000;
/// How long the organization has been at work.
const SPAN_MS: i64 = 300 * DAY_MS;

/// How many rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    pub(super) leads: u32,
    pub(super) activities: u32,
}

/// A stored job.
struct Job {
    id: String,
    posted_at: i64,
}

/// Stores everything.
pub(super) fn fill(installation: &Installation, url: &str, raw: &Raw<'_>, sizes: Sizes) -> Result<()> {
    installation.apply(&document())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let jobs = runtime.block_on(async {
        let database = Database::open(&DatabaseSettings::new(url.to_owned()))?;
        store_jobs(&database, sizes.leads).await
    })?;
    leads::store(raw, &jobs)?;
    record::store(raw, sizes.activities)?;
    statistics::store(raw)?;
    // What the first bid counted.
    raw.execute(&format!(
        "INSERT INTO quota_usage (organization_id, period_start, period_end, used) SELECT '{ORGANIZATION}', {}, {}, count(*) \
         FROM bids WHERE status IN ('queued', 'submitted')",
        PERIOD_START * 1000,
        PERIOD_END * 1000
    ))?;
    // The lists are as the filters have them.
    raw.execute("UPDATE campaigns SET matched_revision = revision")?;
    match raw {
        Raw::Postgres(_) => raw.execute("VACUUM ANALYZE"),
        // Nothing but the program writes to it, and that leaves it without statistics.
        Raw::Sqlite(_) => Ok(()),
    }
}

fn document() -> Value {
    let endpoint = |id: String, events: &[&str]| json!({"id": id, "url": format!("https://hooks.benchmark.test/{id}"), "events": events});
    let mut campaigns = vec![json!({
        "id": CAMPAIGN, "name": "Everything", "mode": "external", "state": "paused", "bidderAccountId": "account",
        "filters": [
            {"id": "f_0", "name": "Rust", "keywords": "(rust OR golang) AND (backend OR service) AND -wordpress",
             "hourlyRate": {"min": 40}, "client": {"minRating": 4.5}},
            {"id": "f_1", "name": "Dashboards", "keywords": "dashboard OR \"data pipeline\" OR analy*", "paymentTypes": ["hourly"]},
            {"id": "f_2", "name": "All the rest", "keywords": "a OR the OR and OR to OR we", "hourlyRate": {"min": 1},
             "client": {"minRating": 1}, "whenUnknown": "match"},
        ],
        "webhooks": [endpoint("wh_2".to_owned(), &["job.new"])],
    })];
    campaigns.extend(OTHERS.iter().enumerate().map(|(number, id)| {
        json!({
            "id": id, "name": format!("Campaign {number}"), "mode": "external", "state": "paused", "bidderAccountId": "account",
            "filters": [{"id": format!("f_of_{id}"), "name": "Its filter", "keywords": "a OR the", "whenUnknown": "match"}],
            "webhooks": [endpoint(format!("wh_{}", number + 3), &["job.new"])],
        })
    }));
    let keys = KEYS.iter().enumerate().map(|(number, id)| match number {
        0 => json!({"id": id, "name": "Agent", "key": KEY}),
        _ => json!({"id": id, "name": format!("Key {number}")}),
    });
    json!({"organizations": [{
        "id": ORGANIZATION, "name": "Benchmark", "subscription": subscription(),
        "users": [{"email": EMAIL, "password": PASSWORD}],
        "apiKeys": keys.collect::<Vec<_>>(),
        "webhooks": [endpoint("wh_0".to_owned(), &["bid_complete"]), endpoint("wh_1".to_owned(), &["job.new", "bid_complete"])],
        "bidderAccounts": [{"id": "account", "name": "Account", "token": "token"}],
        "campaigns": campaigns,
    }]})
}

/// Stores jobs with their matches, oldest first.
async fn store_jobs(database: &Database, count: u32) -> Result<Vec<Job>> {
    let organization = OrganizationId::parse(ORGANIZATION)?;
    let main = CampaignId::parse(CAMPAIGN)?;
    let others = OTHERS.iter().map(|id| CampaignId::parse(id));
    let others: Vec<CampaignId> = others.collect::<Result<_, _>>()?;
    let store = database.jobs();
    let start = now_ms() - SPAN_MS;
    let apart = SPAN_MS / i64::from(count.max(1));
    let mut generator = Generator::new(20_260_910);
    let mut stored: Vec<Job> = Vec::new();
    while stored.len() < count as usize {
        let mut page = Vec::with_capacity(PAGE);
        for number in stored.len()..(stored.len() + PAGE).min(count as usize) {
            let posted_at = start + apart * i64::try_from(number)?;
            let json = generator.next(posted_at).to_string();
            let post = JobPost::parse(&json)?;
            let of = number.checked_rem(10).filter(|number| *number < others.len());
            let campaigns = std::iter::once(&main).chain(of.map(|of| &others[of]));
            page.push(MatchedJob {
                id: JobId::parse(post.id.as_str())?,
                posted_at: Timestamp::from_millis(posted_at),
                signature: JobSignature::of(&PreparedJob::new(&post.facts())),
                campaigns: campaigns
                    .map(|campaign| (organization.clone(), campaign.clone()))
                    .collect(),
                json,
            });
            stored.push(Job {
                id: post.id.as_str().to_owned(),
                posted_at,
            });
        }
        let at = page.last().context("an empty page")?.posted_at;
        let recorded = store
            .record_page(&MatchedPage {
                read_from: store.feed_position().await?,
                cursor: Some(FeedCursor(stored.len().to_string())),
                revision: store.revision().await?,
                at,
                act_within: None,
                jobs: page,
            })
            .await?;
        if !matches!(recorded, RecordPage::Recorded(_)) {
            bail!("a page was not recorded: {recorded:?}");
        }
    }
    Ok(stored)
}

fn no(raw: &Raw<'_>) -> &'static str {
    match raw {
        Raw::Sqlite(_) => "0",
        Raw::Postgres(_) => "false",
    }
}
