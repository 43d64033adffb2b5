//! The routes, and the answers to requests that none of them takes.

use std::sync::Arc;
use std::time::Duration;

use actix_web::http::Method;
use actix_web::{HttpRequest, HttpResponse, Route, guard, web};

use bidloop_http_server::{RequestBody, RequestObserver};

use crate::HttpApi;
use crate::bodies_in_flight::{BodiesInFlight, BodyLimits};
use crate::errors::Refusal;
use crate::held_readiness::HeldReadiness;
use crate::operability;
use crate::operation::{self, path_ids};

/// The routes that a process serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offer {
    /// The operations under `/v1` and the operability endpoints.
    All,
    /// The operations alone, where operability has an address of its own.
    OperationsOnly,
    /// The operability endpoints alone: on an address of their own, or of a replica without the API's role.
    OperabilityOnly,
}

/// An operation. A test compares those that need a key with the interface description.
pub(crate) struct Operation {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    pub(crate) id: &'static str,
}

const LEADS: &str = "/v1/campaigns/{campaign_id}/leads";
const BID: &str = "/v1/campaigns/{campaign_id}/leads/{lead_id}/bid";
const REJECT: &str = "/v1/campaigns/{campaign_id}/leads/{lead_id}/reject";
const ATTACHMENTS: &str = "/v1/campaigns/{campaign_id}/leads/{lead_id}/attachments";

const fn operation(method: Method, path: &'static str, id: &'static str) -> Operation {
    Operation { method, path, id }
}

/// The operations that need a key.
pub(crate) static OPERATIONS: [Operation; 4] = [
    operation(Method::GET, LEADS, "listCampaignLeads"),
    operation(Method::POST, BID, "submitBid"),
    operation(Method::POST, REJECT, "rejectLead"),
    operation(Method::POST, ATTACHMENTS, "uploadLeadAttachments"),
];

/// The endpoints that need no key.
pub(crate) static OPERABILITY: [Operation; 3] = [
    operation(Method::GET, "/healthz", "healthz"),
    operation(Method::GET, "/readyz", "readyz"),
    operation(Method::GET, "/metrics", "metrics"),
];

/// Returns what adds the API to an application: its routes, the data that they need, and the answer to requests that no
/// route takes.
pub fn application(
    mut api: HttpApi,
    offer: Offer,
    bodies: BodyLimits,
) -> impl Fn(&mut web::ServiceConfig) + Clone + Send {
    api.readiness = Arc::new(HeldReadiness::new(api.readiness));
    let api = web::Data::new(api);
    let bodies = web::Data::new(BodiesInFlight::new(bodies));
    move |config| {
        config.app_data(api.clone()).app_data(bodies.clone());
        if offer != Offer::OperabilityOnly {
            configure_operations(config);
        }
        if offer != Offer::OperationsOnly {
            configure_operability(config);
        }
        config.default_service(web::to(unknown_route));
    }
}

fn configure_operations(config: &mut web::ServiceConfig) {
    let only = |path, route: Route| {
        web::resource(path)
            .route(route)
            .default_service(web::to(wrong_method))
    };
    config
        .service(only(LEADS, web::get().to(operation::list_leads)))
        .service(only(BID, web::post().to(operation::submit_bid)))
        .service(only(REJECT, web::post().to(operation::reject_lead)))
        .service(only(ATTACHMENTS, web::post().to(operation::upload_attachments)))
        .service(web::scope("/v1").default_service(web::to(unknown_operation)));
}

fn configure_operability(config: &mut web::ServiceConfig) {
    let probe = || web::route().guard(guard::Any(guard::Get()).or(guard::Head()));
    let only = |path, route: Route| {
        web::resource(path)
            .route(route)
            .default_service(web::to(wrong_probe))
    };
    config
        .service(only("/healthz", probe().to(operability::healthz)))
        .service(only("/readyz", probe().to(operability::readyz)))
        .service(only("/metrics", probe().to(operability::metrics)));
}

impl RequestObserver for HttpApi {
    fn new_id(&self) -> String {
        self.entropy.uuid().to_string()
    }

    /// The operation's id; `console` for the routes of others, `none` without a route.
    fn operation(&self, request: &HttpRequest) -> &'static str {
        let Some(pattern) = request.match_pattern() else {
            return "none";
        };
        let own = || OPERATIONS.iter().chain(&OPERABILITY);
        let is_own = own().any(|operation| operation.path == pattern);
        if let Some(operation) =
            own().find(|operation| operation.path == pattern && operation.method == request.method())
        {
            return operation.id;
        }
        if is_own || pattern.starts_with("/v1") {
            "none"
        } else {
            "console"
        }
    }

    fn answered(&self, operation: &'static str, status: u16, duration: Duration) {
        self.metrics.answered(operation, status, duration);
    }
}

async fn wrong_method(request: HttpRequest, payload: web::Payload, api: web::Data<HttpApi>) -> HttpResponse {
    let refusal = refuse_method(&request, &api).await;
    Refusal::answer(RequestBody::new(payload, &request), refusal)
}

/// 405 comes after 401 and 404 (decision A1).
async fn refuse_method(request: &HttpRequest, api: &HttpApi) -> Result<HttpResponse, Refusal> {
    let caller = api.authenticate(request).await?;
    let campaign = path_ids::campaign(request)?;
    let has_lead = request.match_info().get("lead_id").is_some();
    let lead = has_lead.then(|| path_ids::lead(request)).transpose()?;
    let organization = &caller.organization_id;
    let located = api.locate_lead.execute(organization, &campaign, lead.as_ref());
    api.read(located).await??;
    let allow = if has_lead { "POST" } else { "GET" };
    Err(Refusal::wrong_method(request.method().as_str(), allow))
}

async fn wrong_probe(request: HttpRequest, payload: web::Payload, api: web::Data<HttpApi>) -> HttpResponse {
    let ready = api.require_database().await;
    let refusal = ready.and_then(|()| Err(Refusal::wrong_method(request.method().as_str(), "GET, HEAD")));
    Refusal::answer(RequestBody::new(payload, &request), refusal)
}

/// Under `/v1` a request to an unknown address is authenticated, too.
async fn unknown_operation(
    request: HttpRequest,
    payload: web::Payload,
    api: web::Data<HttpApi>,
) -> HttpResponse {
    let caller = api.authenticate(&request).await;
    let refusal = caller.and_then(|_| Err(Refusal::unknown_route()));
    Refusal::answer(RequestBody::new(payload, &request), refusal)
}

/// Answers requests to all other addresses.
async fn unknown_route(request: HttpRequest, payload: web::Payload, api: web::Data<HttpApi>) -> HttpResponse {
    let ready = api.require_database().await;
    let refusal = ready.and_then(|()| Err(Refusal::unknown_route()));
    Refusal::answer(RequestBody::new(payload, &request), refusal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_is_described_and_nothing_else() {
        let document = crate::openapi();
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
