//! The data of the suite: organizations whose campaigns all match every job of a simulated marketplace. The service itself
//! stores it, through its feed and its List operation.

use std::time::Duration;

use anyhow::{Context, Result};
use bidloop_simulator::Generator;
use serde_json::{Value, json};

use super::options::{Options, Part};
use crate::database::Database;
use crate::http::{self, Client, KEY, PAGE};
use crate::postgres::PostgresServer;
use crate::program::Program;
use crate::waiting::wait_until;
use crate::world::{ORGANIZATION, World, bidding_organization};

/// The campaign that is listed.
pub(super) const LISTED: &str = "listed";
/// Jobs on the marketplace, each a match of every campaign.
const JOBS: usize = 4000;
/// The organizations over which bids are spread.
pub(super) const ORGANIZATIONS: usize = 50;
/// Their campaigns: the one to bid in over HTTP, and the one to bid in by SQL alone.
const OVER_HTTP: &str = "http";
pub(super) const BY_SQL: &str = "sql";
/// The leads that are bid on by SQL, of each organization.
pub(super) const BY_SQL_LEADS: usize = 600;
/// An organization that bids while another one is hot, and its campaigns.
const BYSTANDER: &str = "bystander";
const BYSTANDER_CAMPAIGNS: usize = 2;
/// The campaigns of the organization that is hot, which is the one with the listed campaign.
const HOT_CAMPAIGNS: usize = 20;

/// A letter of the usual length.
pub(super) const LETTER: &str = "\
Hello,\n\nyour post reads as if you had been let down before, so let me be plain about how I work. I would start \
with the part that everything else hangs on, show it to you running within three days, and only then go on. You \
would see each step in a repository of your own from the first hour, with notes on what was decided and why. I have \
built two systems of this kind that have been in daily use for years, and I still answer their owners' questions. \
Before we begin I have one question: who will look after it when I am done? If it is you, I would choose the plainer \
of the two ways you name, since it needs nobody to watch over it at night.\n\nKind regards";

/// What is stored.
#[derive(Debug, Default)]
pub(super) struct Filled {
    /// The ids of the listed campaign's newest leads.
    pub(super) newest: Vec<String>,
    /// Requests that bid, one on each lead: in turn of each of the organizations, of the hot one, of the bystander.
    pub(super) spread: Vec<Vec<u8>>,
    pub(super) hot: Vec<Vec<u8>>,
    pub(super) bystander: Vec<Vec<u8>>,
}

/// Publishes the jobs, provisions the organizations, and lists pages, which makes their matches leads.
pub(super) fn fill(world: &World<'_>, options: &Options) -> Result<Filled> {
    let mut generator = Generator::new(20_260_910);
    let posts = (1_760_000_000_000..).step_by(1000).take(JOBS);
    world
        .marketplace
        .publish(posts.map(|posted_at| generator.next(posted_at)).collect())?;
    let is_asked = |parts: &[Part]| parts.iter().any(|part| options.asks_for(*part));
    let on_postgres = matches!(world.database, Database::Postgres(_));
    let is_hot = on_postgres && is_asked(&[Part::Hot, Part::Held]);
    let is_spread =
        is_asked(&[Part::Bids]) || on_postgres && is_asked(&[Part::Hot, Part::Lone, Part::Pooler]);
    world.installation.apply(&document(is_hot, is_spread))?;
    let service = world.installation.serve("api,watch")?;
    let mut client = service.client()?;
    wait_until("the feed is read", Duration::from_millis(50), || {
        Ok(client.total(LISTED)? >= JOBS as u64)
    })?;
    let mut filled = Filled::default();
    for lead in client.leads(LISTED, 0)? {
        filled.newest.push(lead_id(&lead)?.to_owned());
    }
    for offset in (PAGE..JOBS).step_by(PAGE) {
        client.leads(LISTED, offset)?;
    }
    if is_spread {
        let leads = match world.database {
            Database::Sqlite(_) => 900,
            Database::Postgres(_) => JOBS,
        };
        let mut of_each = Vec::with_capacity(ORGANIZATIONS);
        for number in 0..ORGANIZATIONS {
            let key = key(number);
            of_each.push(bids(&mut client, &key, OVER_HTTP, leads)?.into_iter());
            bids(&mut client, &key, BY_SQL, BY_SQL_LEADS)?;
        }
        for _ in 0..leads {
            filled
                .spread
                .extend(of_each.iter_mut().filter_map(Iterator::next));
        }
    }
    if is_hot {
        for campaign in pools(HOT_CAMPAIGNS) {
            filled.hot.extend(bids(&mut client, KEY, &campaign, JOBS)?);
        }
        for campaign in pools(BYSTANDER_CAMPAIGNS) {
            let bids = bids(&mut client, &key(ORGANIZATIONS), &campaign, JOBS)?;
            filled.bystander.extend(bids);
        }
    }
    service.stop()?;
    Ok(filled)
}

