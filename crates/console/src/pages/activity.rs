//! The Activity record: who did what, and how did it end?

use std::collections::HashMap;

use actix_web::http::header;
use actix_web::{HttpResponse, web};
use askama::Template;
use bidloop_domain::model::{
    Activity, ActivityId, ActivityKind, ActivityOutcome, ActivityPlace, ActivitySearch, ActorKind,
    CampaignId, LeadId, OrganizationId, Timestamp, VariantArray as _,
};
use bidloop_domain::use_case::ActivityPage;
use bytes::Bytes;
use futures::stream;
use serde::Deserialize;
use serde_json::Value;

use crate::campaign_head::{CampaignHead, Tab};
use crate::page::{PageError, campaign_id, html};
use crate::parts::{Pill, pill};
use crate::shell::{Place, Shell};
use crate::visit::Visit;
use crate::words;

const HOUR_MILLIS: i64 = 3_600_000;

/// What the query string asks for.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ActivityQuery {
    kind: String,
    outcome: String,
    campaign: String,
    /// The kind of an actor, a colon, and its id.
    by: String,
    period: String,
    lead: String,
    /// The place below which the page begins: milliseconds, a dot, the entry.
    below: String,
    /// The place of the newest entry that a page shows.
    than: String,
    /// The entry that is shown opened.
    open: String,
}

/// A period to choose: its word in the address, its words on the page, its hours.
const PERIODS: [(&str, &str, Option<i64>); 4] = [
    ("", "All time", None),
    ("24h", "Last 24 hours", Some(24)),
    ("7d", "Last 7 days", Some(7 * 24)),
    ("30d", "Last 30 days", Some(30 * 24)),
];

impl ActivityQuery {
    /// The search. What cannot be read is not looked for, so that an old bookmark still shows something; a lead that is no
    /// id finds nothing.
    fn search(
        &self,
        organization: &OrganizationId,
        campaign: Option<&CampaignId>,
        now: Timestamp,
    ) -> ActivitySearch {
        let hours = PERIODS.iter().find(|(word, ..)| *word == self.period);
        let from = hours.and_then(|(_, _, hours)| *hours);
        ActivitySearch {
            campaign_id: campaign
                .cloned()
                .or_else(|| CampaignId::parse(&self.campaign).ok()),
            lead_id: self.lead(),
            kind: self.kind.parse().ok(),
            outcome: self.outcome.parse().ok(),
            actor: actor(&self.by),
            from: from.map(|hours| Timestamp::from_millis(now.as_millis() - hours * HOUR_MILLIS)),
            ..ActivitySearch::of(organization.clone())
        }
    }

    fn lead(&self) -> Option<LeadId> {
        LeadId::parse(self.lead.trim()).ok()
    }

    /// Whether the lead that is searched for is no id.
    fn has_odd_lead(&self) -> bool {
        !self.lead.trim().is_empty() && self.lead().is_none()
    }

    fn is_filtered(&self) -> bool {
        [
            &self.kind,
            &self.outcome,
            &self.campaign,
            &self.by,
            &self.period,
            &self.lead,
        ]
        .into_iter()
        .any(|field| !field.is_empty())
    }

    /// The filter as a query string, with more fields.
    fn with(&self, more: &[(&str, &str)]) -> String {
        let filter = [
            ("kind", &self.kind),
            ("outcome", &self.outcome),
            ("campaign", &self.campaign),
            ("by", &self.by),
            ("period", &self.period),
            ("lead", &self.lead),
        ];
        let mut pairs = form_urlencoded::Serializer::new(String::new());
        pairs.extend_pairs(filter.into_iter().filter(|(_, value)| !value.is_empty()));
        pairs.extend_pairs(more);
        format!("?{}", pairs.finish())
    }
}

/// The actor of `user:ops@acme.test`.
fn actor(text: &str) -> Option<(ActorKind, Option<String>)> {
    let (kind, id) = text.split_once(':').unwrap_or((text, ""));
    Some((
        kind.parse().ok()?,
        Some(id.to_owned()).filter(|id| !id.is_empty()),
    ))
}

