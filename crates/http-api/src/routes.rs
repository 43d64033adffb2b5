//! The routes, and the answers to requests that none of them takes.

use std::time::Duration;

use actix_web::http::Method;
use actix_web::middleware::from_fn;
use actix_web::{HttpMessage as _, HttpRequest, HttpResponse, Resource, Route, guard, web};

use bidloop_http_server::{RequestBody, RequestObserver};
use tracing::Span;

use crate::HttpApi;
use crate::bodies_in_flight::{BodiesInFlight, BodyLimits};
use crate::cross_origin::{AllowedOrigins, word_refusals};
use crate::description;
use crate::errors::Refusal;
use crate::operability;
use crate::operation::{self, path_ids};

/// The routes that a process serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offer {
    /// The operations under `/v1` with their description, and the operability endpoints.
    All,
    /// The operations and their description alone, where operability has an address of its own.
    OperationsOnly,
    /// The operability endpoints alone: on an address of their own, or of a replica without the API's role.
    OperabilityOnly,
}

/// An operation. A test compares those that need a key with the interface description.
#[derive(Debug)]
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

/// The ids in an operation's address.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Ids<'p> {
    pub(crate) campaign: &'p str,
    pub(crate) lead: Option<&'p str>,
}

/// The operation at an address. The framework's router would try a regular expression for each, which takes longer than a
/// look-up in the database.
pub(crate) fn operation_at(path: &str) -> Option<(&'static Operation, Ids<'_>)> {
    let at = |operation: &'static Operation| Some((operation, operation.ids_in(path)?));
    OPERATIONS.iter().find_map(at)
}

impl Operation {
    /// HEAD is answered as GET, without the body.
    fn takes(&self, method: &Method) -> bool {
        let answered_as = if method == Method::HEAD {
            &Method::GET
        } else {
            method
        };
        self.method == *answered_as
    }

    /// The ids in `path`, if it is this operation's.
    fn ids_in<'p>(&self, path: &'p str) -> Option<Ids<'p>> {
        // The ends tell the operations apart, so only one address is compared part by part.
        let (_, end) = self.path.rsplit_once('/')?;
        if !path.ends_with(end) {
            return None;
        }
        let mut ids = Ids::default();
        let (mut pattern, mut rest) = (self.path, path);
        while let Some((literal, named)) = pattern.split_once('{') {
            rest = rest.strip_prefix(literal)?;
            let (id, after) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            if id.is_empty() {
                return None;
            }
            let (name, tail) = named.split_once('}')?;
            match name {
                "lead_id" => ids.lead = Some(id),
                _ => ids.campaign = id,
            }
            (pattern, rest) = (tail, after);
        }
        (pattern == rest).then_some(ids)
    }
}

/// The endpoints that need no key.
pub(crate) static OPERABILITY: [Operation; 3] = [
    operation(Method::GET, "/healthz", "healthz"),
    operation(Method::GET, "/readyz", "readyz"),
    operation(Method::GET, "/metrics", "metrics"),
];

/// What describes the interface. It needs no key.
pub(crate) static DESCRIPTION: [Operation; 3] = [
    operation(Method::GET, "/v1/openapi.json", "openapi"),
    operation(Method::GET, "/docs", "docs"),
    operation(Method::GET, "/docs/style.css", "docs"),
];

/// Returns what adds the API to an application: its routes, the data that they need, and the answer to requests that no
/// route takes.
pub fn application(
    api: HttpApi,
    offer: Offer,
    bodies: BodyLimits,
) -> impl Fn(&mut web::ServiceConfig) + Clone + Send {
    let bodies = BodiesInFlight::new(bodies);
    move |config| {
        // Each worker's own, so that no two threads count the references of one.
        config
            .app_data(web::Data::new(api.clone()))
            .app_data(web::Data::new(bodies.clone()));
        if offer != Offer::OperabilityOnly {
            configure_operations(config, &api.origins);
        }
        if offer != Offer::OperationsOnly {
            configure_operability(config);
        }
        config.default_service(web::to(unknown_route));
    }
}

fn configure_operations(config: &mut web::ServiceConfig, origins: &AllowedOrigins) {
    let interface = web::scope("/v1")
        .service(only("/openapi.json", probe().to(description::json)))
        .default_service(web::to(operate));
    match origins.guard() {
        None => config.service(interface),
        Some(cors) => config.service(interface.wrap(cors).wrap(from_fn(word_refusals))),
    };
    config
        .service(only("/docs", probe().to(description::docs)))
        .service(only("/docs/style.css", probe().to(description::style)));
}

fn configure_operability(config: &mut web::ServiceConfig) {
    config
        .service(only("/healthz", probe().to(operability::healthz)))
        .service(only("/readyz", probe().to(operability::readyz)))
        .service(only("/metrics", probe().to(operability::metrics)));
}

fn probe() -> Route {
    web::route().guard(guard::Any(guard::Get()).or(guard::Head()))
}

