//! A campaign's filters: which jobs would match, which just miss, and why not this one?

use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::{HttpResponse, web};
use askama::Template;
use bidloop_domain::matching::{ExplainedCondition, SavedFilter};
use bidloop_domain::model::{CampaignId, FieldError, FilterId};
use bidloop_domain::port::FilterRecord;
use bidloop_domain::use_case::{FilterPreview, OrganizationChange, PREVIEWED, TriedJob, check_expression};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::filter_conditions::GROUPS;
use super::filter_form::{self, Shown};
use crate::campaign_head::{CampaignHead, Tab};
use crate::change::{Faults, Unchanged, change};
use crate::form::Fields;
use crate::job::{self, Conditions};
use crate::page::{PageError, Refusal, campaign_id, go_to, html_with};
use crate::sheet::Question;
use crate::shell::Shell;
use crate::visit::{Posted, Visit};
use crate::words;

/// Tells htmx to leave the preview as it is: the last valid version.
const KEEP: (HeaderName, HeaderValue) = (
    HeaderName::from_static("hx-reswap"),
    HeaderValue::from_static("none"),
);

#[derive(Template)]
#[template(path = "filters.html")]
struct FiltersPage {
    shell: Shell,
    head: CampaignHead,
    /// The address of the form.
    path: String,
    others: Vec<Other>,
    name: String,
    name_fault: Option<String>,
    is_new: bool,
    groups: Vec<Group>,
    expression: Option<MarkedExpression>,
    unknown_holds: bool,
    /// Whether a script asks, which asks again after the next change.
    is_part: bool,
    /// Why it was not saved, whatever is typed.
    refusal: Option<Refusal>,
    /// Every fault, as a sentence that names its field.
    faults: Vec<String>,
    preview: Option<Preview>,
    /// The job that is asked about, and the answer.
    asked: String,
    tried: Option<Tried>,
}

impl FiltersPage {
    /// Whether too many previews run already.
    fn is_busy(&self) -> bool {
        self.preview.is_none() && self.faults.is_empty()
    }
}

struct Other {
    name: String,
    href: String,
    is_shown: bool,
}

struct Group {
    heading: &'static str,
    fields: Vec<Shown>,
    /// Whether it is folded.
    is_folded: bool,
}

/// A faulty keyword expression, in three parts; the second is the faulty token.
struct MarkedExpression {
    before: String,
    token: String,
    after: String,
    /// What stands below the token.
    caret: String,
}

struct Preview {
    matching: u64,
    examined: u64,
    is_complete: bool,
    took: String,
    newest: Vec<PreviewedRow>,
    near_misses: Vec<PreviewedRow>,
    near_misses_among: u64,
}

struct PreviewedRow {
    title: String,
    href: String,
    facts: String,
}

struct Tried {
    title: String,
    href: String,
    conditions: Vec<ExplainedCondition>,
    matches: bool,
}