fn written_place(place: ActivityPlace) -> String {
    format!("{}.{}", place.at.as_millis(), place.id)
}

fn place(text: &str) -> Option<ActivityPlace> {
    let (millis, id) = text.split_once('.')?;
    Some(ActivityPlace {
        at: Timestamp::from_millis(millis.parse().ok()?),
        id: ActivityId(id.parse().ok()?),
    })
}

#[derive(Template)]
#[template(path = "activity.html")]
struct ActivityOfAll {
    shell: Shell,
    record: Record,
}

#[derive(Template)]
#[template(path = "campaign_activity.html")]
struct ActivityOfCampaign {
    shell: Shell,
    head: CampaignHead,
    record: Record,
}

/// What both pages show.
struct Record {
    /// The path of the page.
    path: String,
    filters: Vec<Filter>,
    lead: String,
    lead_fault: bool,
    is_filtered: bool,
    rows: Vec<Row>,
    csv: String,
    /// Where new records are asked for; `None` on older pages.
    live: Option<String>,
    newest: Option<String>,
    older: Option<String>,
}

/// A field with its choices.
struct Filter {
    name: &'static str,
    label: &'static str,
    options: Vec<Choice>,
}

struct Choice {
    value: String,
    words: String,
    is_chosen: bool,
}

struct Row {
    entry: Activity,
    icon: &'static str,
    kind: &'static str,
    title: Option<String>,
    href: Option<String>,
    campaign: Option<String>,
    by: String,
    pill: Pill,
    /// Where the row is opened, or closed again.
    toggle: String,
    opened: Option<Opened>,
    now: Timestamp,
}

/// What an opened row shows.
struct Opened {
    steps: Vec<String>,
    is_refused: bool,
    facts: Vec<(String, String)>,
}

#[derive(Template)]
#[template(path = "activity_newer.html")]
struct Newer {
    count: Option<String>,
    href: String,
    live: String,
}

/// `GET /activity`.
pub(crate) async fn show(visit: Visit, query: web::Query<ActivityQuery>) -> Result<HttpResponse, PageError> {
    let shell = Shell::of(&visit, Place::Activity, "Activity").await?;
    let record = record(&visit, &shell, &query, None).await?;
    html(&ActivityOfAll { shell, record })
}

/// `GET /campaigns/{c}/activity`.
pub(crate) async fn show_of_campaign(
    visit: Visit,
    campaign: web::Path<String>,
    query: web::Query<ActivityQuery>,
) -> Result<HttpResponse, PageError> {
    let campaign = campaign_id(&campaign)?;
    let (shell, head) = Shell::of_campaign(&visit, &campaign).await?;
    let record = record(&visit, &shell, &query, Some(&campaign)).await?;
    html(&ActivityOfCampaign {
        shell,
        head: head.at(Tab::Activity),
        record,
    })
}

/// `GET /activity/new`: how many records came since the page was loaded.
pub(crate) async fn newer(visit: Visit, query: web::Query<ActivityQuery>) -> Result<HttpResponse, PageError> {
    let search = query.search(visit.organization(), None, visit.now);
    let than = place(&query.than).ok_or(PageError::NotFound)?;
    let find = visit.console.search_activity.clone();
    let count = visit
        .console
        .run(async move { find.newer(&search, than).await })
        .await??;
    let count = (count > 0).then(|| words::counted(count, "new record", "new records"));
    html(&Newer {
        count,
        href: format!("/activity{}", query.with(&[])),
        live: live(&query, than),
    })
}

/// Where a page asks for new records. One of a campaign does so with the campaign as a filter.
fn live(query: &ActivityQuery, newest: ActivityPlace) -> String {
    format!("/activity/new{}", query.with(&[("than", &written_place(newest))]))
}

