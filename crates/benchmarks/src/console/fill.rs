//! A campaign with many leads, and a long Activity record: jobs and matches are stored by the program's own stores, the
//! rest by SQL.

use std::fmt::Write as _;

use anyhow::{Context as _, Result, bail};
use bidloop_domain::matching::{JobSignature, PreparedJob};
use bidloop_domain::model::{
    BiddingConfig, CampaignId, CampaignMode, CampaignState, FilterId, JobId, JobPost, LeadId, OrganizationId,
    ProposalTemplate, Subscription, SubscriptionStatus, Timestamp,
};
use bidloop_domain::port::{
    CampaignRecord, CommitProvisioning, FeedCursor, FilterRecord, MatchedJob, MatchedPage,
    ProvisioningChange, RecordPage,
};
use bidloop_persistence::Database;
use serde_json::json;

use crate::database::Database as Raw;
use crate::matching::posts::{now_ms, served};
use crate::matching::workload::Jobs;
use crate::world::{ORGANIZATION, PERIOD_START};

/// The campaign.
pub(super) const CAMPAIGN: &str = "campaign";
/// The keys that made requests.
pub(super) const KEYS: [&str; 3] = ["key_0", "key_1", "key_2"];
/// Jobs of a page of the feed.
const PAGE: usize = 1_000;
/// Rows that one statement stores.
const ROWS_AT_ONCE: usize = 2_000;
const YEAR_MS: i64 = 365 * 24 * 60 * 60 * 1000;

/// How many rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    pub(super) leads: u32,
    pub(super) activities: u32,
}

/// Stores everything.
pub(super) async fn fill(database: &Database, raw: &Raw<'_>, sizes: Sizes) -> Result<()> {
    let (organization, campaign) = (OrganizationId::parse(ORGANIZATION)?, CampaignId::parse(CAMPAIGN)?);
    provision(database, &organization, &campaign).await?;
    let jobs = store_jobs(database, &organization, &campaign, sizes.leads).await?;
    store_leads(raw, &organization, &campaign, &jobs)?;
    raw.execute(&activities(raw, sizes.activities))?;
    match raw {
        Raw::Postgres(_) => raw.execute("VACUUM ANALYZE"),
        // As the program's connections do when they have been open for a while.
        Raw::Sqlite(_) => Ok(()),
    }
}

async fn provision(database: &Database, organization: &OrganizationId, campaign: &CampaignId) -> Result<()> {
    let provisioning = database.provisioning();
    let snapshot = provisioning
        .snapshot(std::slice::from_ref(organization), &[])
        .await?;
    let filter = FilterRecord {
        id: FilterId::parse("filter")?,
        name: "Everything".to_owned(),
        body: json!({"hourlyRate": {"min": 1}, "client": {"paymentVerified": true}, "whenUnknown": "match"}),
    };
    let record = CampaignRecord {
        id: campaign.clone(),
        name: "Campaign".to_owned(),
        mode: CampaignMode::External,
        state: CampaignState::Paused,
        account_id: None,
        bidding_config: BiddingConfig::default(),
        proposal: ProposalTemplate::default(),
        attachments: Vec::new(),
        filters: Vec::new(),
    };
    let subscription = Subscription {
        status: SubscriptionStatus::Active,
        collection_paused: false,
        period_start: Timestamp::from_seconds(PERIOD_START),
        period_end: Timestamp::from_seconds(PERIOD_START + 86_400 * 3_650),
        proposal_limit: 1_000_000,
    };
    let changes = [
        ProvisioningChange::PutOrganization {
            id: organization.clone(),
            name: "Benchmark".to_owned(),
            subscription,
        },
        ProvisioningChange::PutCampaign(organization.clone(), Box::new(record)),
        ProvisioningChange::PutFilter(organization.clone(), campaign.clone(), filter),
    ];
    let now = Timestamp::from_millis(now_ms());
    match provisioning.commit(snapshot.revision, &changes, now).await? {
        CommitProvisioning::Committed => Ok(()),
        other => bail!("not provisioned: {other:?}"),
    }
}