impl Tried {
    fn conditions(&self) -> Conditions<'_> {
        Conditions::new(&self.conditions, true)
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct FiltersQuery {
    new: Option<String>,
}

/// A filter as a form holds it.
struct Draft {
    /// `None` for a new one.
    id: Option<FilterId>,
    name: String,
    body: Value,
    /// The job that is asked about.
    asked: String,
}

async fn saved(visit: &Visit, campaign: &CampaignId) -> Result<Vec<FilterRecord>, PageError> {
    let saved = visit.console.try_filter.saved(visit.organization(), campaign);
    let saved = visit.console.runtime.read(saved).await??;
    saved.ok_or(PageError::NotFound)
}

fn filter_id(text: &str) -> Result<FilterId, PageError> {
    FilterId::parse(text).map_err(|_| PageError::NotFound)
}

fn list_path(campaign: &CampaignId) -> String {
    format!("/campaigns/{campaign}/filters")
}

/// `GET /campaigns/{c}/filters`: the first filter, or the form of a new one.
pub(crate) async fn first(
    visit: Visit,
    campaign: web::Path<String>,
    query: web::Query<FiltersQuery>,
) -> Result<HttpResponse, PageError> {
    let campaign = campaign_id(&campaign)?;
    let saved = saved(&visit, &campaign).await?;
    let first = saved.first().filter(|_| query.new.is_none());
    let draft = first.map_or_else(
        || Draft {
            id: None,
            name: String::new(),
            body: json!({}),
            asked: String::new(),
        },
        Draft::of,
    );
    show(&visit, &campaign, saved, draft, Faults::default(), None).await
}

/// `GET /campaigns/{c}/filters/{f}`.
pub(crate) async fn show_one(
    visit: Visit,
    path: web::Path<(String, String)>,
) -> Result<HttpResponse, PageError> {
    let (campaign, filter) = (campaign_id(&path.0)?, filter_id(&path.1)?);
    let saved = saved(&visit, &campaign).await?;
    let draft = saved.iter().find(|known| known.id == filter).map(Draft::of);
    let draft = draft.ok_or(PageError::NotFound)?;
    show(&visit, &campaign, saved, draft, Faults::default(), None).await
}

/// `POST /campaigns/{c}/filters`: a new filter.
pub(crate) async fn create(
    Posted { visit, fields }: Posted,
    campaign: web::Path<String>,
) -> Result<HttpResponse, PageError> {
    let campaign = campaign_id(&campaign)?;
    let saved = saved(&visit, &campaign).await?;
    act(&visit, &campaign, saved, Draft::typed(None, &fields), &fields).await
}

/// `POST /campaigns/{c}/filters/{f}`.
pub(crate) async fn edit(
    Posted { visit, fields }: Posted,
    path: web::Path<(String, String)>,
) -> Result<HttpResponse, PageError> {
    let (campaign, filter) = (campaign_id(&path.0)?, filter_id(&path.1)?);
    let saved = saved(&visit, &campaign).await?;
    if !saved.iter().any(|known| known.id == filter) {
        return Err(PageError::NotFound);
    }
    act(
        &visit,
        &campaign,
        saved,
        Draft::typed(Some(filter), &fields),
        &fields,
    )
    .await
}

/// Saves the filter, or shows what it would match.
async fn act(
    visit: &Visit,
    campaign: &CampaignId,
    saved: Vec<FilterRecord>,
    draft: Draft,
    fields: &Fields,
) -> Result<HttpResponse, PageError> {
    if fields.text("action") != "save" {
        return show(visit, campaign, saved, draft, Faults::default(), None).await;
    }
    let put = OrganizationChange::PutFilter {
        campaign: campaign.clone(),
        filter: draft.id.clone(),
        name: draft.name.clone(),
        conditions: draft.conditions(),
    };
    match change(visit, put).await {
        Ok(_) => {
            let path = match &draft.id {
                Some(filter) => format!("{}/{filter}", list_path(campaign)),
                None => list_path(campaign),
            };
            Ok(go_to(visit, &format!("{path}?done=saved")))
        }
        Err(Unchanged::Faulty(faults)) => show(visit, campaign, saved, draft, faults, None).await,
        Err(Unchanged::Page(error)) => {
            let refusal = error.above_form()?;
            show(visit, campaign, saved, draft, Faults::default(), Some(refusal)).await
        }
    }
}

impl Draft {
    fn of(saved: &FilterRecord) -> Self {
        Self {
            id: Some(saved.id.clone()),
            name: saved.name.clone(),
            body: saved.body.clone(),
            asked: String::new(),
        }
    }

    fn typed(id: Option<FilterId>, fields: &Fields) -> Self {
        Self {
            id,
            name: fields.text("name").trim().to_owned(),
            body: Value::Object(filter_form::read(fields)),
            asked: fields.text("job").trim().to_owned(),
        }
    }