async fn record(
    visit: &Visit,
    shell: &Shell,
    query: &ActivityQuery,
    campaign: Option<&CampaignId>,
) -> Result<Record, PageError> {
    let path = campaign.map_or_else(
        || "/activity".to_owned(),
        |campaign| format!("/campaigns/{campaign}/activity"),
    );
    let page = if query.has_odd_lead() {
        None
    } else {
        let search = query.search(visit.organization(), campaign, visit.now);
        let (find, below) = (visit.console.search_activity.clone(), place(&query.below));
        let page = visit.console.run(async move { find.page(&search, below).await });
        Some(page.await??)
    };
    let keys = visit.console.manage_api_keys.clone();
    let organization = visit.organization().clone();
    let keys = visit
        .console
        .run(async move { keys.list(&organization).await })
        .await?;
    let keys = keys.map_err(|error| PageError::Unavailable(error.to_string()))?;
    let mut people: Vec<(String, String)> = keys
        .into_iter()
        .map(|key| {
            (
                format!("{}:{}", ActorKind::ApiKey.as_str(), key.id),
                format!("Key “{}”", key.name),
            )
        })
        .collect();
    // Others are offered as the page shows them.
    let shown = page
        .iter()
        .flat_map(|page| &page.found.entries)
        .map(|entry| &entry.actor);
    for actor in shown {
        let value = actor.id.as_ref().map_or_else(
            || actor.kind.as_str().to_owned(),
            |id| format!("{}:{id}", actor.kind.as_str()),
        );
        if !people.iter().any(|(known, _)| *known == value) {
            people.push((value, by(actor)));
        }
    }
    let of_campaign = campaign.map(|campaign| ActivityQuery {
        campaign: campaign.to_string(),
        ..query.clone()
    });
    let filter = of_campaign.as_ref().unwrap_or(query);
    let newest = page.as_ref().and_then(|page| page.found.entries.first());
    Ok(Record {
        filters: filters(query, shell, campaign, people),
        lead: query.lead.clone(),
        lead_fault: query.has_odd_lead(),
        is_filtered: query.is_filtered(),
        csv: format!("/activity.csv{}", filter.with(&[])),
        live: newest
            .filter(|_| query.below.is_empty())
            .map(|newest| live(filter, ActivityPlace::of(newest))),
        newest: (!query.below.is_empty()).then(|| format!("{path}{}", query.with(&[]))),
        older: page
            .as_ref()
            .and_then(|page| page.found.below)
            .map(|below| format!("{path}{}", query.with(&[("below", &written_place(below))]))),
        rows: page
            .map(|page| rows(page, shell, query, &path))
            .unwrap_or_default(),
        path,
    })
}

fn filters(
    query: &ActivityQuery,
    shell: &Shell,
    campaign: Option<&CampaignId>,
    people: Vec<(String, String)>,
) -> Vec<Filter> {
    let field = |name, label, chosen: &str, all: &str, options: Vec<(String, String)>| {
        let all = Some((String::new(), all.to_owned())).filter(|(_, words)| !words.is_empty());
        let mut options: Vec<Choice> = all
            .into_iter()
            .chain(options)
            .map(|(value, words)| Choice {
                is_chosen: value == chosen,
                value,
                words,
            })
            .collect();
        if !options.iter().any(|option| option.is_chosen) {
            options.push(Choice {
                value: chosen.to_owned(),
                words: chosen.to_owned(),
                is_chosen: true,
            });
        }
        Filter { name, label, options }
    };
    let kinds = ActivityKind::VARIANTS.iter();
    let kinds = kinds.map(|kind| (kind.as_str().to_owned(), words::kind(*kind).to_owned()));
    let outcomes = ActivityOutcome::VARIANTS.iter();
    let outcomes = outcomes.map(|outcome| (outcome.as_str().to_owned(), words::outcome(*outcome).to_owned()));
    let mut filters = vec![
        field("kind", "Kind", &query.kind, "All kinds", kinds.collect()),
        field(
            "outcome",
            "Outcome",
            &query.outcome,
            "All outcomes",
            outcomes.collect(),
        ),
    ];
    if campaign.is_none() {
        let campaigns = shell.campaigns.iter();
        let campaigns = campaigns.map(|known| (known.sign.id.to_string(), known.sign.name.clone()));
        let campaigns = campaigns.collect();
        filters.push(field(
            "campaign",
            "Campaign",
            &query.campaign,
            "All campaigns",
            campaigns,
        ));
    }
    filters.push(field("by", "Key or person", &query.by, "Anyone", people));
    let periods = PERIODS
        .iter()
        .map(|(word, words, _)| ((*word).to_owned(), (*words).to_owned()));
    filters.push(field("period", "Period", &query.period, "", periods.collect()));
    filters
}

