//! The overview: is it healthy, does it pay?

mod plot;

use std::time::Duration;

use actix_web::{HttpResponse, web};
use askama::Template;
use bidloop_domain::model::{CampaignState, Timestamp};
use bidloop_domain::use_case::{CampaignFigures, EndpointFigures, Overview, OverviewPeriod, Totals, Trouble};
use serde::Deserialize;

use self::plot::{Plot, Until, plot};
use crate::chart;
use crate::page::{PageError, html};
use crate::pages::webhooks::place::deliveries_path;
use crate::shell::{Place, Shell};
use crate::visit::Visit;
use crate::words;

#[derive(Template)]
#[template(path = "overview.html")]
struct OverviewPage {
    shell: Shell,
    /// The address of this very page.
    path: String,
    periods: Vec<Choice>,
    troubles: Vec<Notice>,
    figures: Vec<Figure>,
    funnel: Vec<Step>,
    paused: Option<String>,
    endings: Vec<Bar>,
    until: Vec<Choice>,
    plot: Option<Plot>,
    times: Vec<TimesRow>,
    campaigns: Vec<CampaignRow>,
    endpoints: Vec<EndpointRow>,
}

/// One of several views of the page.
struct Choice {
    words: &'static str,
    href: String,
    is_shown: bool,
}

/// Something to look at: a sentence, and where it is mended.
struct Notice {
    class: &'static str,
    what: String,
    /// Text that others wrote.
    subject: String,
    rest: String,
    href: String,
    link: &'static str,
}

struct Figure {
    name: &'static str,
    value: String,
    unit: String,
    note: String,
}

struct Step {
    name: &'static str,
    count: u64,
    width: f64,
    /// Of the step before.
    share: String,
}

struct Bar {
    name: String,
    count: u64,
    width: f64,
    class: &'static str,
}

struct TimesRow {
    until: &'static str,
    p50: String,
    p95: String,
    slowest: String,
}

struct CampaignRow {
    figures: CampaignFigures,
    spark: String,
}

struct EndpointRow {
    figures: EndpointFigures,
    /// Without the scheme.
    address: String,
    events: String,
    href: String,
    p95: String,
}

/// What the query string asks for.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct OverviewQuery {
    period: String,
    until: String,
}

impl OverviewQuery {
    fn period(&self) -> OverviewPeriod {
        let chosen = PERIODS.iter().find(|period| word(**period) == self.period);
        chosen.copied().unwrap_or_default()
    }

    fn until(&self) -> Until {
        let chosen = Until::ALL.into_iter().find(|until| until.word() == self.until);
        chosen.unwrap_or(Until::Submission)
    }
}

const PERIODS: [OverviewPeriod; 3] = [OverviewPeriod::Day, OverviewPeriod::Week, OverviewPeriod::Month];

const fn word(period: OverviewPeriod) -> &'static str {
    match period {
        OverviewPeriod::Day => "24h",
        OverviewPeriod::Week => "7d",
        OverviewPeriod::Month => "30d",
    }
}

fn path(period: OverviewPeriod, until: Until) -> String {
    format!("/?period={}&until={}", word(period), until.word())
}

/// `GET /`.
pub(crate) async fn show(visit: Visit, query: web::Query<OverviewQuery>) -> Result<HttpResponse, PageError> {
    let shell = Shell::of(&visit, Place::Overview, "Overview").await?;
    let (show, member, period) = (
        visit.console.show_overview.clone(),
        visit.member().clone(),
        query.period(),
    );
    // It is computed from thousands of counts.
    let overview = visit
        .console
        .runtime
        .run(async move { show.execute(&member, period).await });
    let overview = overview.await??.ok_or(PageError::NotFound)?;
    html(&page(shell, overview, query.until()))
}

fn page(shell: Shell, overview: Overview, until: Until) -> OverviewPage {
    let period = overview.period;
    OverviewPage {
        shell,
        path: path(period, until),
        periods: PERIODS
            .into_iter()
            .map(|choice| Choice {
                words: match choice {
                    OverviewPeriod::Day => "24 hours",
                    OverviewPeriod::Week => "7 days",
                    OverviewPeriod::Month => "30 days",
                },
                href: path(choice, until),
                is_shown: choice == period,
            })
            .collect(),
        troubles: overview
            .troubles
            .iter()
            .filter_map(|trouble| notice(trouble, overview.now))
            .collect(),
        figures: figures(&overview),
        funnel: funnel(&overview),
        paused: paused(overview.funnel.matched_paused),
        endings: endings(&overview),
        until: Until::ALL
            .into_iter()
            .map(|choice| Choice {
                words: choice.label(),
                href: path(period, choice),
                is_shown: choice == until,
            })
            .collect(),
        plot: plot(&overview, until),
        times: [
            ("Delivery", overview.delivery),
            ("Bid", overview.bid),
            ("Submission", overview.totals.submission),
        ]
        .into_iter()
        .map(|(until, times)| TimesRow {
            until,
            p50: took(times.p50),
            p95: took(times.p95),
            slowest: took(times.slowest),
        })
        .collect(),
        campaigns: overview
            .campaigns
            .into_iter()
            .map(|figures| CampaignRow {
                spark: chart::spark(&figures.matches),
                figures,
            })
            .collect(),
        endpoints: overview.endpoints.into_iter().map(endpoint).collect(),
    }
}