    fn conditions(&self) -> Map<String, Value> {
        self.body.as_object().cloned().unwrap_or_default()
    }
}

async fn show(
    visit: &Visit,
    campaign: &CampaignId,
    saved: Vec<FilterRecord>,
    draft: Draft,
    faults: Faults,
    refusal: Option<Refusal>,
) -> Result<HttpResponse, PageError> {
    let (shell, head) = Shell::of_campaign(visit, campaign).await?;
    let checked = SavedFilter::from_value(&draft.body);
    let is_valid = checked.is_ok();
    let (preview, tried) = if is_valid {
        (preview(visit, &draft.body).await?, tried(visit, &draft).await?)
    } else {
        (None, None)
    };
    // A change reports all faults; what is only tried is checked here.
    let faults = match checked {
        Err(found) if faults.count() == 0 => Faults::of_fields(found),
        _ => faults,
    };
    let mut page = page(shell, head, saved, draft, &faults, preview, tried);
    page.is_part = visit.wants_part;
    page.refusal = refusal;
    let mut response = html_with(Refusal::status(page.refusal.as_ref()), &page)?;
    if visit.wants_part && !is_valid {
        response.headers_mut().insert(KEEP.0, KEEP.1);
    }
    Ok(response)
}

fn page(
    shell: Shell,
    head: CampaignHead,
    saved: Vec<FilterRecord>,
    draft: Draft,
    faults: &Faults,
    preview: Option<Preview>,
    tried: Option<Tried>,
) -> FiltersPage {
    let path = list_path(&head.id);
    let keywords = draft.body.get("keywords").and_then(Value::as_str);
    let groups = GROUPS.iter().enumerate().map(|(number, (heading, conditions))| {
        let fields: Vec<Shown> = conditions
            .iter()
            .map(|condition| Shown::of(*condition, &draft.body, |path| faults.at(path).map(str::to_owned)))
            .collect();
        Group {
            heading,
            is_folded: number > 0
                && !fields
                    .iter()
                    .any(|field| field.is_used() || field.fault.is_some()),
            fields,
        }
    });
    FiltersPage {
        groups: groups.collect(),
        expression: keywords.and_then(marked),
        unknown_holds: filter_form::unknown_holds(&draft.body),
        name_fault: faults.at("name").map(str::to_owned),
        is_part: false,
        refusal: None,
        faults: faults
            .all()
            .map(|(field, fault)| format!("{field}: {fault}"))
            .collect(),
        is_new: draft.id.is_none(),
        others: saved
            .into_iter()
            .map(|other| Other {
                href: format!("{path}/{}", other.id),
                is_shown: draft.id.as_ref() == Some(&other.id),
                name: other.name,
            })
            .collect(),
        path: match &draft.id {
            Some(filter) => format!("{path}/{filter}"),
            None => path,
        },
        name: draft.name,
        asked: draft.asked,
        preview,
        tried,
        shell,
        head: head.at(Tab::Filters),
    }
}

/// The expression with its faulty token marked.
fn marked(text: &str) -> Option<MarkedExpression> {
    let fault = check_expression(text).err()?;
    let before: String = text.chars().take(fault.position.saturating_sub(1)).collect();
    let token = text
        .chars()
        .skip(fault.position.saturating_sub(1))
        .take(fault.length)
        .collect();
    let after = text
        .chars()
        .skip(fault.position.saturating_sub(1) + fault.length)
        .collect();
    // The line of the token begins after the last line break before it.
    let column = before.chars().rev().take_while(|char| *char != '\n').count();
    Some(MarkedExpression {
        caret: format!("{}^ character {}", " ".repeat(column), fault.position),
        before,
        token,
        after,
    })
}

/// What the filter would match; `None` if too many previews run already.
async fn preview(visit: &Visit, body: &Value) -> Result<Option<Preview>, PageError> {
    let Some(place) = visit.console.previews.place(visit.organization()).await else {
        return Ok(None);
    };
    let (try_filter, body, clock) = (
        visit.console.try_filter.clone(),
        body.clone(),
        visit.console.clock.clone(),
    );
    let begun = clock.now();
    let found = visit.console.runtime.run(async move {
        let found = try_filter.preview(&body, PREVIEWED).await;
        // It runs to its end even if the browser goes away, and keeps its place until then.
        drop(place);
        found
    });
    let found = found.await??.map_err(|faults| odd(&faults))?;
    Ok(Some(previewed(found, words::took(clock.now().since(begun)))))
}

/// A filter that was found valid a moment ago.
fn odd(faults: &[FieldError]) -> PageError {
    PageError::Failed(format!("a valid filter has faults: {faults:?}"))
}

fn previewed(found: FilterPreview, took: String) -> Preview {
    let newest = found.newest.into_iter().map(|job| PreviewedRow {
        facts: job::pay(&job.post),
        title: job.post.title,
        href: job.job_url,
    });
    let near_misses = found
        .near_misses
        .into_iter()
        .map(|(job, condition)| PreviewedRow {
            facts: format!(
                "{} · {}: {}",
                job::pay(&job.post),
                words::condition(condition.path),
                condition.detail
            ),
            title: job.post.title,
            href: job.job_url,
        });
    Preview {
        matching: found.matching,
        examined: found.examined,
        is_complete: found.is_complete,
        took,
        newest: newest.collect(),
        near_misses: near_misses.collect(),
        near_misses_among: found.near_misses_among,
    }
}

async fn tried(visit: &Visit, draft: &Draft) -> Result<Option<Tried>, PageError> {
    if draft.asked.is_empty() {
        return Ok(None);
    }
    let (try_filter, body, asked) = (
        visit.console.try_filter.clone(),
        draft.body.clone(),
        draft.asked.clone(),
    );
    // It may read the newest 2,000 posts.
    let found = visit
        .console
        .runtime
        .run(async move { try_filter.explain(&body, &asked).await });
    let found: Option<TriedJob> = found.await??.map_err(|faults| odd(&faults))?;
    Ok(found.map(|found| Tried {
        title: found.job.post.title,
        href: found.job.job_url,
        matches: found.explanation.matches,
        conditions: found.explanation.conditions,
    }))
}

/// `GET /campaigns/{c}/filters/{f}/delete`.
pub(crate) async fn ask_delete(
    visit: Visit,
    path: web::Path<(String, String)>,
) -> Result<HttpResponse, PageError> {
    let (campaign, filter) = (campaign_id(&path.0)?, filter_id(&path.1)?);
    let mut saved = saved(&visit, &campaign).await?.into_iter();
    let known = saved.find(|known| known.id == filter);
    let filter = format!("{}/{filter}", list_path(&campaign));
    let question = Question {
        asks: "Delete",
        name: Some(known.ok_or(PageError::NotFound)?.name),
        text: "Jobs that only this filter matches leave the campaign’s Feed. Leads that were bid on stay."
            .to_owned(),
        button: "Delete filter",
        is_danger: true,
        action: format!("{filter}/delete"),
        fields: Vec::new(),
        back: filter,
    };
    question.ask(&visit, Shell::within(&visit, &campaign)).await
}

/// `POST /campaigns/{c}/filters/{f}/delete`.
pub(crate) async fn delete(
    Posted { visit, .. }: Posted,
    path: web::Path<(String, String)>,
) -> Result<HttpResponse, PageError> {
    let (campaign, filter) = (campaign_id(&path.0)?, filter_id(&path.1)?);
    let removed = OrganizationChange::RemoveFilter {
        campaign: campaign.clone(),
        filter,
    };
    change(&visit, removed).await.map_err(Unchanged::into_page)?;
    Ok(go_to(&visit, &format!("{}?done=deleted", list_path(&campaign))))
}
