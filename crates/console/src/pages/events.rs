//! `GET /events`: tells open pages that something changed.

use actix_web::http::header;
use actix_web::{HttpResponse, web};
use bidloop_domain::model::CampaignId;
use serde::Deserialize;

use crate::page::PageError;
use crate::visit::Visit;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct EventsQuery {
    campaign: String,
}

/// `GET /events`: the changes of the session's organization.
pub(crate) async fn show(visit: Visit, query: web::Query<EventsQuery>) -> Result<HttpResponse, PageError> {
    let (organization, session) = (visit.organization().clone(), visit.signed_in.session.clone());
    let streams = visit.console.streams.clone();
    let campaign = CampaignId::parse(&query.campaign).ok();
    let watched = visit
        .console
        .runtime
        .run(async move { streams.watch(organization, campaign, session) })
        .await?;
    let stream = watched.ok_or_else(|| PageError::Unavailable("too many pages are open".to_owned()))?;
    Ok(HttpResponse::Ok()
        .content_type("text/event-stream")
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .insert_header(("x-accel-buffering", "no"))
        .streaming(Box::pin(stream)))
}