/// Stores jobs, all of which the campaign lists. Returns their ids, oldest first.
async fn store_jobs(
    database: &Database,
    organization: &OrganizationId,
    campaign: &CampaignId,
    count: u32,
) -> Result<Vec<String>> {
    let store = database.jobs();
    let start = now_ms() - YEAR_MS;
    let apart = YEAR_MS / i64::from(count.max(1));
    let mut ids = Vec::new();
    let mut jobs = Jobs::new(7).take(count as usize).enumerate().peekable();
    while jobs.peek().is_some() {
        let mut page = Vec::with_capacity(PAGE);
        for (number, job) in jobs.by_ref().take(PAGE) {
            let id = format!("18{number:016}");
            let posted_at = start + apart * i64::try_from(number)?;
            let json = served(&job, &id, posted_at).to_string();
            let post = JobPost::parse(&json)?;
            page.push(MatchedJob {
                id: JobId::parse(&id)?,
                posted_at: Timestamp::from_millis(posted_at),
                signature: JobSignature::of(&PreparedJob::new(&post.facts())),
                json,
                campaigns: vec![(organization.clone(), campaign.clone())],
            });
            ids.push(id);
        }
        let at = page.last().context("an empty page")?.posted_at;
        let recorded = store
            .record_page(&MatchedPage {
                read_from: store.feed_position().await?,
                cursor: Some(FeedCursor(ids.len().to_string())),
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
    Ok(ids)
}

/// Makes every job a lead: half of them new, a quarter rejected, the others with a bid.
fn store_leads(
    raw: &Raw<'_>,
    organization: &OrganizationId,
    campaign: &CampaignId,
    jobs: &[String],
) -> Result<()> {
    let no = no(raw);
    for (number, some) in jobs.chunks(ROWS_AT_ONCE).enumerate() {
        let (mut leads, mut bids) = (Vec::new(), Vec::new());
        for (place, job) in some.iter().enumerate() {
            let place = number * ROWS_AT_ONCE + place;
            let id = LeadId::derive(organization, campaign, &JobId::parse(job)?);
            let status = match place % 20 {
                0..10 => "new",
                10..15 => "rejected",
                15..18 => "submitted",
                18 => "skipped",
                _ => "failed",
            };
            let at = PERIOD_START * 1000 + i64::try_from(place)?;
            let has_bid = place % 20 >= 15;
            let bid = if has_bid {
                format!("'{}'", uuid("b1d", place))
            } else {
                "NULL".to_owned()
            };
            leads.push(format!(
                "('{ORGANIZATION}', '{id}', '{CAMPAIGN}', '{job}', {at}, '{status}', '{{}}', {bid})"
            ));
            if has_bid {
                bids.push(format!(
                    "('{ORGANIZATION}', '{}', '{CAMPAIGN}', '{id}', '{job}', 'account', 'Hello', '[]', '{{}}', '[]', \
                     {at}, 0, {at}, '{status}', {at}, 1, {no}, 2, 18, {at}, '{{\"type\":\"hourly\",\"amount\":54}}')",
                    uuid("b1d", place)
                ));
            }
        }
        let mut statement = String::new();
        write!(
            statement,
            "INSERT INTO leads (organization_id, id, campaign_id, job_id, created_at, status, bidding_config, bid_id) \
             VALUES {}; INSERT INTO bids (organization_id, id, campaign_id, lead_id, job_id, account_id, cover_letter, \
             answers, config, attachments, queued_at, period_start, deadline, status, next_attempt_at, attempts, \
             answer_outstanding, boost_connects, connects_spent, ended_at, terms) VALUES {}",
            leads.join(", "),
            bids.join(", ")
        )?;
        raw.execute(&statement)?;
    }
    raw.execute(
        "UPDATE matches SET lead_status = l.status FROM leads AS l WHERE l.status <> 'new' \
         AND matches.job_id = l.job_id AND matches.campaign_id = l.campaign_id \
         AND matches.organization_id = l.organization_id",
    )
}

/// Entries of all kinds over a year: mostly deliveries of one campaign. The first key bids and never appears among
/// submissions.
fn activities(raw: &Raw<'_>, count: u32) -> String {
    let start = now_ms() - YEAR_MS;
    let apart = YEAR_MS / i64::from(count.max(1));
    let id = match raw {
        Raw::Sqlite(_) => "'ac710000-0000-4000-8000-' || substr('000000000000' || i, -12)",
        Raw::Postgres(_) => "'ac710000-0000-4000-8000-' || lpad(i::text, 12, '0')",
    };
    let details = "{\"deliveryId\":\"0\",\"event\":\"job.new\",\"endpointId\":\"wh\",\"url\":\"https://hooks.test/jobs\",\
                   \"responseStatus\":200,\"durationMs\":41,\"responseBody\":\"ok\",\"reason\":null}";
    format!(
        "WITH RECURSIVE n(i) AS (SELECT CAST(1 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i < {count}) \
         INSERT INTO activities (organization_id, id, at, campaign_id, lead_id, kind, actor_kind, actor_id, actor_name, \
         outcome, http_status, dry_run, message, details) SELECT '{ORGANIZATION}', {id}, {start} + i * {apart}, \
         CASE WHEN i % 10 < 8 THEN '{CAMPAIGN}' ELSE 'other' END, 'lead_' || (i / 5), \
         CASE WHEN i % 100 < 70 THEN 'delivery' WHEN i % 100 < 85 THEN 'bid' WHEN i % 100 < 98 THEN 'submission' \
         WHEN i % 100 < 99 THEN 'rejection' ELSE 'upload' END, \
         CASE WHEN i % 100 BETWEEN 70 AND 84 OR i % 100 >= 98 THEN 'api_key' ELSE 'service' END, \
         CASE WHEN i % 100 BETWEEN 70 AND 84 OR i % 100 >= 98 THEN 'key_' || (i / 100 % 3) END, \
         NULL, \
         CASE WHEN i % 100 < 69 THEN 'delivered' WHEN i % 100 < 70 THEN 'failed' WHEN i % 100 < 83 THEN 'accepted' \
         WHEN i % 100 < 85 THEN 'refused' WHEN i % 100 < 95 THEN 'submitted' WHEN i % 100 < 97 THEN 'skipped' \
         WHEN i % 100 < 98 THEN 'failed' ELSE 'accepted' END, \
         200, {no}, 'It happened as it should have.', '{details}' FROM n",
        no = no(raw),
    )
}

fn no(raw: &Raw<'_>) -> &'static str {
    match raw {
        Raw::Sqlite(_) => "0",
        Raw::Postgres(_) => "false",
    }
}

fn uuid(kind: &str, number: usize) -> String {
    format!("{kind}00000-0000-4000-8000-{number:012}")
}
