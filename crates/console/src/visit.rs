//! Who is asking: the session of a request, and the form of a change that carries the session's token.

use std::future::Future;
use std::pin::Pin;

use actix_web::cookie::time::Duration;
use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest, HttpResponse, web};
use bidloop_domain::model::{Member, OrganizationId, SESSION_LIFETIME, SessionToken, Timestamp};
use bidloop_domain::use_case::SignedIn;

use crate::Console;
use crate::cookie;
use crate::csrf;
use crate::display::Display;
use crate::form::Fields;
use crate::guard::ConsoleAddress;
use crate::page::{PageError, see_other, shown_page};
use crate::wanted_part::WantedPart;

/// The field of a form, and the header of a request by script, with the session's token.
pub(crate) const CSRF: &str = "csrf";
const CSRF_HEADER: &str = "x-csrf-token";

/// A request of a signed-in person.
#[derive(Debug, Clone)]
pub(crate) struct Visit {
    pub(crate) console: web::Data<Console>,
    pub(crate) signed_in: SignedIn,
    /// The moment that the page shows.
    pub(crate) now: Timestamp,
    /// What forms of the page carry.
    pub(crate) csrf: String,
    pub(crate) display: Display,
    /// What was done just before, by a word.
    pub(crate) done: Option<String>,
    /// Whether a script asks for the part that changed instead of a page.
    pub(crate) wants_part: bool,
}

impl Visit {
    async fn of(request: &HttpRequest) -> Result<Self, PageError> {
        let console = request
            .app_data::<web::Data<Console>>()
            .cloned()
            .ok_or_else(|| PageError::Failed("the console is not configured".to_owned()))?;
        let signed_in = find(request, &console).await?;
        let signed_in = signed_in.ok_or_else(|| PageError::SignedOut {
            next: shown_page(request),
        })?;
        let mut pad = [0; 32];
        console.entropy.fill_random(&mut pad);
        Ok(Self {
            csrf: csrf::masked(&signed_in.csrf, pad),
            signed_in,
            display: Display::of(request),
            done: form_urlencoded::parse(request.query_string().as_bytes())
                .find(|(name, _)| name == "done")
                .map(|(_, word)| word.into_owned()),
            now: console.clock.now(),
            wants_part: request.headers().contains_key("hx-request"),
            console,
        })
    }

    pub(crate) const fn member(&self) -> &Member {
        &self.signed_in.member
    }

    pub(crate) fn organization(&self) -> &OrganizationId {
        self.member().organization_id()
    }

    /// Refuses what only owners may do, where the page itself is for them.
    pub(crate) fn require_owner(&self) -> Result<(), PageError> {
        self.member()
            .is_owner()
            .then_some(())
            .ok_or(PageError::OwnersOnly)
    }
}

/// Who is signed in, if anybody is.
pub(crate) async fn find(request: &HttpRequest, console: &Console) -> Result<Option<SignedIn>, PageError> {
    let Some(cookie) = request.cookie(cookie_name(&console.address)) else {
        return Ok(None);
    };
    let sessions = &console.sessions;
    let is_of_open_page =
        request.path() == "/events" || WantedPart::of(request).is_some_and(|part| part.is_update);
    if is_of_open_page {
        let found = sessions.current_of_open_page(cookie.value());
        return Ok(console.runtime.read(found).await??);
    }
    // It notes the session's use.
    let sessions = sessions.clone();
    let found = async move { sessions.current(cookie.value()).await };
    Ok(console.runtime.run(found).await??)
}

/// Browsers accept the first name only over TLS and from this very host.
const fn cookie_name(address: &ConsoleAddress) -> &'static str {
    if address.is_https() {
        "__Host-bidloop"
    } else {
        "bidloop"
    }
}

/// Leads to a page with a session (decision E2).
pub(crate) fn signed_in(address: &ConsoleAddress, token: &SessionToken, path: &str) -> HttpResponse {
    let mut cookie = cookie::of(address, cookie_name(address), token.expose().to_owned());
    cookie.set_max_age(Duration::try_from(SESSION_LIFETIME).unwrap_or(Duration::ZERO));
    cookie::give(see_other(path), &cookie)
}

/// Takes the session's cookie back with this answer.
pub(crate) fn signed_out(address: &ConsoleAddress, answer: HttpResponse) -> HttpResponse {
    let mut cookie = cookie::of(address, cookie_name(address), String::new());
    cookie.make_removal();
    cookie::give(answer, &cookie)
}

impl FromRequest for Visit {
    type Error = PageError;
    type Future = Pin<Box<dyn Future<Output = Result<Self, PageError>>>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let request = request.clone();
        Box::pin(async move { Self::of(&request).await })
    }
}

/// A change that a signed-in person asks for. Its form carries the session's token.
#[derive(Debug)]
pub(crate) struct Posted {
    pub(crate) visit: Visit,
    pub(crate) fields: Fields,
}

impl Posted {
    /// Reads the form of a person's request.
    pub(crate) async fn read(visit: Visit, request: &HttpRequest) -> Result<Self, PageError> {
        let fields = Fields::read(request).await?;
        let presented = fields.given(CSRF).or_else(|| header_token(request));
        if !csrf::is_presented(&visit.signed_in.csrf, presented.unwrap_or_default()) {
            return Err(PageError::FormExpired);
        }
        Ok(Self { visit, fields })
    }
}

/// The token that a request by script presents in its head.
pub(crate) fn header_token(request: &HttpRequest) -> Option<&str> {
    request.headers().get(CSRF_HEADER)?.to_str().ok()
}

impl FromRequest for Posted {
    type Error = PageError;
    type Future = Pin<Box<dyn Future<Output = Result<Self, PageError>>>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let request = request.clone();
        Box::pin(async move { Self::read(Visit::of(&request).await?, &request).await })
    }
}
