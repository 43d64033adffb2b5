//! The interface description (OpenAPI 3.1): the four operations, their bodies and errors, and the webhooks; as JSON and as
//! a page.
//!
//! `openapi.json` is written by hand, since its sentences are what it is read for. Tests compare it with the routes, with
//! the bodies that the code reads and writes, and with every error that the code can produce. Only the schema of a saved
//! filter is not in it, because that is derived from the table of filter fields. The operability endpoints are not part of
//! the interface.
//!
//! The page is rendered here from the same document. The viewers that exist are megabytes of script that build the page in
//! the browser, and need styles or code that a strict Content-Security-Policy refuses.

mod markdown;
mod page;
mod schema_view;

use std::sync::OnceLock;

use actix_web::http::header::{self, HeaderName, HeaderValue};
use actix_web::{HttpRequest, HttpResponse, web};
use bidloop_domain::matching::filter_schema;
use bidloop_http_server::StaticContent;
use serde_json::{Value, json};

use crate::HttpApi;
use crate::errors::Refusal;

/// The interface description that `bidloop openapi` prints.
pub fn openapi() -> Value {
    #[expect(clippy::expect_used, reason = "a constant, which the tests parse")]
    let mut document: Value =
        serde_json::from_str(include_str!("../../openapi.json")).expect("openapi.json is JSON");
    document["components"]["schemas"]["SavedFilter"] = saved_filter();
    document
}

fn saved_filter() -> Value {
    let mut schema = filter_schema();
    // Within other objects null means that there is no filter.
    schema["type"] = json!("object");
    schema["description"] = json!(
        "A saved filter, as provisioning files hold it and `bidloop filters test` reads it. No operation takes one. \
         Its conditions must all hold; a filter without any matches every job."
    );
    schema
}

/// The description of a service, made when it is first asked for.
#[derive(Debug)]
pub struct Description {
    base_url: String,
    json: OnceLock<StaticContent>,
    page: OnceLock<Result<StaticContent, String>>,
    style: OnceLock<StaticContent>,
}

impl Description {
    /// The description of the service that is reached at `base_url`.
    pub fn of_service_at(base_url: &str) -> Self {
        Self {
            base_url: base_url.trim_end_matches('/').to_owned(),
            json: OnceLock::new(),
            page: OnceLock::new(),
            style: OnceLock::new(),
        }
    }

    fn document(&self) -> Value {
        let mut document = openapi();
        document["servers"][0]["url"] = json!(self.base_url);
        document
    }

    fn json(&self) -> &StaticContent {
        self.json
            .get_or_init(|| StaticContent::new("application/json", CACHED, self.document().to_string()))
    }

    fn page(&self) -> Result<&StaticContent, Refusal> {
        let page = self.page.get_or_init(|| {
            let page = page::render(&self.document()).map_err(|error| error.to_string())?;
            Ok(StaticContent::new("text/html; charset=utf-8", CACHED, page))
        });
        page.as_ref().map_err(|error| Refusal::internal(error.clone()))
    }

    fn style(&self) -> &StaticContent {
        let sheet = include_bytes!("../../assets/docs.css");
        self.style
            .get_or_init(|| StaticContent::new("text/css; charset=utf-8", CACHED, &sheet[..]))
    }
}

/// For how many seconds browsers and clients may keep what is served here.
const CACHED: &str = "public, max-age=300";

/// The page loads its style sheet and nothing else, runs no script, and is shown in no frame.
const SECURITY_HEADERS: [(HeaderName, &str); 3] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; style-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "same-origin"),
];

/// `GET /v1/openapi.json`.
pub(crate) async fn json(request: HttpRequest, api: web::Data<HttpApi>) -> HttpResponse {
    let ready = api.require_database().await;
    answer(&request, ready.map(|()| api.description.json()))
}

/// `GET /docs`.
pub(crate) async fn docs(request: HttpRequest, api: web::Data<HttpApi>) -> HttpResponse {
    let ready = api.require_database().await;
    answer(&request, ready.and_then(|()| api.description.page()))
}

/// `GET /docs/style.css`.
pub(crate) async fn style(request: HttpRequest, api: web::Data<HttpApi>) -> HttpResponse {
    let ready = api.require_database().await;
    answer(&request, ready.map(|()| api.description.style()))
}

fn answer(request: &HttpRequest, content: Result<&StaticContent, Refusal>) -> HttpResponse {
    match content {
        Ok(content) => {
            let mut response = content.answer(request);
            for (name, value) in SECURITY_HEADERS {
                response
                    .headers_mut()
                    .insert(name, HeaderValue::from_static(value));
            }
            response
        }
        Err(refusal) => refusal.into_response(),
    }
}
