//! The Feed: which new jobs fit? It lists every match and makes no lead (decision E9).

use actix_web::{HttpResponse, web};
use askama::Template;
use bidloop_domain::model::{CampaignId, LeadId, LeadStatus, Timestamp};
use bidloop_domain::use_case::{
    FEED_PAGE, FeedCard, FeedPart, FeedRequest, LeadAddress, MAX_NEWER, MatchedFilter, ShownFeed,
};
use serde::Deserialize;

use super::lead_place::LeadPlace;
use super::ready::Ready;
use crate::campaign_head::{CampaignHead, Tab};
use crate::page::{PageError, campaign_id, html};
use crate::shell::Shell;
use crate::visit::{Posted, Visit};
use crate::words::Given;
use crate::{job, words};

/// The characters of a post that a card shows; the style sheet shows two lines of them.
const EXCERPT: usize = 280;
/// The skills that a card shows.
const SKILLS: usize = 8;

#[derive(Template)]
#[template(path = "feed.html")]
struct FeedPage {
    shell: Shell,
    head: CampaignHead,
    view: View,
    facets: Vec<Facet>,
    ready: Ready,
    query: String,
    status: Option<LeadStatus>,
    /// Whether only some of the matches are shown.
    is_filtered: bool,
    /// How far a search went.
    searched: Option<String>,
    /// "1 to 50 of 642".
    shown: String,
    newer: Option<String>,
    older: Option<String>,
    /// Where news are asked for.
    live: String,
    now: Timestamp,
}

impl FeedPage {
    /// Whether the campaign has no match yet.
    fn is_empty(&self) -> bool {
        self.view.cards.is_empty() && !self.is_filtered
    }
}

struct View {
    cards: Vec<Card>,
}

/// A status to choose, with its count.
struct Facet {
    /// The status in a query; empty for all.
    value: &'static str,
    words: &'static str,
    href: String,
    count: u64,
    is_shown: bool,
}

/// What the query string asks for.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct FeedQuery {
    status: String,
    q: String,
    offset: u64,
    below: Option<u64>,
}

impl FeedQuery {
    fn request(&self) -> FeedRequest {
        FeedRequest {
            status: self.status.parse().ok(),
            search: self.q.chars().take(500).collect(),
            offset: self.offset,
            below: self.below,
        }
    }
}

/// `GET /campaigns/{c}/feed`.
pub(crate) async fn show(
    visit: Visit,
    campaign: web::Path<String>,
    query: web::Query<FeedQuery>,
) -> Result<HttpResponse, PageError> {
    let campaign = campaign_id(&campaign)?;
    let (shell, head) = Shell::of_campaign(&visit, &campaign).await?;
    let (show_feed, organization) = (visit.console.show_feed.clone(), visit.organization().clone());
    let request = query.request();
    // Posts are parsed, 500 for a search, and filters are tried on them.
    let feed = visit
        .console
        .runtime
        .run(async move { show_feed.execute(&organization, &campaign, &request).await });
    let (feed, ready) = futures::join!(feed, Ready::of(&visit, &head.id));
    let feed = feed??.ok_or(PageError::NotFound)?;
    html(&page(shell, head.at(Tab::Feed), feed, ready?, &query, visit.now))
}

/// What an open Feed asks for when matches came or something happened.
#[derive(Template)]
#[template(path = "feed_live.html")]
struct FeedLive {
    /// Where it asks again.
    path: String,
    /// How many leads came since the page was loaded.
    newer: Option<String>,
    href: String,
    /// Leads that are decided on, with their status.
    decided: Vec<(String, LeadStatus)>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct LiveQuery {
    /// The `createdAt` of the newest match, in UNIX milliseconds; empty if there was none.
    since: String,
    /// The leads that the page shows, with commas between them.
    shown: String,
}

/// `GET /campaigns/{c}/feed/live`: how many leads came since the page was loaded, and the status of those it shows. It
/// reads no job, since every open page asks for it whenever something happens.
pub(crate) async fn live(
    visit: Visit,
    campaign: web::Path<String>,
    query: web::Query<LiveQuery>,
) -> Result<HttpResponse, PageError> {
    let campaign = campaign_id(&campaign)?;
    let path = format!("/campaigns/{campaign}/feed");
    let since = match query.since.as_str() {
        "" => None,
        since => Some(Timestamp::from_millis(
            since.parse().map_err(|_| PageError::NotFound)?,
        )),
    };
    let shown = query.shown.split(',').take(FEED_PAGE as usize);
    let shown: Vec<LeadId> = shown.filter_map(|id| LeadId::parse(id).ok()).collect();
    let live = live_path(&path, since, &shown);
    let show_feed = &visit.console.show_feed;
    let news = show_feed.news(visit.organization(), &campaign, since, &shown);
    let news = visit.console.runtime.read(news).await??;
    let news = news.ok_or(PageError::NotFound)?;
    let newer = match news.newer {
        0 => None,
        newer if newer >= u64::from(MAX_NEWER) => Some(format!("{}+ new leads", MAX_NEWER - 1)),
        newer => Some(words::counted(newer, "new lead", "new leads")),
    };
    let decided = news.decided.into_iter();
    html(&FeedLive {
        path: live,
        newer,
        href: path,
        decided: decided.map(|(lead, status)| (lead.to_string(), status)).collect(),
    })
}

/// Where a page asks for news.
fn live_path<'l>(
    feed: &str,
    since: Option<Timestamp>,
    shown: impl IntoIterator<Item = &'l LeadId>,
) -> String {
    let since = since
        .map(|since| since.as_millis().to_string())
        .unwrap_or_default();
    let shown: Vec<&str> = shown.into_iter().map(LeadId::as_str).collect();
    format!("{feed}/live?since={since}&shown={}", shown.join(","))
}

