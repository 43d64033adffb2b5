//! The pages that are asked for, the slowest of their kind among them.

use anyhow::{Context as _, Result};

use super::fill::{CAMPAIGN, KEYS, OTHERS};
use super::visitor::{Request, Visitor, encoded};
use crate::matching::posts::now_ms;

/// Milliseconds within which pages of a kind are answered on SQLite.
const FEED: f64 = 15.0;
const OVERVIEW: f64 = 25.0;
const ACTIVITY: f64 = 30.0;
const PREVIEW: f64 = 300.0;

/// What stands in a card, a row of the record, and a filter's preview.
const CARD: &str = "<article class=\"lead";
const ROW: &str = " id=\"a-";

/// A page with its goal in milliseconds on SQLite, if it has one, and what it must show: a text, and how often at least.
pub(super) struct Page {
    pub(super) name: String,
    pub(super) request: Request,
    pub(super) goal: Option<f64>,
    pub(super) shows: (&'static str, usize),
}

fn page(name: &str, path: &str, goal: impl Into<Option<f64>>, shows: (&'static str, usize)) -> Page {
    Page {
        name: name.to_owned(),
        request: Request::Get(path.to_owned()),
        goal: goal.into(),
        shows,
    }
}

/// All pages. The database has been filled for the campaign with `leads` jobs.
pub(super) fn all(visitor: &mut Visitor, leads: u32) -> Result<Vec<Page>> {
    let lead = newest_lead(visitor)?;
    let mut pages = overview();
    pages.extend(feed(leads));
    pages.push(feed_news(visitor)?);
    pages.extend(activity(&lead));
    pages.extend(filters());
    pages.extend(others(&lead));
    Ok(pages)
}

/// The id of the newest lead without a bid.
fn newest_lead(visitor: &mut Visitor) -> Result<String> {
    let page = visitor.read(&Request::Get(format!("/campaigns/{CAMPAIGN}/feed?status=new")))?;
    let start = format!("/campaigns/{CAMPAIGN}/leads/");
    let rest = page.split(&start).nth(1).context("a Feed without a lead")?;
    let lead = rest.split(|char: char| !char.is_ascii_alphanumeric() && char != '-' && char != '_');
    Ok(lead.take(1).collect())
}

fn overview() -> Vec<Page> {
    ["24h", "7d", "30d"]
        .map(|period| {
            let (name, path) = (format!("Overview: {period}"), format!("/?period={period}"));
            page(&name, &path, OVERVIEW, ("class=\"funnel\"", 1))
        })
        .into()
}

fn feed(leads: u32) -> Vec<Page> {
    let of = |name: &str, query: &str, least: usize| {
        let (name, path) = (
            format!("Feed: {name}"),
            format!("/campaigns/{CAMPAIGN}/feed?{query}"),
        );
        page(&name, &path, FEED, (CARD, least))
    };
    // So many of 100 leads further back, less some pages.
    let far = |percent: u64| u64::from(leads) * percent / 101;
    vec![
        of("newest 50", "", 50),
        of("all, far back", &format!("offset={}", far(100)), 50),
        of("new", "status=new", 50),
        of(
            "new, in the middle",
            &format!("status=new&offset={}", far(25)),
            50,
        ),
        of("new, far back", &format!("status=new&offset={}", far(50)), 50),
        of("rejected", "status=rejected", 50),
        of(
            "rejected, far back",
            &format!("status=rejected&offset={}", far(25)),
            50,
        ),
        of("submitted", "status=submitted", 50),
        of(
            "submitted, far back",
            &format!("status=submitted&offset={}", far(15)),
            50,
        ),
        of(
            "failed, far back",
            &format!("status=failed&offset={}", far(5)),
            50,
        ),
        of("queued: none", "status=queued", 0),
        Page {
            goal: Some(50.0),
            ..of("search for common words", "q=build", 50)
        },
        Page {
            goal: Some(50.0),
            ..of("search for a word that is nowhere", "q=xyzzy", 0)
        },
        Page {
            goal: Some(150.0),
            ..of("search for a prefix that is nowhere", "q=xyzz%2A", 0)
        },
    ]
}

/// What an open Feed asks for whenever something happens.
fn feed_news(visitor: &mut Visitor) -> Result<Page> {
    let feed = visitor.read(&Request::Get(format!("/campaigns/{CAMPAIGN}/feed")))?;
    let asked = feed
        .split("hx-get=\"")
        .skip(1)
        .find(|rest| rest.contains("/feed/live?"));
    let asked = asked.and_then(|rest| rest.split('"').next());
    let path = asked
        .context("a Feed that asks for no news")?
        .replace("&#38;", "&");
    Ok(page(
        "Feed: news of an open page",
        &path,
        5.0,
        ("role=\"status\"", 1),
    ))
}

/// A place of the record, so many days ago.
fn place(days: i64) -> String {
    let millis = now_ms() - days * 86_400_000;
    format!("{millis}.ffffffff-ffff-4fff-bfff-ffffffffffff")
}

fn activity(lead: &str) -> Vec<Page> {
    let of = |name: &str, query: &str, least: usize| {
        let name = format!("Activity: {name}");
        page(&name, &format!("/activity?{query}"), ACTIVITY, (ROW, least))
    };
    let [bidder, other, silent] = KEYS;
    let elsewhere = OTHERS[0];
    vec![
        of("all", "", 50),
        of("kind", "kind=upload", 50),
        of("kind, the rarest", "kind=change", 50),
        of("outcome", "outcome=refused", 50),
        of("outcome of several kinds", "outcome=failed", 50),
        of("outcome that nothing has", "outcome=new", 0),
        of("key", &format!("by=api_key%3A{bidder}"), 50),
        of("key that did nothing", &format!("by=api_key%3A{silent}"), 0),
        of(
            "user",
            &format!("by=user%3A{}", encoded("ops@benchmark.test")),
            50,
        ),
        of("the service", "by=service", 50),
        of("campaign", &format!("campaign={elsewhere}"), 50),
        of("lead", &format!("lead={lead}"), 1),
        of("24 hours", "period=24h", 50),
        of("30 days", "period=30d", 50),
        of("below the middle", &format!("below={}", place(150)), 50),
        of("failed deliveries", "kind=delivery&outcome=failed", 50),
        of(
            "kind in a campaign",
            &format!("kind=submission&campaign={elsewhere}"),
            50,
        ),
        of(
            "rare kind in a campaign",
            &format!("kind=upload&campaign={elsewhere}"),
            1,
        ),
        of(
            "outcome of a campaign",
            &format!("outcome=refused&campaign={elsewhere}"),
            50,
        ),
        of(
            "kind, outcome, key, campaign",
            &format!("kind=bid&outcome=refused&by=api_key%3A{other}&campaign={elsewhere}"),
            50,
        ),
        of(
            "the same of 30 days",
            &format!("kind=bid&outcome=refused&by=api_key%3A{other}&campaign={elsewhere}&period=30d"),
            1,
        ),
        // Each condition has many entries, and no entry has both: the most that a step looks at.
        of(
            "a key and a kind that never meet",
            &format!("kind=submission&by=api_key%3A{bidder}"),
            0,
        ),
        of(
            "a key and a campaign that never meet",
            &format!("by=api_key%3A{bidder}&campaign={elsewhere}"),
            0,
        ),
        of("the service and a kind that never meet", "by=service&kind=bid", 0),
        of(
            "outcome and user that never meet",
            &format!("outcome=delivered&by=user%3A{}", encoded("ops@benchmark.test")),
            0,
        ),
        of(
            "a key that did nothing, and a kind",
            &format!("by=api_key%3A{silent}&kind=delivery"),
            0,
        ),
        of("a lead and a kind", &format!("lead={lead}&kind=delivery"), 1),
        Page {
            request: Request::Get(format!("/campaigns/{CAMPAIGN}/activity")),
            ..of("tab of a campaign", "", 50)
        },
    ]
}

fn filters() -> Vec<Page> {
    let path = format!("/campaigns/{CAMPAIGN}/filters");
    let of = |name: &str, fields: &str| Page {
        name: format!("Filter preview: {name}"),
        request: Request::Post(path.clone(), format!("action=preview&name=Draft&{fields}")),
        goal: Some(PREVIEW),
        shows: ("name=\"keywords\"", 1),
    };
    vec![
        page("Filters: the saved one", &path, PREVIEW, ("name=\"keywords\"", 1)),
        of("a rare word", "keywords=xyzzy"),
        of(
            "some words",
            "keywords=rust+AND+%28backend+OR+service%29+AND+-wordpress&hourlyRate.min=40",
        ),
        of("common words", "keywords=build+OR+data"),
        of("a prefix", "keywords=wareh%2A"),
        of("a phrase", "keywords=%22data+pipeline%22"),
        of("nothing but a rate", "hourlyRate.min=40"),
        of(
            "nothing but the client",
            "client.minRating=4.9&client.paymentVerified=true",
        ),
        of("no condition", ""),
        of("why not this job", "keywords=xyzzy&job=no+title+has+this"),
    ]
}

fn others(lead: &str) -> Vec<Page> {
    let campaign = format!("/campaigns/{CAMPAIGN}");
    let of = |name: &str, path: &str| page(name, path, None, ("<main", 1));
    let part = |name: &str, path: &str| page(name, path, None, ("", 0));
    vec![
        of("A lead", &format!("{campaign}/leads/{lead}")),
        of("Bid", &format!("{campaign}/leads/{lead}/bid")),
        of("Bidding", &format!("{campaign}/bidding")),
        of("Integrations of a campaign", &format!("{campaign}/integrations")),
        of("Campaigns", "/campaigns"),
        of("API keys", "/settings/integrations/api-keys"),
        of("Webhooks", "/settings/integrations/webhooks"),
        of("Bidder accounts", "/settings/accounts"),
        of("Users", "/settings/users"),
        of("Billing", "/settings/billing"),
        part(
            "An open Feed asks for news",
            &format!("{campaign}/feed/live?total=1"),
        ),
        part(
            "An open Activity asks for news",
            &format!("/activity/new?than={}", place(30)),
        ),
    ]
}
