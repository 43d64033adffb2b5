//! The endpoints with their last deliveries: does my program get its events?

use actix_web::{HttpRequest, HttpResponse, web};
use askama::Template;
use bidloop_domain::model::{DeliveryId, EndpointId, EventKind, Timestamp};
use bidloop_domain::port::{CampaignSign, EndpointFacts};
use bidloop_domain::use_case::{Integrations, ShownDelivery};
use serde::Deserialize;
use uuid::Uuid;

use super::deliveries::{Row as DeliveryRow, rows, told};
use super::place::Scope;
use crate::campaign_head::{CampaignHead, Tab};
use crate::page::{PageError, html};
use crate::parts::{Spark, spark};
use crate::shell::{Place, Setting, Shell};
use crate::tries::{self, Told};
use crate::visit::Visit;
use crate::words;

/// A campaign's Integrations.
#[derive(Template)]
#[template(path = "integrations.html")]
struct CampaignPage {
    shell: Shell,
    head: CampaignHead,
    view: View,
}

/// The organization's Webhooks.
#[derive(Template)]
#[template(path = "webhooks.html")]
struct OrganizationPage {
    shell: Shell,
    view: View,
    without_job_new: Vec<CampaignSign>,
}

impl OrganizationPage {
    fn hears_of_jobs(&self) -> bool {
        let mut endpoints = self.view.endpoints.iter();
        endpoints.any(|row| row.facts.endpoint.receives_job_new())
    }

    /// “A”, “B”.
    fn without(&self) -> String {
        let names: Vec<String> = self
            .without_job_new
            .iter()
            .map(|sign| format!("“{}”", sign.name))
            .collect();
        names.join(", ")
    }
}

struct View {
    csrf: String,
    path: String,
    endpoints: Vec<EndpointRow>,
    /// Whether the person may add one here.
    may_add: bool,
    secret: Option<ShownSecret>,
    tried: Vec<Told>,
    /// The endpoint that could be tested if a lead were made, with the event.
    offer: Option<Offer>,
    /// The endpoint whose deliveries are shown.
    shown: Option<Deliveries>,
    /// The deliveries in Activity.
    activity: String,
    now: Timestamp,
}

impl View {
    /// The page without what was just told.
    fn address(&self) -> &str {
        self.shown.as_ref().map_or(&self.path, |shown| &shown.path)
    }
}

/// A secret, this once.
pub(crate) struct ShownSecret {
    pub(crate) url: String,
    pub(crate) secret: String,
    /// Whether a former one signs for a while, too.
    pub(crate) is_rotated: bool,
}

/// A test that needs a lead.
pub(crate) struct Offer {
    pub(crate) endpoint: EndpointId,
    pub(crate) event: Option<EventKind>,
    /// Whether the latest match can be made one.
    pub(crate) can_make: bool,
}

impl Offer {
    fn event(&self) -> &'static str {
        self.event.map_or("", |event| event.as_str())
    }
}

struct EndpointRow {
    facts: EndpointFacts,
    path: String,
    /// Whether the person may change it here.
    may_change: bool,
    /// Whether it is the organization's, shown in a campaign's page.
    is_foreign: bool,
    is_shown: bool,
    now: Timestamp,
}

impl EndpointRow {
    fn events(&self) -> Vec<&'static str> {
        self.facts
            .endpoint
            .events
            .iter()
            .map(|event| event.as_str())
            .collect()
    }

    fn last(&self) -> String {
        let good = self.facts.last.iter().filter(|good| **good).count();
        format!("{good} of {}", self.facts.last.len())
    }

    fn is_bad(&self) -> bool {
        self.facts.last.iter().any(|good| !good)
    }

    fn icon(&self) -> &'static str {
        if self.is_bad() { "x" } else { "check" }
    }

    fn spark(&self) -> Spark<'_> {
        spark(&self.facts.last)
    }

    /// Until when two secrets sign.
    fn both_sign_until(&self) -> Option<String> {
        let until = self.facts.previous_secret_until?;
        (until > self.now).then(|| words::utc(until))
    }
}

struct Deliveries {
    url: String,
    rows: Vec<DeliveryRow>,
    failed: usize,
    /// The page with all of them, and with those that failed.
    path: String,
    only_failed: bool,
}