/// Another program, or another database for the same one, filled as a part needs it, and vacuumed like the first.
pub(super) fn filled_world<'s>(
    program: &Program,
    server: &'s PostgresServer,
    part: Part,
    options: &Options,
) -> Result<(World<'s>, Filled)> {
    let world = World::new(program, Some(server))?;
    let filled = fill(&world, &options.for_part(part))?;
    world.database.execute("VACUUM ANALYZE")?;
    Ok((world, filled))
}

fn document(is_hot: bool, is_spread: bool) -> Value {
    let with_all = |campaign: String| (campaign, Some(json!({})));
    let hot = pools(if is_hot { HOT_CAMPAIGNS } else { 0 });
    let campaigns = std::iter::once(LISTED.to_owned()).chain(hot);
    let mut organizations = vec![bidding_organization(ORGANIZATION, KEY, campaigns.map(with_all))];
    for number in 0..if is_spread { ORGANIZATIONS } else { 0 } {
        let campaigns = [OVER_HTTP, BY_SQL].map(|campaign| with_all(campaign.to_owned()));
        let id = format!("spread_{number:02}");
        organizations.push(bidding_organization(&id, &key(number), campaigns.into_iter()));
    }
    if is_hot {
        let campaigns = pools(BYSTANDER_CAMPAIGNS).map(with_all);
        organizations.push(bidding_organization(BYSTANDER, &key(ORGANIZATIONS), campaigns));
    }
    json!({"organizations": organizations})
}

/// Lists a campaign's newest leads. Returns a bid on each.
fn bids(client: &mut Client, key: &str, campaign: &str, count: usize) -> Result<Vec<Vec<u8>>> {
    client.identify(key);
    let mut bids = Vec::with_capacity(count);
    for offset in (0..count).step_by(PAGE) {
        for lead in client.leads(campaign, offset)? {
            let path = format!("/v1/campaigns/{campaign}/leads/{}/bid", lead_id(&lead)?);
            let body = bid_on(&lead).to_string();
            bids.push(http::post_with(key, &path, "application/json", &body));
        }
    }
    Ok(bids)
}

fn bid_on(lead: &Value) -> Value {
    let questions = lead["questions"].as_array().into_iter().flatten();
    let answer = |question: &Value| json!({"question": question, "answer": "Yes, and I can show you where."});
    json!({"coverLetter": LETTER, "questionAnswerPairs": questions.map(answer).collect::<Vec<_>>()})
}

fn lead_id(lead: &Value) -> Result<&str> {
    lead["id"].as_str().context("a lead without its id")
}

/// The API key of one of the organizations; `pgbench` writes it, too.
fn key(number: usize) -> String {
    format!("lk_{:064}", number + 1)
}

/// The ids of that many campaigns.
fn pools(count: usize) -> impl Iterator<Item = String> {
    (0..count).map(|pool| format!("pool_{pool}"))
}
