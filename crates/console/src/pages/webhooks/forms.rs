//! Making, changing, pausing and removing an endpoint, and rotating its secret.

use actix_web::HttpResponse;
use askama::Template;
use bidloop_domain::model::{EndpointId, EventKind, WebhookEndpoint};
use bidloop_domain::use_case::OrganizationChange;

use super::list::{Above, ListQuery, ShownSecret, integrations, page};
use super::place::{EndpointPlace, Scope};
use crate::change::{Faults, Unchanged, change};
use crate::form::Fields;
use crate::page::{PageError, go_to};
use crate::sheet::{self, Question};
use crate::shell::{Place, Setting, Shell};
use crate::visit::{Posted, Visit};

#[derive(Template)]
#[template(path = "webhook_form.html")]
struct WebhookForm {
    csrf: String,
    /// The list's path.
    back: String,
    /// Where the form goes.
    action: String,
    is_new: bool,
    url: String,
    events: Vec<EventKind>,
    faults: Faults,
}

impl WebhookForm {
    fn has(&self, event: EventKind) -> bool {
        self.events.contains(&event)
    }
}

async fn shell_of(visit: &Visit, scope: &Scope) -> Result<Shell, PageError> {
    Ok(match &scope.campaign {
        Some(campaign) => Shell::of_campaign(visit, campaign).await?.0,
        None => Shell::of(visit, Place::Settings(Setting::Integrations), "Integrations").await?,
    })
}

/// Members change a campaign's endpoints, owners also the organization's (decision E1).
fn require_right(visit: &Visit, scope: &Scope) -> Result<(), PageError> {
    match scope.campaign {
        Some(_) => Ok(()),
        None => visit.require_owner(),
    }
}

/// The endpoint, if it is changed on this page.
async fn known(visit: &Visit, place: &EndpointPlace) -> Result<WebhookEndpoint, PageError> {
    require_right(visit, &place.scope)?;
    let endpoints = integrations(visit, &place.scope).await?.endpoints.into_iter();
    let mut endpoints = endpoints.map(|known| known.endpoint);
    let is_it =
        |known: &WebhookEndpoint| known.id == place.endpoint && known.campaign_id == place.scope.campaign;
    endpoints.find(is_it).ok_or(PageError::NotFound)
}

async fn show(visit: &Visit, scope: &Scope, form: WebhookForm) -> Result<HttpResponse, PageError> {
    let title = if form.is_new {
        "Add webhook"
    } else {
        "Edit webhook"
    };
    sheet::show(visit, title, &form, shell_of(visit, scope)).await
}

fn new_form(visit: &Visit, scope: &Scope) -> WebhookForm {
    WebhookForm {
        csrf: visit.csrf.clone(),
        back: scope.path(),
        action: scope.path(),
        is_new: true,
        url: String::new(),
        events: vec![EventKind::JobNew],
        faults: Faults::default(),
    }
}

/// `GET …/new`.
pub(crate) async fn ask_new(visit: Visit, scope: Scope) -> Result<HttpResponse, PageError> {
    require_right(&visit, &scope)?;
    let form = new_form(&visit, &scope);
    show(&visit, &scope, form).await
}

fn events_of(fields: &Fields) -> Vec<EventKind> {
    let all = [EventKind::JobNew, EventKind::BidComplete];
    all.into_iter()
        .filter(|event| fields.given(event.as_str()).is_some())
        .collect()
}

/// `POST` to the list: the answer shows the secret, this once.
pub(crate) async fn create(
    Posted { visit, fields }: Posted,
    scope: Scope,
) -> Result<HttpResponse, PageError> {
    let (url, events) = (fields.text("url").trim().to_owned(), events_of(&fields));
    let new = OrganizationChange::CreateWebhook {
        campaign: scope.campaign.clone(),
        url: url.clone(),
        events: events.clone(),
    };
    match change(&visit, new).await {
        Ok(changed) => shown_secret(&visit, &scope, url, changed.secret, false).await,
        Err(Unchanged::Faulty(faults)) => {
            let form = WebhookForm {
                url,
                events,
                faults,
                ..new_form(&visit, &scope)
            };
            show(&visit, &scope, form).await
        }
        Err(Unchanged::Page(error)) => Err(error),
    }
}

async fn shown_secret(
    visit: &Visit,
    scope: &Scope,
    url: String,
    secret: Option<bidloop_domain::model::Secret<String>>,
    is_rotated: bool,
) -> Result<HttpResponse, PageError> {
    let secret = secret.map(|secret| ShownSecret {
        url,
        secret: secret.expose().clone(),
        is_rotated,
    });
    let above = Above {
        secret,
        ..Above::default()
    };
    page(visit, scope, &ListQuery::default(), &[], above).await
}

fn edit_form(visit: &Visit, scope: &Scope, endpoint: &WebhookEndpoint) -> WebhookForm {
    WebhookForm {
        csrf: visit.csrf.clone(),
        back: scope.path(),
        action: format!("{}/{}/edit", scope.path(), endpoint.id),
        is_new: false,
        url: endpoint.url.clone(),
        events: endpoint.events.clone(),
        faults: Faults::default(),
    }
}

