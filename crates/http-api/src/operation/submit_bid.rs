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
    body: &RequestBody,
    api: &Arc<HttpApi>,
    bodies: &Arc<BodiesInFlight>,
) -> Result<HttpResponse, Refusal> {
    let mut bid = LeadRequest::authenticate(request, ids, api, MAX_JSON_BYTES, &bodies.json).await?;
    let read = unless_overloaded(read_json(body, request, &mut bid.share).await)?;
    let runtime = &api.runtime;
    let (api, bodies) = (Arc::clone(api), Arc::clone(bodies));
    let acknowledged = runtime
        .run(async move {
            let parsed = match read {
                Ok(body) => bodies.parse(body, bid_body::parse).await,
                Err(fault) => Err(fault),
            };
            let accepted = api
                .submit_bid
                .execute(&bid.requester, &bid.campaign, &bid.lead, parsed);
            accepted
                .await
                .map(|accepted| bid.acknowledged(accepted.is_dry_run()))
        })
        .await?;
    Ok(HttpResponse::Ok().json(acknowledged?))
}