/// What the query string asks for.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ListQuery {
    endpoint: String,
    open: String,
    failed: bool,
}

/// What stands above the list after something was done.
#[derive(Default)]
pub(crate) struct Above {
    pub(crate) secret: Option<ShownSecret>,
    pub(crate) offer: Option<Offer>,
}

/// `GET /campaigns/{c}/integrations`, `GET /settings/integrations/webhooks`.
pub(crate) async fn show(
    visit: Visit,
    scope: Scope,
    query: web::Query<ListQuery>,
    request: HttpRequest,
) -> Result<HttpResponse, PageError> {
    let tried: Vec<DeliveryId> = tries::named(request.query_string()).collect();
    page(&visit, &scope, &query, &tried, Above::default()).await
}

/// The endpoints of the scope.
pub(crate) async fn integrations(visit: &Visit, scope: &Scope) -> Result<Integrations, PageError> {
    let show = &visit.console.show_integrations;
    let found = show.execute(visit.member(), scope.campaign.as_ref());
    let found = visit.console.runtime.read(found).await??;
    found.ok_or(PageError::NotFound)
}

pub(crate) async fn page(
    visit: &Visit,
    scope: &Scope,
    query: &ListQuery,
    tried: &[DeliveryId],
    above: Above,
) -> Result<HttpResponse, PageError> {
    let found = integrations(visit, scope).await?;
    let path = scope.path();
    let asked = found.endpoints.iter().map(|known| &known.endpoint);
    let asked: Vec<_> = asked.collect();
    let shown = asked
        .iter()
        .find(|endpoint| endpoint.id.as_str() == query.endpoint)
        .or_else(|| asked.first())
        .copied()
        .cloned();
    let mut tellings = Vec::new();
    let deliveries = match &shown {
        Some(endpoint) => {
            let loaded = deliveries(visit, &endpoint.id).await?;
            tellings.extend(tried.iter().filter_map(|tried| told(&loaded, *tried)));
            let here = format!("{path}?endpoint={}", endpoint.id);
            let mut rows = rows(loaded, scope.campaign.as_ref(), opened(query), &here);
            let failed = rows.iter().filter(|row| row.is_good == Some(false)).count();
            rows.retain(|row| !query.failed || row.is_good == Some(false));
            Some(Deliveries {
                url: endpoint.url.clone(),
                rows,
                failed,
                path: here,
                only_failed: query.failed,
            })
        }
        None => None,
    };
    let is_owner = visit.member().is_owner();
    let is_shown = |endpoint: &EndpointId| shown.as_ref().is_some_and(|shown| shown.id == *endpoint);
    let view = View {
        csrf: visit.csrf.clone(),
        endpoints: found
            .endpoints
            .into_iter()
            .map(|facts| {
                let is_foreign = scope.campaign.is_some() && facts.endpoint.campaign_id.is_none();
                EndpointRow {
                    path: format!("{path}/{}", facts.endpoint.id),
                    may_change: !is_foreign && (scope.campaign.is_some() || is_owner),
                    is_foreign,
                    is_shown: is_shown(&facts.endpoint.id),
                    now: found.now,
                    facts,
                }
            })
            .collect(),
        may_add: scope.campaign.is_some() || is_owner,
        secret: above.secret,
        tried: tellings,
        offer: above.offer,
        shown: deliveries,
        activity: scope.deliveries_in_activity(),
        now: found.now,
        path,
    };
    match &scope.campaign {
        Some(campaign) => {
            let (shell, head) = Shell::of_campaign(visit, campaign).await?;
            html(&CampaignPage {
                shell,
                head: head.at(Tab::Integrations),
                view,
            })
        }
        None => html(&OrganizationPage {
            shell: Shell::of(visit, Place::Settings(Setting::Integrations), "Integrations").await?,
            view,
            without_job_new: found.without_job_new,
        }),
    }
}

fn opened(query: &ListQuery) -> Option<DeliveryId> {
    Uuid::parse_str(&query.open).ok().map(DeliveryId)
}

async fn deliveries(visit: &Visit, endpoint: &EndpointId) -> Result<Vec<ShownDelivery>, PageError> {
    let show = &visit.console.show_deliveries;
    let found = show.execute(visit.organization(), endpoint);
    Ok(visit.console.runtime.read(found).await??)
}