/// A resource that is only read.
fn only(path: &'static str, route: Route) -> Resource {
    web::resource(path)
        .route(route)
        .default_service(web::to(wrong_probe))
}

impl RequestObserver for HttpApi {
    fn new_id(&self) -> String {
        self.entropy.uuid().to_string()
    }

    /// The operation's id; `stripe` and `console` for the routes of others, `none` without a route.
    fn operation(&self, request: &HttpRequest) -> &'static str {
        if let Some(operation) = request.extensions().get::<&'static Operation>() {
            return operation.id;
        }
        let Some(pattern) = request.match_pattern() else {
            return "none";
        };
        match OPERABILITY
            .iter()
            .chain(&DESCRIPTION)
            .find(|endpoint| endpoint.path == pattern)
        {
            Some(endpoint) if endpoint.takes(request.method()) => endpoint.id,
            Some(_) => "none",
            None if pattern.starts_with("/v1") => "none",
            None if pattern == "/billing/stripe" => "stripe",
            None => "console",
        }
    }

    fn route(&self, request: &HttpRequest) -> Option<String> {
        let operation = request.extensions().get::<&'static Operation>().copied();
        operation.map_or_else(
            || request.match_pattern(),
            |operation| Some(operation.path.to_owned()),
        )
    }

    fn answered(&self, operation: &'static str, status: u16, duration: Duration) {
        self.metrics.answered(operation, status, duration);
    }
}

/// Serves an operation.
async fn operate(
    request: HttpRequest,
    payload: web::Payload,
    api: web::Data<HttpApi>,
    bodies: web::Data<BodiesInFlight>,
) -> HttpResponse {
    let body = RequestBody::new(payload, &request);
    let Some((operation, ids)) = operation_at(request.match_info().as_str()) else {
        let refusal = refuse_address(&request, &api).await;
        return Refusal::answer(body, refusal);
    };
    if !operation.takes(request.method()) {
        let refusal = refuse_method(&request, ids, &api).await;
        return Refusal::answer(body, refusal);
    }
    request.extensions_mut().insert(operation);
    let answer = match operation.path {
        BID => operation::submit_bid(&request, ids, &body, &api, &bodies).await,
        REJECT => operation::reject_lead(&request, ids, &body, &api, &bodies).await,
        // Larger than the others, which are not moved with them.
        LEADS => return Box::pin(operation::list_leads(&request, ids, &api, &bodies)).await,
        _ => Box::pin(operation::upload_attachments(&request, ids, &body, &api, &bodies)).await,
    };
    Refusal::answer(body, answer)
}

/// 405 comes after 401 and 404 (decision A1).
async fn refuse_method(request: &HttpRequest, ids: Ids<'_>, api: &HttpApi) -> Result<HttpResponse, Refusal> {
    let caller = api.authenticate(request).await?;
    let (campaign, lead) = path_ids::read(&caller, ids)?;
    let organization = &caller.organization_id;
    let located = api.locate_lead.execute(organization, &campaign, lead.as_ref());
    api.runtime.read(located).await??;
    let allow = if lead.is_some() { "POST" } else { "GET, HEAD" };
    Err(Refusal::wrong_method(request.method().as_str(), allow))
}

async fn wrong_probe(request: HttpRequest, payload: web::Payload, api: web::Data<HttpApi>) -> HttpResponse {
    let ready = api.require_database().await;
    let refusal = ready.and_then(|()| Err(Refusal::wrong_method(request.method().as_str(), "GET, HEAD")));
    Refusal::answer(RequestBody::new(payload, &request), refusal)
}

/// Under `/v1` a request to an unknown address is authenticated, too.
async fn refuse_address(request: &HttpRequest, api: &HttpApi) -> Result<HttpResponse, Refusal> {
    let caller = api.authenticate(request).await?;
    Span::current().record("organization", caller.organization_id.as_str());
    Err(Refusal::unknown_route())
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

    #[test]
    fn an_address_is_an_operations_part_by_part() {
        let at = |path| operation_at(path).map(|(operation, ids)| (operation.id, ids.campaign, ids.lead));
        assert_eq!(
            at("/v1/campaigns/camp/leads"),
            Some(("listCampaignLeads", "camp", None))
        );
        assert_eq!(
            at("/v1/campaigns/camp/leads/ld_1/reject"),
            Some(("rejectLead", "camp", Some("ld_1")))
        );
        for unknown in [
            "/v1",
            "/v1/campaigns",
            "/v1/campaigns//leads",
            "/v1/campaigns/camp/leads/",
            "/v1/campaigns/camp/leads/ld_1",
            "/v1/campaigns/camp/leads//bid",
            "/v1/campaigns/camp/leads/ld_1/bid/",
            "/v1/campaigns/camp/leads/ld_1/reject/now",
            "/v1/campaigns/camp/Leads",
            "/v1/campaigns/a/b/leads",
            "v1/campaigns/camp/leads",
        ] {
            assert_eq!(at(unknown), None, "{unknown}");
        }
    }
}
