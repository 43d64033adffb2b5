//! `POST /v1/campaigns/{campaign_id}/leads/{lead_id}/bid` (specification, submitBid).

use std::sync::Arc;

use actix_web::{HttpRequest, HttpResponse};

use super::{LeadRequest, unless_overloaded};
use bidloop_http_server::RequestBody;

use crate::HttpApi;
use crate::bid_body;
use crate::bodies_in_flight::BodiesInFlight;
use crate::errors::Refusal;
use crate::request_body::{MAX_JSON_BYTES, read_json};
use crate::routes::Ids;

/// Accepts a bid on a lead, or makes a dry run. A `bid_complete` reports the outcome later.
pub(crate) async fn submit_bid(
    request: &HttpRequest,
    ids: Ids<'_>,
    body: RequestBody,
    api: &HttpApi,
    bodies: &Arc<BodiesInFlight>,
) -> HttpResponse {
    let answer = submit(request, ids, &body, api, bodies).await;
    Refusal::answer(body, answer)
}

async fn submit(
    request: &HttpRequest,
    ids: Ids<'_>,
    body: &RequestBody,
    api: &HttpApi,
    bodies: &Arc<BodiesInFlight>,
) -> Result<HttpResponse, Refusal> {
    let mut bid = LeadRequest::authenticate(request, ids, api, MAX_JSON_BYTES, &bodies.json).await?;
    let read = unless_overloaded(read_json(body, request, &mut bid.share).await)?;
    let (submit, bodies) = (api.submit_bid.clone(), bodies.clone());
    let (accepted, bid) = api
        .runtime
        .run(async move {
            let parsed = match read {
                Ok(body) => bodies.parse(body, bid_body::parse).await,
                Err(fault) => Err(fault),
            };
            let accepted = submit.execute(&bid.requester, &bid.campaign, &bid.lead, parsed);
            (accepted.await, bid)
        })
        .await?;
    Ok(HttpResponse::Ok().json(bid.acknowledged(accepted?.is_dry_run())))
}