/// `POST /campaigns/{c}/feed/seen`: the person looked at the Feed. Pages ask for it by script, since a GET changes
/// nothing (decision E5).
pub(crate) async fn seen(
    Posted { visit, .. }: Posted,
    campaign: web::Path<String>,
) -> Result<HttpResponse, PageError> {
    let campaign = campaign_id(&campaign)?;
    let (show_feed, member, now) = (visit.console.show_feed.clone(), visit.member().clone(), visit.now);
    let noted = visit.console.runtime.run(async move {
        let person = &member.person.key;
        show_feed
            .looked_at(member.organization_id(), &campaign, person, now)
            .await
    });
    if noted.await?? {
        Ok(HttpResponse::NoContent().finish())
    } else {
        Err(PageError::NotFound)
    }
}

fn page(
    shell: Shell,
    head: CampaignHead,
    feed: ShownFeed,
    ready: Ready,
    query: &FeedQuery,
    now: Timestamp,
) -> FeedPage {
    let status = query.request().status;
    let facets = [
        ("All", None),
        ("New", Some(LeadStatus::New)),
        ("Queued", Some(LeadStatus::Queued)),
        ("Submitted", Some(LeadStatus::Submitted)),
        ("Skipped", Some(LeadStatus::Skipped)),
        ("Failed", Some(LeadStatus::Failed)),
        ("Rejected", Some(LeadStatus::Rejected)),
    ];
    let path = format!("/campaigns/{}/feed", head.id);
    let href = |status: Option<LeadStatus>, more: &[(&str, String)]| {
        let mut pairs = form_urlencoded::Serializer::new(String::new());
        if let Some(status) = status {
            pairs.append_pair("status", status.as_str());
        }
        if !query.q.is_empty() {
            pairs.append_pair("q", &query.q);
        }
        for (name, value) in more {
            pairs.append_pair(name, value);
        }
        let query = pairs.finish();
        if query.is_empty() {
            path.clone()
        } else {
            format!("{path}?{query}")
        }
    };
    let shown = feed.cards.len() as u64;
    let (text, searched, newer, older) = match feed.part {
        FeedPart::Page { offset, total } => {
            let at = |offset: u64| href(status, &[("offset", offset.to_string())]);
            let page = u64::from(FEED_PAGE);
            let end = offset.saturating_add(shown + feed.unreadable as u64);
            let text = match shown {
                0 => format!("0 of {}", words::count(total)),
                _ => format!(
                    "{} to {} of {}",
                    words::count(offset + 1),
                    words::count(end),
                    words::count(total)
                ),
            };
            let newer = (offset > 0).then(|| at(offset.saturating_sub(page)));
            (text, None, newer, (end < total).then(|| at(end)))
        }
        FeedPart::Found {
            searched,
            older_below,
        } => {
            let text = words::counted(shown, "lead found", "leads found");
            let searched = format!("Searched {}.", words::counted(searched, "lead", "leads"));
            let older = older_below.map(|below| href(status, &[("below", below.to_string())]));
            (text, Some(searched), None, older)
        }
    };
    FeedPage {
        shell,
        facets: facets
            .into_iter()
            .map(|(words, facet)| Facet {
                value: facet.map_or("", LeadStatus::as_str),
                words,
                href: href(facet, &[]),
                count: facet.map_or(feed.counts.all, |status| feed.counts.of(status)),
                is_shown: facet == status,
            })
            .collect(),
        ready,
        query: query.q.clone(),
        status,
        is_filtered: status.is_some() || !query.q.is_empty() || query.offset > 0,
        searched,
        shown: text,
        newer,
        older,
        live: live_path(&path, feed.newest_at, feed.cards.iter().map(|card| &card.lead.id)),
        now,
        view: View {
            cards: feed
                .cards
                .into_iter()
                .map(|card| Card::of(card, &head.id))
                .collect(),
        },
        head,
    }
}

