//! `POST /v1/campaigns/{campaign_id}/leads/{lead_id}/reject` (specification, rejectLead).

use actix_web::{HttpRequest, HttpResponse, web};
use bidloop_domain::use_case::LeadError;
use bytes::Bytes;

use super::LeadRequest;
use crate::HttpApi;
use crate::errors::Refusal;
use crate::reject_body;
use crate::request_body::{MAX_JSON_BYTES, RequestBody, declares_no_body};
use crate::unread_body::answer_holding;

/// Rejects a lead, so that the service never bids on it.
pub(crate) async fn reject_lead(
    request: HttpRequest,
    payload: web::Payload,
    api: web::Data<HttpApi>,
) -> HttpResponse {
    let body = RequestBody::new(payload);
    let answer = reject(&request, &body, &api).await;
    answer_holding(body, answer)
}

async fn reject(request: &HttpRequest, body: &RequestBody, api: &HttpApi) -> Result<HttpResponse, Refusal> {
    let rejection = LeadRequest::authenticate(request, api, MAX_JSON_BYTES).await?;
    let read = read_body(request, body).await;
    let reject = api.reject_lead.clone();
    let (rejected, rejection) = api
        .run(async move {
            let reason = read.and_then(|bytes| reject_body::parse(&bytes));
            let rejected = reject.execute(&rejection.requester, &rejection.campaign, &rejection.lead, reason);
            (rejected.await, rejection)
        })
        .await?;
    rejected?;
    Ok(HttpResponse::Ok().json(rejection.acknowledged(false)))
}

/// Reads the body. If there is none, its media type is not checked.
async fn read_body(request: &HttpRequest, body: &RequestBody) -> Result<Bytes, LeadError> {
    if declares_no_body(request.headers()) {
        return Ok(Bytes::new());
    }
    body.read_json(request).await
}