fn rows(page: ActivityPage, shell: &Shell, query: &ActivityQuery, path: &str) -> Vec<Row> {
    let names: HashMap<&CampaignId, &str> = shell
        .campaigns
        .iter()
        .map(|known| (&known.sign.id, known.sign.name.as_str()))
        .collect();
    let mut titles = page.titles;
    let rows = page.found.entries.into_iter().map(|entry| {
        let id = entry.id.to_string();
        let is_open = query.open == id;
        let href = match (&entry.campaign_id, &entry.lead_id) {
            (Some(campaign), Some(lead)) if names.contains_key(campaign) => {
                Some(format!("/campaigns/{campaign}/leads/{lead}"))
            }
            _ => None,
        };
        let title = entry
            .lead_id
            .as_ref()
            .and_then(|lead| titles.get_mut(lead))
            .cloned();
        let mut more = Vec::new();
        if !query.below.is_empty() {
            more.push(("below", query.below.as_str()));
        }
        if !is_open {
            more.push(("open", id.as_str()));
        }
        let toggle = format!("{path}{}", query.with(&more));
        let campaign = entry.campaign_id.as_ref();
        Row {
            icon: icon(entry.kind),
            kind: words::kind(entry.kind),
            title,
            href,
            campaign: campaign.map(|id| {
                names
                    .get(id)
                    .map_or_else(|| id.to_string(), |name| (*name).to_owned())
            }),
            by: by(&entry.actor),
            pill: outcome(&entry),
            toggle,
            opened: is_open.then(|| opened(&entry)),
            now: shell.now,
            entry,
        }
    });
    rows.collect()
}

impl Row {
    fn anchor(&self) -> String {
        format!("a-{}", self.entry.id)
    }
}

fn by(actor: &bidloop_domain::model::Actor) -> String {
    let name = actor.name.as_deref().unwrap_or_default();
    match actor.kind {
        ActorKind::ApiKey => format!("Key “{name}”"),
        ActorKind::User => name.to_owned(),
        ActorKind::Command => format!("Command {name}"),
        ActorKind::Service => "Service".to_owned(),
    }
}

const fn icon(kind: ActivityKind) -> &'static str {
    match kind {
        ActivityKind::Bid => "flag",
        ActivityKind::Rejection => "slash",
        ActivityKind::Upload => "up",
        ActivityKind::Delivery => "plug",
        ActivityKind::Submission => "send",
        ActivityKind::Change => "gear",
    }
}

/// How an entry ended: a word, or the status of an answer.
fn outcome(entry: &Activity) -> Pill {
    let status = match entry.kind {
        ActivityKind::Delivery => entry.details.get("responseStatus").and_then(Value::as_u64),
        _ => entry.http_status.map(u64::from),
    };
    let parked = entry.kind == ActivityKind::Bid && entry.actor.kind == ActorKind::Service;
    match (entry.outcome, status) {
        (ActivityOutcome::Accepted, _) => pill("ok", "check", "Accepted"),
        (ActivityOutcome::Refused, _) if parked => pill("warn", "pause", "Parked"),
        (ActivityOutcome::Refused, Some(status)) => pill("failed", "x", format!("Refused {status}")),
        (ActivityOutcome::Refused, None) => pill("failed", "x", "Refused"),
        (ActivityOutcome::Delivered, Some(status)) => pill("ok", "check", status.to_string()),
        (ActivityOutcome::Delivered, None) => pill("ok", "check", "Delivered"),
        (ActivityOutcome::New, _) => pill("new", "new", "New"),
        (ActivityOutcome::Submitted, _) => pill("submitted", "check", "Submitted"),
        (ActivityOutcome::Skipped, _) => pill("skipped", "skip", "Skipped"),
        (ActivityOutcome::Failed, Some(status)) => pill("failed", "x", status.to_string()),
        (ActivityOutcome::Failed, None) => pill("failed", "x", "Failed"),
    }
}

