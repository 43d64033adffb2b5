//! The Activity record: who did what, and how did it end? `query` reads what is asked for, `rows` words what is found.

mod query;
mod rows;

use actix_web::http::header;
use actix_web::{HttpResponse, web};
use askama::Template;
use bidloop_domain::model::{
    ActivityKind, ActivityOutcome, ActivityPlace, ActorKind, CampaignId, VariantArray as _,
};
use bytes::Bytes;
use futures::future::try_join;
use futures::stream;

use self::query::{ActivityQuery, PERIODS, place, place_at, written_place};
use self::rows::{Row, by, rows};
use crate::campaign_head::{CampaignHead, Tab};
use crate::page::{PageError, campaign_id, html};
use crate::pages::settings::{api_keys, users};
use crate::shell::{Place, Shell};
use crate::visit::Visit;
use crate::words;

/// The most keys, and the most members, that are offered to choose from.
const OFFERED: usize = 200;

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
    newer_than(&visit, &query, None).await
}

/// `GET /campaigns/{c}/activity/new`.
pub(crate) async fn newer_of_campaign(
    visit: Visit,
    campaign: web::Path<String>,
    query: web::Query<ActivityQuery>,
) -> Result<HttpResponse, PageError> {
    let campaign = campaign_id(&campaign)?;
    newer_than(&visit, &query, Some(&campaign)).await
}

async fn newer_than(
    visit: &Visit,
    query: &ActivityQuery,
    campaign: Option<&CampaignId>,
) -> Result<HttpResponse, PageError> {
    let search = query.search(visit.organization(), campaign, visit.now);
    let than = place(&query.than).ok_or(PageError::NotFound)?;
    let count = visit.console.search_activity.newer(&search, than);
    let count = visit.console.runtime.read(count).await??;
    let count = (count > 0).then(|| words::counted(count, "new record", "new records"));
    html(&Newer {
        count,
        href: format!("{}{}", path_of(campaign), query.with(&[])),
        live: live(campaign, query, than),
    })
}

/// The page of all records, or of a campaign's.
fn path_of(campaign: Option<&CampaignId>) -> String {
    campaign.map_or_else(
        || "/activity".to_owned(),
        |campaign| format!("/campaigns/{campaign}/activity"),
    )
}

/// Where a page asks for new records.
fn live(campaign: Option<&CampaignId>, query: &ActivityQuery, newest: ActivityPlace) -> String {
    let than = query.with(&[("than", &written_place(newest))]);
    format!("{}/new{than}", path_of(campaign))
}

/// The keys and members that are offered to choose from: each as the filter's value, and as it is shown.
async fn people(visit: &Visit) -> Result<Vec<(String, String)>, PageError> {
    let (keys, listed) = try_join(api_keys::keys(visit), users::members(visit)).await?;
    let keys = keys.into_iter().take(OFFERED).map(|key| {
        (
            format!("{}:{}", ActorKind::ApiKey.as_str(), key.id),
            format!("Key “{}”", key.name),
        )
    });
    let members = listed.members.into_iter().take(OFFERED).map(|member| {
        let id = member.person.key.as_str();
        (
            format!("{}:{id}", ActorKind::User.as_str()),
            member.person.email.clone(),
        )
    });
    Ok(keys.chain(members).collect())
}

async fn record(
    visit: &Visit,
    shell: &Shell,
    query: &ActivityQuery,
    campaign: Option<&CampaignId>,
) -> Result<Record, PageError> {
    let path = path_of(campaign);
    let page = if query.has_odd_lead() {
        None
    } else {
        let search = query.search(visit.organization(), campaign, visit.now);
        let page = visit.console.search_activity.page(&search, place(&query.below));
        Some(visit.console.runtime.read(page).await??)
    };
    let mut people = people(visit).await?;
    // Others are offered as the page shows them: the service, commands, and who is gone.
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
    // A page without records waits for what is newer than itself.
    let newest = newest.map_or_else(|| place_at(visit.now), ActivityPlace::of);
    Ok(Record {
        filters: filters(query, shell, campaign, people),
        lead: query.lead.clone(),
        lead_fault: query.has_odd_lead(),
        is_filtered: query.is_filtered(),
        csv: format!("/activity.csv{}", filter.with(&[])),
        live: (query.below.is_empty() && !query.has_odd_lead()).then(|| live(campaign, query, newest)),
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
        // A part has up to 500 entries.
        let part = visit
            .console
            .runtime
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

    #[derive(Template)]
    #[template(path = "activity_record.html")]
    struct Alone {
        record: Record,
    }

    fn nothing(older: Option<&str>) -> String {
        let record = Record {
            path: "/activity".to_owned(),
            filters: Vec::new(),
            lead: String::new(),
            lead_fault: false,
            is_filtered: true,
            rows: Vec::new(),
            csv: String::new(),
            live: None,
            newest: None,
            older: older.map(str::to_owned),
        };
        Alone { record }.render().unwrap()
    }

    #[test]
    fn a_search_that_is_not_at_its_end_says_so_and_goes_on() {
        assert!(nothing(None).contains("No record has all of this."));
        let unfinished = nothing(Some("/activity?below=1.x"));
        assert!(
            unfinished.contains("href=\"/activity?below=1.x\""),
            "{unfinished}"
        );
        assert!(!unfinished.contains("No record has all of this."), "{unfinished}");
    }
}
