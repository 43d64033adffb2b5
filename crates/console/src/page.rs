//! Answers: pages, redirections, and what is shown instead of a page that cannot be.

use std::borrow::Cow;
use std::fmt;

use actix_web::http::{Method, StatusCode, Uri, header};
use actix_web::{HttpRequest, HttpResponse, ResponseError};
use askama::Template;
use bidloop_domain::model::{CampaignId, Unauthorized};
use bidloop_domain::port::StoreError;
use bidloop_domain::use_case::{LeadError, PeopleError, TryError};
use bidloop_http_server::UseCaseFault;

use crate::visit::Visit;
use crate::words;

/// Answers 200 with a page or a part of one.
pub(crate) fn html(template: &impl Template) -> Result<HttpResponse, PageError> {
    html_with(StatusCode::OK, template)
}

/// Answers with a page and another status.
pub(crate) fn html_with(status: StatusCode, template: &impl Template) -> Result<HttpResponse, PageError> {
    let page = template
        .render()
        .map_err(|error| PageError::Failed(error.to_string()))?;
    Ok(HttpResponse::build(status)
        .content_type("text/html; charset=utf-8")
        .body(page))
}

/// Leads to another page with a GET.
pub(crate) fn see_other(path: &str) -> HttpResponse {
    HttpResponse::SeeOther()
        .insert_header((header::LOCATION, path))
        .finish()
}

/// Leads to another page after a change that a form or a script asked for.
pub(crate) fn go_to(visit: &Visit, path: &str) -> HttpResponse {
    if visit.wants_part {
        return HttpResponse::Ok().insert_header(("hx-redirect", path)).finish();
    }
    see_other(path)
}

/// The campaign that a path names. What is no id is nobody's.
pub(crate) fn campaign_id(text: &str) -> Result<CampaignId, PageError> {
    CampaignId::parse(text).map_err(|_| PageError::NotFound)
}

/// Path and query of the page that a person sees: the one that is asked for, or the one that a change or a script is of.
pub(crate) fn shown_page(request: &HttpRequest) -> String {
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    let is_page = is_read && !request.headers().contains_key("hx-request");
    let of_header = |name| {
        let url = request.headers().get(name)?.to_str().ok()?;
        Some(url.parse::<Uri>().ok()?.path_and_query()?.to_string())
    };
    let shown = if is_page {
        request.uri().path_and_query().map(ToString::to_string)
    } else {
        of_header("hx-current-url").or_else(|| of_header("referer"))
    };
    shown.unwrap_or_else(|| "/".to_owned())
}

/// Why a page is not shown, or a change not made.
#[derive(Debug)]
pub(crate) enum PageError {
    /// There is no such page, or it is another organization's.
    NotFound,
    /// Nobody is signed in. The path is shown after signing in.
    SignedOut {
        /// Path and query.
        next: String,
    },
    /// What only an owner may do.
    OwnersOnly,
    /// The form is of another session, or too old.
    FormExpired,
    /// The form cannot be read.
    FormUnreadable(Cow<'static, str>),
    /// The request names another host.
    WrongHost,
    /// The change does not come from a page of the console.
    ForeignOrigin,
    /// The organization's subscription is not active (decision E4).
    SubscriptionLapsed,
    /// The invitation or the reset was used or withdrawn, or has expired.
    LinkOver,
    /// The rules refuse it, as this sentence says.
    Refused(String),
    /// The database is away.
    Unavailable(String),
    /// Anything unforeseen.
    Failed(String),
}

/// A page without the side bar that says what went wrong.
#[derive(Template)]
#[template(path = "problem.html")]
pub(crate) struct Problem<'a> {
    pub(crate) title: &'a str,
    pub(crate) text: &'a str,
    /// Whether the same request may succeed later.
    try_again: bool,
}

impl PageError {
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::SignedOut { .. } => StatusCode::SEE_OTHER,
            Self::OwnersOnly | Self::FormExpired | Self::ForeignOrigin => StatusCode::FORBIDDEN,
            Self::FormUnreadable(_) => StatusCode::BAD_REQUEST,
            Self::SubscriptionLapsed | Self::Refused(_) => StatusCode::CONFLICT,
            Self::LinkOver => StatusCode::GONE,
            Self::WrongHost => StatusCode::MISDIRECTED_REQUEST,
            Self::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Failed(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// What is told about it.
    pub(crate) fn problem(&self) -> Problem<'_> {
        let (title, text) = match self {
            Self::NotFound => (
                "Page not found",
                "There is nothing here, or it belongs to another organization.",
            ),
            Self::SignedOut { .. } => ("Signed out", "Sign in to go on."),
            Self::OwnersOnly => (
                "For owners only",
                "Only an owner of the organization may do this. Nothing was changed.",
            ),
            Self::FormExpired => (
                "This form is too old",
                "You signed in anew or switched to another organization after the form was loaded. Nothing was changed: go back, load the page again, and repeat.",
            ),
            Self::FormUnreadable(why) => ("The form could not be read", why.as_ref()),
            Self::SubscriptionLapsed => (
                "The subscription is not active",
                "Nothing was changed. What acts resumes when the subscription is active again.",
            ),
            Self::LinkOver => (
                "This link does not work any more",
                "It was used or withdrawn, or it has expired. Ask an owner of your organization for a new one.",
            ),
            Self::Refused(why) => ("Not done", why.as_str()),
            Self::WrongHost => (
                "Wrong address",
                "The console does not answer under this name: use the address of the setting server.base_url.",
            ),
            Self::ForeignOrigin => (
                "Not from this console",
                "The request came from another page. Nothing was changed.",
            ),
            Self::Unavailable(_) => (
                "Could not load",
                "The database did not answer. Nothing was lost; bids and deliveries wait for it.",
            ),
            Self::Failed(_) => ("Something went wrong", "The log of the service has the details."),
        };
        Problem {
            title,
            text,
            try_again: matches!(self, Self::Unavailable(_)),
        }
    }

