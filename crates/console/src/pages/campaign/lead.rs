//! A lead's page: what happened here, and why?

use std::time::Duration;

use actix_web::{HttpRequest, HttpResponse, web};
use askama::Template;
use bidloop_domain::model::{
    ActivityId, ActivityOutcome, ClientInfo, JobPost, LeadStatus, Timestamp, VendorQualifications,
};
use bidloop_domain::use_case::{LeadBid, LeadEvent, LeadPageView, TimelineEntry};

use crate::campaign_head::CampaignHead;
use crate::page::{PageError, html};
use crate::pages::campaign::feed::queued;
use crate::pages::campaign::lead_place::{JobQuery, LeadPlace};
use crate::shell::Shell;
use crate::tries::{self, Told};
use crate::visit::Visit;
use crate::{bidding_fields, job, words};

#[derive(Template)]
#[template(path = "lead.html")]
struct LeadPage {
    shell: Shell,
    head: CampaignHead,
    path: String,
    /// The address of this very page.
    address: String,
    /// Where one bids.
    bid: String,
    /// Where one changes its own bidding.
    configure: String,
    /// The values that it has of its own: name and value.
    own: Vec<(&'static str, String)>,
    /// The job, for the address of a match without a record.
    job: Option<String>,
    view: LeadPageView,
    pay: String,
    facts: Vec<String>,
    /// How the events that were just triggered ended.
    tried: Vec<Told>,
    outcome: Option<Outcome>,
    timeline: Vec<Line>,
    client: Vec<Fact>,
    demands: Vec<Fact>,
}

/// A name and a value.
struct Fact {
    name: &'static str,
    value: String,
    class: &'static str,
}

/// What stands in the strip: the four numbers of a bid.
struct Outcome {
    figures: Vec<Figure>,
    /// Why it ended without a proposal, or what it waits for.
    sentence: Option<String>,
}

struct Figure {
    name: &'static str,
    value: String,
    note: String,
}

/// An entry of the timeline.
struct Line {
    title: String,
    is_bad: bool,
    /// The clock for the first entry, then the time since the posting.
    at: String,
    note: String,
}

/// `GET …/leads/{l}`.
pub(crate) async fn show(
    visit: Visit,
    path: web::Path<(String, String)>,
    query: web::Query<JobQuery>,
    request: HttpRequest,
) -> Result<HttpResponse, PageError> {
    let place = LeadPlace::of_query(&path, &query)?;
    let (shell, head) = Shell::of_campaign(&visit, &place.campaign).await?;
    let view = place.view(&visit).await?;
    let tried = tried(&view, &tries::named_entries(request.query_string()));
    html(&LeadPage {
        tried,
        ..page(shell, head, &place, view, visit.now)
    })
}

/// How the deliveries ended whose entries the address names.
fn tried(view: &LeadPageView, named: &[ActivityId]) -> Vec<Told> {
    let entries = view.timeline.iter();
    let entries = entries.filter(|entry| entry.activity.is_some_and(|id| named.contains(&id)));
    entries
        .filter_map(|entry| match &entry.event {
            LeadEvent::Delivery {
                host,
                response_status,
                duration_ms,
                reason,
                ..
            } => Some(Told {
                is_good: reason.is_none(),
                what: if reason.is_none() {
                    "Triggered."
                } else {
                    "Not delivered."
                },
                receiver: host.clone(),
                said: tries::said(
                    *response_status,
                    duration_ms.map(Duration::from_millis),
                    reason.as_deref(),
                ),
            }),
            _ => None,
        })
        .collect()
}

impl LeadPage {
    /// Whether the answer to the queued bid's proposal is outstanding.
    fn is_unanswered(&self) -> bool {
        let bid = self.view.bid.as_ref();
        bid.is_some_and(|bid| bid.summary.status == LeadStatus::Queued && bid.summary.answer_outstanding)
    }
}

fn page(
    mut shell: Shell,
    head: CampaignHead,
    place: &LeadPlace,
    view: LeadPageView,
    now: Timestamp,
) -> LeadPage {
    shell.title.clone_from(&view.post.title);
    LeadPage {
        path: place.path(),
        address: place.address_of(""),
        bid: place.address_of("/bid"),
        configure: place.address_of("/configure"),
        own: bidding_fields::set_in(&view.lead.bidding_config),
        job: place.job(),
        pay: job::pay(&view.post),
        facts: job::facts(&view.post),
        tried: Vec::new(),
        outcome: view.bid.as_ref().map(|bid| outcome(bid, &view, now)),
        timeline: view
            .timeline
            .iter()
            .enumerate()
            .map(|(index, entry)| line(index, entry))
            .collect(),
        client: view
            .post
            .client_info
            .as_ref()
            .map(|info| client(info, &view.post))
            .unwrap_or_default(),
        demands: view
            .post
            .vendor_qualifications
            .as_ref()
            .map(demands)
            .unwrap_or_default(),
        shell,
        head,
        view,
    }
}

fn outcome(bid: &LeadBid, view: &LeadPageView, now: Timestamp) -> Outcome {
    let summary = &bid.summary;
    let mut figures = Vec::new();
    if let Some(terms) = summary.terms {
        figures.push(Figure {
            name: "Proposed",
            value: job::terms(terms),
            note: format!("job pays {}", job::pay(&view.post)),
        });
    }
    let spent = summary.connects_spent.get();
    let boost = summary.boost_connects.get();
    if summary.status == LeadStatus::Submitted {
        figures.push(Figure {
            name: "Connects",
            value: format!(
                "{} ({})",
                words::count(spent),
                words::dollars(bid.connects_cost.cents())
            ),
            note: match boost {
                0 => "no boost".to_owned(),
                boost => format!(
                    "{} for the job, {} boost",
                    words::count(spent.saturating_sub(boost)),
                    words::count(boost)
                ),
            },
        });
    }
    let ended = summary.submitted_at.or(summary.ended_at);
    if let Some(ended) = ended {
        let since = |from: Timestamp| words::duration(ended.as_millis() - from.as_millis());
        figures.push(Figure {
            name: "From posting",
            value: since(view.post.posted_at),
            note: format!("{} after the bid was accepted", since(summary.queued_at)),
        });
        figures.push(Figure {
            name: if summary.submitted_at.is_some() {
                "Submitted"
            } else {
                "Ended"
            },
            value: words::ago(ended, now),
            note: words::utc(ended),
        });
    }
    let sentence = match view.lead.status {
        LeadStatus::Queued => Some(queued(
            summary.attempts,
            summary.answer_outstanding,
            summary.next_attempt_at,
            now,
        )),
        LeadStatus::Skipped | LeadStatus::Failed => view
            .lead
            .reason
            .as_ref()
            .map(|reason| format!("Not sent: {}", reason.message)),
        LeadStatus::New | LeadStatus::Submitted | LeadStatus::Rejected => None,
    };
    Outcome { figures, sentence }
}

fn line(index: usize, entry: &TimelineEntry) -> Line {
    let by = entry
        .actor
        .as_ref()
        .and_then(|actor| actor.name.as_deref())
        .unwrap_or_default();
    let dry = if entry.dry_run { " (dry run)" } else { "" };
    let (title, is_bad, note) = match &entry.event {
        LeadEvent::Posted => ("Posted on the marketplace".to_owned(), false, String::new()),
        LeadEvent::Matched => ("Matched".to_owned(), false, String::new()),
        LeadEvent::Delivery {
            event,
            host,
            response_status,
            duration_ms,
            reason,
        } => {
            let took = duration_ms.map(|millis| words::took(Duration::from_millis(millis)));
            let took = took.map(|took| format!(" in {took}")).unwrap_or_default();
            let answer = match (response_status, reason) {
                (Some(status), _) => format!("{host} answered {status}{took}"),
                (None, Some(reason)) => format!("{host}: {reason}{took}"),
                (None, None) => host.clone(),
            };
            let (word, repeated) = match reason {
                None => ("delivered", ""),
                Some(_) => ("not delivered", "; not repeated"),
            };
            (
                format!("{event} {word}{dry}"),
                reason.is_some(),
                format!("{answer}{repeated}"),
            )
        }
        LeadEvent::BidAccepted => (format!("Bid accepted{dry}"), false, by.to_owned()),
        LeadEvent::Parked => ("Parked".to_owned(), false, entry.message.clone()),
        LeadEvent::Uploaded => ("Files uploaded".to_owned(), false, by.to_owned()),
        LeadEvent::Ended {
            status,
            attempts,
            proposal_id,
        } => {
            let attempt = attempts.map(|attempt| format!("Attempt {attempt}"));
            let proposal = proposal_id.as_ref().map(|id| format!("proposal {id}"));
            let facts: Vec<String> = attempt.into_iter().chain(proposal).collect();
            match status {
                ActivityOutcome::Submitted => ("Proposal submitted".to_owned(), false, facts.join("; ")),
                ActivityOutcome::Skipped => ("Bid skipped".to_owned(), false, entry.message.clone()),
                _ => ("Bid failed".to_owned(), true, entry.message.clone()),
            }
        }
        LeadEvent::Rejected { reason } => {
            let why = reason
                .as_ref()
                .map(|reason| format!(": “{reason}”"))
                .unwrap_or_default();
            ("Rejected".to_owned(), false, format!("{by}{why}"))
        }
        LeadEvent::Configured => ("Own bidding changed".to_owned(), false, by.to_owned()),
        LeadEvent::Reopened => ("Reopened".to_owned(), false, by.to_owned()),
    };
    Line {
        title,
        is_bad,
        at: if index == 0 {
            words::utc(entry.at)
        } else {
            format!("+{}", words::duration(entry.since_posting))
        },
        note,
    }
}

fn fact(name: &'static str, value: Option<String>) -> Fact {
    match value {
        Some(value) => Fact {
            name,
            value,
            class: "",
        },
        None => Fact {
            name,
            value: "not known".to_owned(),
            class: "faint",
        },
    }
}

fn client(info: &ClientInfo, post: &JobPost) -> Vec<Fact> {
    let verified = info.is_payment_verified;
    let hired = match (info.number_of_hires, info.jobs_posted) {
        (Some(hires), Some(jobs)) => Some(format!(
            "{hires} of {}",
            words::counted(jobs.unsigned_abs(), "job", "jobs")
        )),
        (Some(hires), None) => Some(hires.to_string()),
        (None, _) => None,
    };
    let mut facts = vec![
        Fact {
            class: if verified == Some(true) { "good" } else { "" },
            ..fact(
                "Payment",
                verified.map(|verified| if verified { "Verified" } else { "Not verified" }.to_owned()),
            )
        },
        fact("Rating", job::rating(info)),
        fact("Country", info.country.clone()),
        fact("Spent", info.total_spent.map(words::usd)),
        fact("Hired", hired),
        fact(
            "Pays on average",
            info.avg_hourly_rate_paid
                .map(|rate| format!("{}/h", words::usd(rate))),
        ),
        fact("Industry", info.company_industry.clone()),
        fact("Size", info.company_size.clone()),
        fact("Member since", info.member_since.clone()),
    ];
    let titles = post
        .open_jobs
        .iter()
        .flatten()
        .filter_map(|open| open.title.clone());
    let titles: Vec<String> = titles.take(5).collect();
    if !titles.is_empty() {
        facts.push(fact("Other open jobs", Some(titles.join("; "))));
    }
    facts
}

fn demands(asked: &VendorQualifications) -> Vec<Fact> {
    let none = |asked: Option<String>, none: &str| Some(asked.unwrap_or_else(|| none.to_owned()));
    vec![
        fact("Talent", none(asked.talent_type.as_deref().map(spelled), "Any")),
        fact(
            "English",
            none(asked.english_level.as_deref().map(spelled), "Any level"),
        ),
        fact(
            "Job success",
            none(
                asked.job_success_score.map(|score| format!("{score} or more")),
                "no minimum",
            ),
        ),
        fact(
            "Earnings",
            none(
                asked
                    .minimum_earnings
                    .map(|least| format!("{} or more", words::usd(least))),
                "no minimum",
            ),
        ),
    ]
}

/// "Native or bilingual" of `NATIVE_OR_BILINGUAL`.
fn spelled(word: &str) -> String {
    let lower = word.to_lowercase().replace('_', " ");
    let mut letters = lower.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    first + letters.as_str()
}