/// `GET …/{endpoint}/edit`.
pub(crate) async fn ask_edit(visit: Visit, place: EndpointPlace) -> Result<HttpResponse, PageError> {
    let endpoint = known(&visit, &place).await?;
    let form = edit_form(&visit, &place.scope, &endpoint);
    show(&visit, &place.scope, form).await
}

/// `POST …/{endpoint}/edit`.
pub(crate) async fn edit(
    Posted { visit, fields }: Posted,
    place: EndpointPlace,
) -> Result<HttpResponse, PageError> {
    let endpoint = known(&visit, &place).await?;
    let (url, events) = (fields.text("url").trim().to_owned(), events_of(&fields));
    let edited = OrganizationChange::EditWebhook {
        endpoint: place.endpoint.clone(),
        url: Some(url.clone()),
        events: Some(events.clone()),
        active: None,
    };
    match change(&visit, edited).await {
        Ok(_) => Ok(go_to(&visit, &format!("{}?done=saved", place.scope.path()))),
        Err(Unchanged::Faulty(faults)) => {
            let form = WebhookForm {
                url,
                events,
                faults,
                ..edit_form(&visit, &place.scope, &endpoint)
            };
            show(&visit, &place.scope, form).await
        }
        Err(Unchanged::Page(error)) => Err(error),
    }
}

/// `POST …/{endpoint}/pause`.
pub(crate) async fn pause(posted: Posted, place: EndpointPlace) -> Result<HttpResponse, PageError> {
    set_active(posted, place, false).await
}

/// `POST …/{endpoint}/resume`.
pub(crate) async fn resume(posted: Posted, place: EndpointPlace) -> Result<HttpResponse, PageError> {
    set_active(posted, place, true).await
}

async fn set_active(
    Posted { visit, .. }: Posted,
    place: EndpointPlace,
    active: bool,
) -> Result<HttpResponse, PageError> {
    known(&visit, &place).await?;
    let edited = OrganizationChange::EditWebhook {
        endpoint: place.endpoint.clone(),
        url: None,
        events: None,
        active: Some(active),
    };
    change(&visit, edited).await.map_err(Unchanged::into_page)?;
    let done = if active {
        "endpoint_resumed"
    } else {
        "endpoint_paused"
    };
    Ok(go_to(&visit, &format!("{}?done={done}", place.scope.path())))
}

fn action(scope: &Scope, endpoint: &EndpointId, action: &str) -> String {
    format!("{}/{endpoint}/{action}", scope.path())
}

/// `GET …/{endpoint}/rotate`.
pub(crate) async fn ask_rotate(visit: Visit, place: EndpointPlace) -> Result<HttpResponse, PageError> {
    let endpoint = known(&visit, &place).await?;
    let question = Question {
        asks: "Rotate the secret of",
        name: Some(endpoint.url),
        text: "A new secret is shown once. Both sign for a day, so that your program can change over; a secret that \
               still signs from an earlier rotation ends now."
            .to_owned(),
        button: "Rotate secret",
        is_danger: false,
        action: action(&place.scope, &place.endpoint, "rotate"),
        fields: Vec::new(),
        back: place.scope.path(),
    };
    question.ask(&visit, shell_of(&visit, &place.scope)).await
}

/// `POST …/{endpoint}/rotate`: the answer shows the secret, this once.
pub(crate) async fn rotate(
    Posted { visit, .. }: Posted,
    place: EndpointPlace,
) -> Result<HttpResponse, PageError> {
    let endpoint = known(&visit, &place).await?;
    let rotated = OrganizationChange::RotateSecret {
        endpoint: place.endpoint.clone(),
    };
    let changed = change(&visit, rotated).await.map_err(Unchanged::into_page)?;
    shown_secret(&visit, &place.scope, endpoint.url, changed.secret, true).await
}

/// `GET …/{endpoint}/remove`.
pub(crate) async fn ask_remove(visit: Visit, place: EndpointPlace) -> Result<HttpResponse, PageError> {
    let endpoint = known(&visit, &place).await?;
    let question = Question {
        asks: "Remove",
        name: Some(endpoint.url),
        text: "It gets nothing from now on. What it was sent stays in Activity.".to_owned(),
        button: "Remove webhook",
        is_danger: true,
        action: action(&place.scope, &place.endpoint, "remove"),
        fields: Vec::new(),
        back: place.scope.path(),
    };
    question.ask(&visit, shell_of(&visit, &place.scope)).await
}

/// `POST …/{endpoint}/remove`.
pub(crate) async fn remove(
    Posted { visit, .. }: Posted,
    place: EndpointPlace,
) -> Result<HttpResponse, PageError> {
    known(&visit, &place).await?;
    let removed = OrganizationChange::RemoveWebhook {
        endpoint: place.endpoint.clone(),
    };
    change(&visit, removed).await.map_err(Unchanged::into_page)?;
    Ok(go_to(
        &visit,
        &format!("{}?done=webhook_removed", place.scope.path()),
    ))
}