    /// What stands above the form that was refused. The error itself if a page says it.
    pub(crate) fn above_form(self) -> Result<Refusal, Self> {
        let what = match &self {
            Self::Refused(why) => why.clone(),
            Self::SubscriptionLapsed => {
                let Problem { title, text, .. } = self.problem();
                format!("{title}. {text}")
            }
            Self::Unavailable(cause) => {
                tracing::warn!(cause, "a form cannot be taken now");
                "The service cannot take this now. What you typed is kept: try again in a moment.".to_owned()
            }
            _ => return Err(self),
        };
        Ok(Refusal::new(self.status(), what))
    }

    /// The answer. What operators must know is logged here, once.
    pub(crate) fn answer(&self) -> HttpResponse {
        match self {
            Self::SignedOut { next } => return see_other(&sign_in_for(next)),
            Self::Unavailable(cause) => tracing::warn!(cause, "a page cannot be shown now"),
            Self::Failed(cause) => tracing::error!(cause, "a page failed"),
            _ => {}
        }
        match html_with(self.status(), &self.problem()) {
            Ok(response) => response,
            Err(_) => HttpResponse::InternalServerError().finish(),
        }
    }
}

/// Why a form was not taken. It stands above what was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    status: StatusCode,
    what: String,
}

impl Refusal {
    pub(crate) const fn new(status: StatusCode, what: String) -> Self {
        Self { status, what }
    }

    /// The status of a form's page: 200 without a refusal.
    pub(crate) fn status(refusal: Option<&Self>) -> StatusCode {
        refusal.map_or(StatusCode::OK, |refusal| refusal.status)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

/// The page to sign in on before this path is shown.
pub(crate) fn sign_in_for(path: &str) -> String {
    let query: String = form_urlencoded::Serializer::new(String::new())
        .append_pair("next", path)
        .finish();
    format!("/sign-in?{query}")
}

impl fmt::Display for PageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.problem().title)
    }
}

impl std::error::Error for PageError {}

impl ResponseError for PageError {
    fn status_code(&self) -> StatusCode {
        self.status()
    }

    fn error_response(&self) -> HttpResponse {
        self.answer()
    }
}

impl From<Unauthorized> for PageError {
    fn from(why: Unauthorized) -> Self {
        match why {
            // A change has no page of its own to go on with.
            Unauthorized::Ended => Self::SignedOut { next: "/".to_owned() },
            Unauthorized::NotOwner => Self::OwnersOnly,
            Unauthorized::SubscriptionLapsed => Self::SubscriptionLapsed,
        }
    }
}

impl From<LeadError> for PageError {
    fn from(error: LeadError) -> Self {
        match error {
            LeadError::NotAuthorized(why) => why.into(),
            LeadError::CampaignUnknown | LeadError::LeadUnknown => Self::NotFound,
            LeadError::Overloaded => Self::Unavailable(error.to_string()),
            LeadError::Blob(error) => Self::Unavailable(error.to_string()),
            LeadError::Store(error) => error.into(),
            error => Self::Refused(error.to_string()),
        }
    }
}

impl From<PeopleError> for PageError {
    fn from(error: PeopleError) -> Self {
        match error {
            PeopleError::NotOwner | PeopleError::ScopeNeedsOwner => Self::OwnersOnly,
            PeopleError::Unknown | PeopleError::TokenUnknown => Self::NotFound,
            PeopleError::SubscriptionInactive => Self::SubscriptionLapsed,
            PeopleError::LinkOver => Self::LinkOver,
            PeopleError::Store(error) | PeopleError::Try(TryError::Store(error)) => error.into(),
            error => Self::Refused(words::sentence(&error.to_string())),
        }
    }
}

impl From<StoreError> for PageError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unavailable(_) => Self::Unavailable(error.to_string()),
            StoreError::Corrupt(_) | StoreError::Backend(_) => Self::Failed(error.to_string()),
        }
    }
}

impl From<UseCaseFault> for PageError {
    fn from(fault: UseCaseFault) -> Self {
        match fault {
            UseCaseFault::Panicked(_) => Self::Failed(fault.to_string()),
            UseCaseFault::Cancelled => Self::Unavailable(fault.to_string()),
        }
    }
}
