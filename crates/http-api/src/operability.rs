//! The endpoints for operators: liveness, readiness and metrics. They need no key.

use actix_web::http::header::ContentType;
use actix_web::{HttpRequest, HttpResponse, web};
use bidloop_http_server::answer_short;

use crate::HttpApi;
use crate::errors::Refusal;
use crate::ports::Readiness as _;

/// The media type of metrics.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// 200 while the process runs.
pub(crate) async fn healthz() -> HttpResponse {
    plain("ok\n")
}

/// 200 once the database is reachable and migrated and while all workers run, 503 otherwise.
pub(crate) async fn readyz(api: web::Data<HttpApi>) -> HttpResponse {
    let ready = api.require_database().await.and_then(|()| {
        let down = api.readiness.workers_down();
        if down.is_empty() {
            Ok(())
        } else {
            Err(Refusal::workers_down(&down))
        }
    });
    match ready {
        Ok(()) => plain("ready\n"),
        Err(refusal) => refusal.into_response(),
    }
}

/// Answered while the database is away, too: that is when it is needed.
pub(crate) async fn metrics(request: HttpRequest, api: web::Data<HttpApi>) -> HttpResponse {
    answer_short(&request, OPEN_METRICS, api.metrics.text().into())
}

fn plain(text: &'static str) -> HttpResponse {
    HttpResponse::Ok()
        .content_type(ContentType::plaintext())
        .body(text)
}