/// A match as its card shows it.
struct Card {
    match_: FeedCard,
    /// Where its lead is.
    place: LeadPlace,
    href: String,
    pay: String,
    facts: Vec<String>,
    client: Vec<String>,
    skills: Vec<String>,
}

impl Card {
    fn of(match_: FeedCard, campaign: &CampaignId) -> Self {
        let post = &match_.post;
        let client = post.client_info.as_ref().map(job::client).unwrap_or_default();
        let place = LeadPlace {
            campaign: campaign.clone(),
            address: LeadAddress {
                lead: match_.lead.id.clone(),
                job: (!match_.is_stored).then(|| match_.lead.job_id.clone()),
            },
        };
        let skills = post.skills.iter().flatten().take(SKILLS);
        Self {
            pay: job::pay(post),
            facts: job::facts(post),
            client,
            skills: skills.map(|skill| skill.name.clone()).collect(),
            href: place.address_of(""),
            place,
            match_,
        }
    }

    fn id(&self) -> &LeadId {
        &self.match_.lead.id
    }

    fn anchor(&self) -> String {
        format!("t-{}", self.id())
    }

    fn title(&self) -> &str {
        &self.match_.post.title
    }

    fn at(&self) -> Timestamp {
        self.match_.lead.created_at
    }

    fn status(&self) -> LeadStatus {
        self.match_.lead.status
    }

    fn is_new(&self) -> bool {
        self.status() == LeadStatus::New
    }

    /// Whether the card shows the post; decided leads are short.
    fn is_full(&self) -> bool {
        matches!(self.status(), LeadStatus::New | LeadStatus::Queued)
    }

    fn is_reopenable(&self) -> bool {
        self.status().is_reopenable()
    }

    fn excerpt(&self) -> String {
        let words = self.match_.post.description.split_whitespace();
        let mut text = String::new();
        for word in words {
            if text.len() + word.len() > EXCERPT {
                text.push('…');
                break;
            }
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(word);
        }
        text
    }

    fn payment_verified(&self) -> bool {
        let client = self.match_.post.client_info.as_ref();
        client.and_then(|client| client.is_payment_verified) == Some(true)
    }

    fn matched(&self) -> Option<&MatchedFilter> {
        self.match_.matched.as_ref()
    }

    fn job(&self) -> Option<String> {
        self.place.job()
    }

    fn bid_href(&self) -> String {
        self.place.address_of("/bid")
    }

    fn action(&self, action: &str) -> String {
        format!("{}/{action}", self.place.path())
    }

    /// What became of the lead, in a sentence.
    fn outcome(&self, now: impl Given<Timestamp>) -> Option<String> {
        let now = now.value();
        let (lead, bid) = (&self.match_.lead, self.match_.bid.as_ref());
        match lead.status {
            LeadStatus::New => None,
            LeadStatus::Queued => {
                bid.map(|bid| queued(bid.attempts, bid.answer_outstanding, bid.next_attempt_at, now))
            }
            LeadStatus::Submitted => bid.map(|bid| {
                let mut text = "Proposed".to_owned();
                if let Some(terms) = bid.terms {
                    text.push(' ');
                    text.push_str(&job::terms(terms));
                }
                let connects = words::counted(bid.connects_spent.get(), "connect", "connects");
                let boost = match bid.boost_connects.get() {
                    0 => String::new(),
                    boost => format!(", {} of them boost", words::count(boost)),
                };
                let cost = words::dollars(self.match_.connects_cost.cents());
                format!("{text} · {connects}{boost} · {cost}")
            }),
            LeadStatus::Skipped | LeadStatus::Failed => {
                let reason = lead.reason.as_ref()?;
                Some(format!("Not sent: {}", reason.message))
            }
            LeadStatus::Rejected => {
                let by = self
                    .match_
                    .rejected_by
                    .as_ref()
                    .and_then(|actor| actor.name.as_deref());
                let by = by.map(|name| format!(" by {name}")).unwrap_or_default();
                let reason = lead.rejection_reason.as_deref().unwrap_or_default();
                Some(match reason {
                    "" => format!("Rejected{by}."),
                    reason => format!("Rejected{by}: “{reason}”"),
                })
            }
        }
    }
}

/// How a queued bid stands.
pub(crate) fn queued(attempts: u32, answer_outstanding: bool, next: Timestamp, now: Timestamp) -> String {
    if attempts == 0 {
        return "Waiting for the marketplace.".to_owned();
    }
    let attempt = attempts + 1;
    let unknown = if answer_outstanding {
        "The answer is unknown: "
    } else {
        ""
    };
    let when = if next > now {
        format!(", next {}", words::ago(next, now))
    } else {
        String::new()
    };
    format!("{unknown}Waiting for the marketplace: attempt {attempt} of this proposal{when}.")
}
