//! The data of the suite: one organization whose campaigns all match every job of a simulated marketplace. The service
//! itself stores it, through its feed and its List operation.

use std::time::Duration;

use anyhow::{Context, Result};
use bidloop_simulator::Generator;
use serde_json::{Value, json};

use crate::http::{self, Client, PAGE};
use crate::waiting::wait_until;
use crate::world::{World, organization};

/// The campaign that is listed.
pub(super) const LISTED: &str = "listed";
/// Jobs on the marketplace, each a match of every campaign.
pub(super) const JOBS: usize = 4000;
/// Campaigns to bid in over HTTP, and as many to bid in by SQL alone: each job is a lead of each.
pub(super) const POOLS: usize = 8;
/// The start of the ids of campaigns to bid in over HTTP, and by SQL.
const OVER_HTTP: &str = "http_";
pub(super) const BY_SQL: &str = "sql_";

/// A letter of the usual length.
pub(super) const LETTER: &str = "\
Hello,\n\nyour post reads as if you had been let down before, so let me be plain about how I work. I would start \
with the part that everything else hangs on, show it to you running within three days, and only then go on. You \
would see each step in a repository of your own from the first hour, with notes on what was decided and why. I have \
built two systems of this kind that have been in daily use for years, and I still answer their owners' questions. \
Before we begin I have one question: who will look after it when I am done? If it is you, I would choose the plainer \
of the two ways you name, since it needs nobody to watch over it at night.\n\nKind regards";

/// Publishes the jobs, provisions the organization, and lists every page, which makes each match a lead. Returns the ids of
/// the listed campaign's newest leads.
pub(super) fn fill(world: &World<'_>) -> Result<Vec<String>> {
    let mut generator = Generator::new(20_260_910);
    let posts = (1_760_000_000_000..).step_by(1000).take(JOBS);
    world
        .marketplace
        .publish(posts.map(|posted_at| generator.next(posted_at)).collect())?;
    let campaigns = || {
        std::iter::once(LISTED.to_owned())
            .chain(pools(OVER_HTTP))
            .chain(pools(BY_SQL))
    };
    world
        .installation
        .apply(&organization(campaigns().map(|id| (id, Some(json!({}))))))?;
    let service = world.installation.serve("api,watch")?;
    let mut client = service.client()?;
    for campaign in campaigns() {
        wait_until("the feed is read", Duration::from_millis(50), || {
            Ok(client.total(&campaign)? >= JOBS as u64)
        })?;
        all_leads(&mut client, &campaign)?;
    }
    let newest = client.leads(LISTED, 0)?;
    let ids = newest
        .iter()
        .map(|lead| lead_id(lead).map(str::to_owned))
        .collect();
    service.stop()?;
    ids
}

/// A bid on every lead that is to be bid on over HTTP.
pub(super) fn bids(client: &mut Client) -> Result<Vec<Vec<u8>>> {
    let mut bids = Vec::new();
    for campaign in pools(OVER_HTTP) {
        for lead in all_leads(client, &campaign)? {
            let path = format!("/v1/campaigns/{campaign}/leads/{}/bid", lead_id(&lead)?);
            bids.push(http::post(&path, "application/json", &bid_on(&lead).to_string()));
        }
    }
    Ok(bids)
}

fn bid_on(lead: &Value) -> Value {
    let questions = lead["questions"].as_array().into_iter().flatten();
    let answer = |question: &Value| json!({"question": question, "answer": "Yes, and I can show you where."});
    json!({"coverLetter": LETTER, "questionAnswerPairs": questions.map(answer).collect::<Vec<_>>()})
}

fn all_leads(client: &mut Client, campaign: &str) -> Result<Vec<Value>> {
    let mut leads = Vec::with_capacity(JOBS);
    for offset in (0..JOBS).step_by(PAGE) {
        leads.extend(client.leads(campaign, offset)?);
    }
    Ok(leads)
}

fn lead_id(lead: &Value) -> Result<&str> {
    lead["id"].as_str().context("a lead without its id")
}

/// The campaigns whose ids start like this.
fn pools(prefix: &str) -> impl Iterator<Item = String> {
    (0..POOLS).map(move |pool| format!("{prefix}{pool}"))
}