/// The most characters of a fact that is shown; the CSV file has all of it.
const FACT_CHARS: usize = 2_000;

fn opened(entry: &Activity) -> Opened {
    let mut steps = Vec::new();
    let mut facts = Vec::new();
    for (name, value) in &entry.details {
        let says: Option<Vec<String>> = value.as_array().and_then(|steps| {
            let says = |step: &Value| Some(step.get("says")?.as_str()?.to_owned());
            steps.iter().map(says).collect()
        });
        match says {
            Some(says) if !says.is_empty() => steps.extend(says),
            _ => facts.push((words::spelled(name), fact(value))),
        }
    }
    facts.push(("Record".to_owned(), entry.id.to_string()));
    Opened {
        steps,
        is_refused: !matches!(
            entry.outcome,
            ActivityOutcome::Accepted | ActivityOutcome::Delivered | ActivityOutcome::Submitted
        ),
        facts,
    }
}

fn fact(value: &Value) -> String {
    let text = match value {
        Value::Null => "–".to_owned(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match text.char_indices().nth(FACT_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// `GET /activity.csv`: the records of the same filter, as they are read.
pub(crate) async fn csv(visit: Visit, query: web::Query<ActivityQuery>) -> Result<HttpResponse, PageError> {
    let search = query.search(visit.organization(), None, visit.now);
    if query.has_odd_lead() {
        return Err(PageError::NotFound);
    }
    let name = format!("activity-{}.csv", words::iso_day(visit.now));
    let parts = stream::try_unfold((visit, search, Some(None)), |(visit, search, next)| async move {
        let Some(below) = next else {
            return Ok::<_, PageError>(None);
        };
        let (find, wanted) = (visit.console.search_activity.clone(), search.clone());
        let part = visit
            .console
            .run(async move { find.csv(&wanted, below).await })
            .await??;
        let next = part.below.map(Some);
        Ok(Some((Bytes::from(part.lines), (visit, search, next))))
    });
    Ok(HttpResponse::Ok()
        .content_type("text/csv; charset=utf-8")
        .insert_header((
            header::CONTENT_DISPOSITION,
            format!("attachment; filename=\"{name}\""),
        ))
        .streaming(Box::pin(parts)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_as_it_is_written() {
        let entry = ActivityPlace {
            at: Timestamp::from_millis(1_795_334_400_123),
            id: ActivityId("00000000-0000-7000-8000-000000000001".parse().unwrap()),
        };
        assert_eq!(place(&written_place(entry)), Some(entry));
        for odd in ["", "1", "x.y", "1.", ".1"] {
            assert_eq!(place(odd), None, "{odd}");
        }
    }

    #[test]
    fn an_actor_is_a_kind_with_an_id_or_alone() {
        assert_eq!(
            actor("user:ops@acme.test"),
            Some((ActorKind::User, Some("ops@acme.test".to_owned())))
        );
        assert_eq!(actor("service"), Some((ActorKind::Service, None)));
        assert_eq!(actor("nobody:1"), None);
    }

    #[test]
    fn a_long_fact_is_cut() {
        let text = "ä".repeat(3_000);
        assert_eq!(fact(&Value::String(text)).chars().count(), FACT_CHARS + 1);
    }
}
