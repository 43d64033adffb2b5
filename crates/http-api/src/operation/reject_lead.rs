//! `POST /v1/campaigns/{campaign_id}/leads/{lead_id}/reject` (specification, rejectLead).

use std::sync::Arc;

use actix_web::{HttpRequest, HttpResponse};
use bidloop_domain::use_case::LeadError;
use bytes::Bytes;

use super::{LeadRequest, unless_overloaded};
use bidloop_http_server::{ByteShare, RequestBody, declares_no_body};

use crate::HttpApi;
use crate::bodies_in_flight::BodiesInFlight;
use crate::errors::Refusal;
use crate::reject_body;
use crate::request_body::{MAX_JSON_BYTES, read_json};
use crate::routes::Ids;

/// Rejects a lead, so that the service never bids on it.
pub(crate) async fn reject_lead(
    request: &HttpRequest,
    ids: Ids<'_>,
    body: &RequestBody,
    api: &Arc<HttpApi>,
    bodies: &Arc<BodiesInFlight>,
) -> Result<HttpResponse, Refusal> {
    let mut rejection = LeadRequest::authenticate(request, ids, api, MAX_JSON_BYTES, &bodies.json).await?;
    let read = unless_overloaded(read_body(request, body, &mut rejection.share).await)?;
    let runtime = &api.runtime;
    let (api, bodies) = (Arc::clone(api), Arc::clone(bodies));
    let acknowledged = runtime
        .run(async move {
            let reason = match read {
                Ok(body) => bodies.parse(body, reject_body::parse).await,
                Err(fault) => Err(fault),
            };
            let rejected =
                api.reject_lead
                    .execute(&rejection.requester, &rejection.campaign, &rejection.lead, reason);
            rejected.await.map(|()| rejection.acknowledged(false))
        })
        .await?;
    Ok(HttpResponse::Ok().json(acknowledged?))
}

/// Reads the body. If there is none, its media type is not checked.
async fn read_body(
    request: &HttpRequest,
    body: &RequestBody,
    share: &mut ByteShare,
) -> Result<Bytes, LeadError> {
    if declares_no_body(request.headers()) {
        return Ok(Bytes::new());
    }
    read_json(body, request, share).await
}
