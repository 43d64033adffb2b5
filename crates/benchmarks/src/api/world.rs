//! What is measured on: one organization whose campaigns all match every job of a simulated marketplace, brought into
//! the database by the service itself, through its feed and its List operation.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use bidloop_simulator::Generator;
use serde_json::{Value, json};

use crate::http::{self, Connection, KEY};
use crate::marketplace::Marketplace;
use crate::program::{Installation, Service};

pub(super) const ORGANIZATION: &str = "organization";
/// The campaign that is listed.
pub(super) const LISTED: &str = "listed";
/// Jobs on the marketplace, each a match of every campaign.
pub(super) const JOBS: usize = 4000;
/// Campaigns to bid in over HTTP, and as many to bid in by SQL alone: each job is a lead of each.
pub(super) const POOLS: usize = 8;
/// What a campaign's id begins with: that of one to bid in over HTTP, and by SQL.
const OVER_HTTP: &str = "http_";
pub(super) const BY_SQL: &str = "sql_";

/// Start of the billing period, UNIX seconds. It is as long as any run could want.
pub(super) const PERIOD_START: i64 = 1_704_067_200;
const PERIOD_END: i64 = 4_102_444_800;

/// Each page of the list's default size.
const PAGE: usize = 100;
const PATIENCE: Duration = Duration::from_secs(300);

/// A letter of the usual length.
pub(super) const LETTER: &str = "\
Hello,\n\nyour post reads as if you had been let down before, so let me be plain about how I work. I would start \
with the part that everything else hangs on, show it to you running within three days, and only then go on. You \
would see each step in a repository of your own from the first hour, with notes on what was decided and why. I have \
built two systems of this kind that have been in daily use for years, and I still answer their owners' questions. \
Before we begin I have one question: who will look after it when I am done? If it is you, I would choose the plainer \
of the two ways you name, since it needs nobody to watch over it at night.\n\nKind regards";

/// A marketplace with all the jobs.
pub(super) fn marketplace() -> Result<Marketplace> {
    let marketplace = Marketplace::open()?;
    let mut generator = Generator::new(20_260_910);
    let first = 1_760_000_000_000;
    let posts = (0..JOBS).map(|number| generator.next(first + i64::try_from(number).unwrap_or(0) * 1000));
    marketplace.publish(posts.collect())?;
    Ok(marketplace)
}

/// Provisions the organization and fills its campaigns' lists; every match is a lead when this returns.
pub(super) fn fill(installation: &mut Installation, marketplace: &Marketplace) -> Result<()> {
    installation.apply(&document())?;
    installation.watch(marketplace.address());
    let service = installation.serve("api,watch")?;
    let mut connection = Connection::open(service.address)?;
    let since = Instant::now();
    for campaign in campaigns() {
        while total(&mut connection, &campaign)? < JOBS {
            ensure!(since.elapsed() < PATIENCE, "the feed is not read");
            std::thread::sleep(Duration::from_millis(50));
        }
        for offset in (0..JOBS).step_by(PAGE) {
            let answer = connection.ask(&http::get(&page_path(&campaign, offset)))?;
            ensure!(answer.status == 200, "a page was answered {}", answer.status);
        }
    }
    service.stop()
}

/// The path of a page of a campaign's list.
pub(super) fn page_path(campaign: &str, offset: usize) -> String {
    format!("/v1/campaigns/{campaign}/leads?limit={PAGE}&offset={offset}")
}

/// The listed campaign's newest leads.
pub(super) fn newest_leads(service: &Service) -> Result<Vec<String>> {
    let mut connection = Connection::open(service.address)?;
    let page = connection.ask(&http::get(&page_path(LISTED, 0)))?.json()?;
    leads(&page)?
        .iter()
        .map(|lead| text(lead, "id").map(str::to_owned))
        .collect()
}

/// A bid on every lead that is to be bid on over HTTP.
pub(super) fn bids(service: &Service) -> Result<Vec<Vec<u8>>> {
    let mut connection = Connection::open(service.address)?;
    let mut bids = Vec::new();
    for pool in 0..POOLS {
        let campaign = format!("{OVER_HTTP}{pool}");
        for offset in (0..JOBS).step_by(PAGE) {
            let page = connection
                .ask(&http::get(&page_path(&campaign, offset)))?
                .json()?;
            for lead in leads(&page)? {
                let path = format!("/v1/campaigns/{campaign}/leads/{}/bid", text(lead, "id")?);
                bids.push(http::post(&path, &bid_on(lead).to_string()));
            }
        }
    }
    Ok(bids)
}

/// Counts the bids that were accepted by SQL alone, lest nothing at all be measured.
pub(super) fn bids_by_sql() -> String {
    format!(
        "SELECT count(*) FROM leads JOIN bids ON bids.id = leads.bid_id \
         WHERE leads.status = 'queued' AND leads.campaign_id LIKE '{BY_SQL}%'"
    )
}

fn bid_on(lead: &Value) -> Value {
    let questions = lead["questions"].as_array().map_or(&[][..], Vec::as_slice);
    let answer = |question: &Value| json!({"question": question, "answer": "Yes, and I can show you where."});
    json!({
        "coverLetter": LETTER,
        "questionAnswerPairs": questions.iter().map(answer).collect::<Vec<_>>(),
    })
}

fn total(connection: &mut Connection, campaign: &str) -> Result<usize> {
    let path = format!("/v1/campaigns/{campaign}/leads?limit=1");
    let page = connection.ask(&http::get(&path))?.json()?;
    let total = page["total"].as_u64().context("no total")?;
    Ok(usize::try_from(total)?)
}

fn leads(page: &Value) -> Result<&Vec<Value>> {
    page["data"].as_array().context("a page without leads")
}

fn text<'v>(value: &'v Value, member: &str) -> Result<&'v str> {
    value[member]
        .as_str()
        .with_context(|| format!("a lead without {member}"))
}

fn campaigns() -> impl Iterator<Item = String> {
    let pools = |prefix: &'static str| (0..POOLS).map(move |pool| format!("{prefix}{pool}"));
    std::iter::once(LISTED.to_owned())
        .chain(pools(OVER_HTTP))
        .chain(pools(BY_SQL))
}

/// Paused campaigns do nothing by themselves, but list and take bids.
fn document() -> Value {
    let campaign = |id: String| {
        json!({
            "id": id, "name": "Everything", "mode": "automatic", "state": "paused", "bidderAccountId": "account",
            "filters": [{"id": format!("filter_{id}"), "name": "Every job"}],
        })
    };
    json!({"organizations": [{
        "id": ORGANIZATION, "name": "Benchmark",
        "subscription": {
            "status": "active", "collectionPaused": false, "currentPeriodStart": PERIOD_START,
            "currentPeriodEnd": PERIOD_END, "proposalLimit": 10_000_000,
        },
        "apiKeys": [{"id": "key", "name": "Load", "key": KEY}],
        "bidderAccounts": [{"id": "account", "name": "Account", "token": "token"}],
        "campaigns": campaigns().map(campaign).collect::<Vec<_>>(),
    }]})
}
