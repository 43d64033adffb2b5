//! Which address and method leads where, and what answers when none does.

use actix_web::http::Method;
use actix_web::{HttpRequest, HttpResponse, guard, web};

use crate::HttpApi;
use crate::errors::Refusal;
use crate::operability;
use crate::operation::{self, path_ids};
use crate::request_body::RequestBody;
use crate::unread_body::answer_holding;

/// An operation of the API: the interface description has the same, which a test compares.
pub(crate) struct Operation {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    pub(crate) id: &'static str,
}

const LEADS: &str = "/v1/campaigns/{campaign_id}/leads";
const BID: &str = "/v1/campaigns/{campaign_id}/leads/{lead_id}/bid";
const REJECT: &str = "/v1/campaigns/{campaign_id}/leads/{lead_id}/reject";
const ATTACHMENTS: &str = "/v1/campaigns/{campaign_id}/leads/{lead_id}/attachments";

/// The operations that take a key.
pub(crate) const OPERATIONS: [Operation; 4] = [
    Operation {
        method: Method::GET,
        path: LEADS,
        id: "listCampaignLeads",
    },
    Operation {
        method: Method::POST,
        path: BID,
        id: "submitBid",
    },
    Operation {
        method: Method::POST,
        path: REJECT,
        id: "rejectLead",
    },
    Operation {
        method: Method::POST,
        path: ATTACHMENTS,
        id: "uploadLeadAttachments",
    },
];

/// The endpoints that take none.
pub(crate) const OPERABILITY: [Operation; 3] = [
    Operation {
        method: Method::GET,
        path: "/healthz",
        id: "healthz",
    },
    Operation {
        method: Method::GET,
        path: "/readyz",
        id: "readyz",
    },
    Operation {
        method: Method::GET,
        path: "/metrics",
        id: "metrics",
    },
];

/// Adds the API's addresses to an application, which must carry [`HttpApi`] as its data.
pub fn configure(config: &mut web::ServiceConfig) {
    let get = || web::route().guard(guard::Get());
    let post = || web::route().guard(guard::Post());
    config
        .service(
            web::resource(LEADS)
                .route(get().to(operation::list_leads))
                .default_service(web::to(only_get)),
        )
        .service(
            web::resource(BID)
                .route(post().to(operation::submit_bid))
                .default_service(web::to(only_post)),
        )
        .service(
            web::resource(REJECT)
                .route(post().to(operation::reject_lead))
                .default_service(web::to(only_post)),
        )
        .service(
            web::resource(ATTACHMENTS)
                .route(post().to(operation::upload_attachments))
                .default_service(web::to(only_post)),
        )
        .service(web::scope("/v1").default_service(web::to(unknown_operation)))
        .configure(configure_operability);
}

/// Adds the operability endpoints alone.
pub(crate) fn configure_operability(config: &mut web::ServiceConfig) {
    let probe = || web::route().guard(guard::Any(guard::Get()).or(guard::Head()));
    config
        .service(
            web::resource("/healthz")
                .route(probe().to(operability::healthz))
                .default_service(web::to(only_probe)),
        )
        .service(
            web::resource("/readyz")
                .route(probe().to(operability::readyz))
                .default_service(web::to(only_probe)),
        )
        .service(
            web::resource("/metrics")
                .route(probe().to(operability::metrics))
                .default_service(web::to(only_probe)),
        );
}

/// The operation that a request was routed to, for metrics.
pub(crate) fn operation_id(request: &HttpRequest) -> &'static str {
    let Some(pattern) = request.match_pattern() else {
        return "none";
    };
    OPERATIONS
        .iter()
        .chain(&OPERABILITY)
        .find(|operation| operation.path == pattern && operation.method == request.method())
        .map_or("none", |operation| operation.id)
}

async fn only_get(request: HttpRequest, payload: web::Payload, api: web::Data<HttpApi>) -> HttpResponse {
    let body = RequestBody::new(payload);
    answer_holding(body, wrong_method(&request, &api, "GET").await.into_response())
}

async fn only_post(request: HttpRequest, payload: web::Payload, api: web::Data<HttpApi>) -> HttpResponse {
    let body = RequestBody::new(payload);
    answer_holding(body, wrong_method(&request, &api, "POST").await.into_response())
}

/// 405 comes after 401 and 404 (decision A1).
async fn wrong_method(request: &HttpRequest, api: &HttpApi, allow: &'static str) -> Refusal {
    let caller = match api.authenticate(request).await {
        Ok(caller) => caller,
        Err(refusal) => return refusal,
    };
    let Some(campaign) = path_ids::campaign(request) else {
        return Refusal::campaign_unknown();
    };
    let lead = request
        .match_info()
        .get("lead_id")
        .map(|_| path_ids::lead(request));
    let locate = api.locate_lead.clone();
    let located = api
        .run(async move { locate.execute(&caller, &campaign, lead.as_ref()).await })
        .await;
    match located {
        Ok(Ok(())) => Refusal::wrong_method(request.method().as_str(), allow),
        Ok(Err(error)) => error.into(),
        Err(refusal) => refusal,
    }
}

async fn only_probe(request: HttpRequest, payload: web::Payload, api: web::Data<HttpApi>) -> HttpResponse {
    let refusal = match api.require_database().await {
        Ok(()) => Refusal::wrong_method(request.method().as_str(), "GET, HEAD"),
        Err(refusal) => refusal,
    };
    answer_holding(RequestBody::new(payload), refusal.into_response())
}

/// Under `/v1` even an address that leads nowhere asks for the key first.
async fn unknown_operation(
    request: HttpRequest,
    payload: web::Payload,
    api: web::Data<HttpApi>,
) -> HttpResponse {
    let refusal = match api.authenticate(&request).await {
        Ok(_) => Refusal::unknown_route(),
        Err(refusal) => refusal,
    };
    answer_holding(RequestBody::new(payload), refusal.into_response())
}

/// Answers every address that nothing else in the application does.
pub(crate) async fn unknown_route(payload: web::Payload, api: web::Data<HttpApi>) -> HttpResponse {
    let refusal = match api.require_database().await {
        Ok(()) => Refusal::unknown_route(),
        Err(refusal) => refusal,
    };
    answer_holding(RequestBody::new(payload), refusal.into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_is_described_and_nothing_else() {
        let document: serde_json::Value = serde_json::from_str(&crate::openapi()).unwrap();
        let mut described: Vec<(String, String, String)> = Vec::new();
        for (path, item) in document["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                if let Some(id) = operation["operationId"].as_str() {
                    described.push((method.to_uppercase(), path.clone(), id.to_owned()));
                }
            }
        }
        let mut routed: Vec<(String, String, String)> = OPERATIONS
            .iter()
            .map(|operation| {
                (
                    operation.method.to_string(),
                    operation.path.to_owned(),
                    operation.id.to_owned(),
                )
            })
            .collect();
        described.sort();
        routed.sort();
        assert_eq!(described, routed);
    }
}