fn notice(trouble: &Trouble, now: Timestamp) -> Option<Notice> {
    Some(match trouble {
        Trouble::EndpointFailing {
            endpoint,
            campaign,
            url,
            failed,
            of,
        } => Notice {
            class: "warn",
            what: "An endpoint is failing.".to_owned(),
            subject: url.clone(),
            rest: format!(" failed {failed} of its last {of} deliveries; none is repeated."),
            href: deliveries_path(campaign.as_ref(), endpoint),
            link: "See deliveries",
        },
        Trouble::AccountDisconnected { name, queued, .. } => Notice {
            class: "bad",
            what: "The marketplace refuses the token of a bidder account.".to_owned(),
            subject: name.clone(),
            rest: match queued {
                0 => " submits nothing until it has a new one.".to_owned(),
                queued => format!(
                    " submits nothing until it has a new one; {}.",
                    words::counted(*queued, "bid waits", "bids wait")
                ),
            },
            href: "/settings/accounts".to_owned(),
            link: "Connect it again",
        },
        Trouble::MarketplaceNotRead { since } => Notice {
            class: "bad",
            what: "The marketplace is not being read.".to_owned(),
            subject: String::new(),
            rest: format!(
                " The last job was read {}. Jobs posted since then are read once it answers again.",
                words::ago(*since, now)
            ),
            href: "/activity".to_owned(),
            link: "See Activity",
        },
        // It stands on every page.
        Trouble::SubscriptionLapsed { .. } => return None,
    })
}

fn figures(overview: &Overview) -> Vec<Figure> {
    let Totals {
        bids,
        submitted,
        connects,
        boost_connects,
        submission,
    } = overview.totals;
    let each = |totals: &Totals| {
        let cents = totals.connects.cost().cents();
        let submitted = i64::try_from(totals.submitted).unwrap_or(i64::MAX);
        (submitted > 0).then(|| words::dollars(cents / submitted))
    };
    let before = match overview.period {
        OverviewPeriod::Day => "the day before",
        OverviewPeriod::Week => "the week before",
        OverviewPeriod::Month => "the 30 days before",
    };
    vec![
        Figure {
            name: "Proposals submitted",
            value: words::count(submitted),
            unit: String::new(),
            note: format!("of {}", words::counted(bids, "bid", "bids")),
        },
        Figure {
            name: "Posting to submission",
            value: took(submission.p50),
            unit: if submission.p50.is_some() { "median" } else { "" }.to_owned(),
            note: match submission.p95 {
                Some(p95) => format!("{} for 95 of 100", took(Some(p95))),
                None => "nothing was submitted".to_owned(),
            },
        },
        Figure {
            name: "Connects spent",
            value: words::count(connects.get()),
            unit: words::dollars(connects.cost().cents()),
            note: format!("{} of them for boosts", words::count(boost_connects.get())),
        },
        Figure {
            name: "Cost per proposal",
            value: each(&overview.totals).unwrap_or_else(|| "–".to_owned()),
            unit: String::new(),
            note: match each(&overview.before) {
                Some(cost) => format!("{cost} {before}"),
                None => format!("no proposal {before}"),
            },
        },
    ]
}

fn funnel(overview: &Overview) -> Vec<Step> {
    let funnel = overview.funnel;
    let steps = [
        ("Jobs seen", funnel.jobs_seen),
        ("Matched", funnel.matched),
        ("Delivered", funnel.delivered),
        ("Bid", funnel.bids),
        ("Submitted", funnel.submitted),
    ];
    let most = steps.iter().map(|(_, count)| *count).max().unwrap_or(0);
    let mut before = None;
    let steps = steps.into_iter().map(|(name, count)| Step {
        name,
        count,
        width: chart::share(count, most),
        share: match before.replace(count) {
            Some(before) if before > 0 => format!("{} %", count.saturating_mul(100) / before),
            _ => String::new(),
        },
    });
    steps.collect()
}

fn paused(matched: u64) -> Option<String> {
    (matched > 0).then(|| {
        format!(
            "{} while its campaign was paused: listed only.",
            words::counted(matched, "match came", "matches came")
        )
    })
}

fn endings(overview: &Overview) -> Vec<Bar> {
    let endings = &overview.endings;
    let all = overview.queued + endings.iter().map(|ending| ending.count).sum::<u64>();
    let mut bars: Vec<Bar> = endings
        .iter()
        .map(|ending| Bar {
            name: ending.reason.map_or("Submitted", words::ending).to_owned(),
            count: ending.count,
            width: chart::share(ending.count, all),
            class: match ending.reason {
                None => " strong",
                Some(reason) if reason.is_skip() => "",
                Some(_) => " bad",
            },
        })
        .collect();
    if overview.queued > 0 {
        bars.push(Bar {
            name: "Queued now".to_owned(),
            count: overview.queued,
            width: chart::share(overview.queued, all),
            class: "",
        });
    }
    bars
}

fn endpoint(figures: EndpointFigures) -> EndpointRow {
    let url = &figures.endpoint.url;
    let address = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
    let events = figures.endpoint.events.iter().map(|event| event.as_str());
    EndpointRow {
        address: address.to_owned(),
        events: events.collect::<Vec<_>>().join(", "),
        href: deliveries_path(figures.endpoint.campaign_id.as_ref(), &figures.endpoint.id),
        p95: took(figures.p95),
        figures,
    }
}

impl CampaignRow {
    fn is_paused(&self) -> bool {
        self.figures.sign.state == CampaignState::Paused
    }

    /// What the small line shows.
    fn matches(&self) -> String {
        words::count(self.figures.matches.iter().sum::<u64>())
    }
}

fn took(time: Option<Duration>) -> String {
    time.map_or_else(|| "–".to_owned(), words::took)
}
