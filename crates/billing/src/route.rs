//! `POST /billing/stripe`: reads and verifies an event, has it followed, and answers Stripe.
//!
//! Stripe sends an event again, for up to three days, until it is answered with a 2xx status.

use std::sync::Arc;

use actix_web::http::{StatusCode, header};
use actix_web::{HttpRequest, HttpResponse, web};
use bidloop_domain::port::{Clock, StoreError};
use bidloop_domain::use_case::{FollowBilling, FollowBillingError, Followed};
use bidloop_http_server::{BodyFault, BytePool, NoRoom, RequestBody, UseCaseRuntime, answer_holding};
use serde_json::json;

use crate::event::{Event, read_event};
use crate::signature::StripeSecret;

/// The path of the route.
pub const PATH: &str = "/billing/stripe";

/// The largest event. Stripe's have up to 256 KiB.
pub const MAX_EVENT_BYTES: u64 = 1_048_576;

/// The most bytes of events that are read at once.
const EVENTS_IN_FLIGHT: u64 = 32 * MAX_EVENT_BYTES;

const SIGNATURE: &str = "Stripe-Signature";

/// What the route needs.
#[derive(Debug, Clone)]
pub struct StripeWebhook {
    /// Signs what Stripe sends.
    pub secret: StripeSecret,
    /// Follows reports.
    pub follow: Arc<FollowBilling>,
    /// Judges the age of signatures.
    pub clock: Arc<dyn Clock>,
    /// Follows a report to its end, even if the connection closes.
    pub runtime: UseCaseRuntime,
}

/// Returns what adds the route to an application.
pub fn application(webhook: StripeWebhook) -> impl Fn(&mut web::ServiceConfig) + Clone + Send {
    let webhook = web::Data::new(webhook);
    let bodies = web::Data::from(BytePool::of(EVENTS_IN_FLIGHT));
    move |config| {
        let route = web::resource(PATH)
            .app_data(webhook.clone())
            .app_data(bodies.clone())
            .route(web::post().to(receive))
            .default_service(web::to(wrong_method));
        config.service(route);
    }
}

async fn receive(
    request: HttpRequest,
    payload: web::Payload,
    webhook: web::Data<StripeWebhook>,
    bodies: web::Data<BytePool>,
) -> HttpResponse {
    let body = RequestBody::new(payload, &request);
    let answer = webhook.answer(&request, &body, bodies.into_inner()).await;
    answer_holding(body, answer.unwrap_or_else(Refusal::into_response))
}

async fn wrong_method(request: HttpRequest, payload: web::Payload) -> HttpResponse {
    let refusal = Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "allowed: POST");
    answer_holding(RequestBody::new(payload, &request), refusal.into_response())
}

impl StripeWebhook {
    async fn answer(
        &self,
        request: &HttpRequest,
        body: &RequestBody,
        bodies: Arc<BytePool>,
    ) -> Result<HttpResponse, Refusal> {
        let peer = request.peer_addr().map(|address| address.ip().to_string());
        let mut share = bodies.share_of(PATH, peer.unwrap_or_default());
        let read = body.read(MAX_EVENT_BYTES, |bytes| share.take(bytes).map_err(Refusal::from));
        let body = read.await?;
        let header = request
            .headers()
            .get(SIGNATURE)
            .and_then(|value| value.to_str().ok());
        let verified = self
            .secret
            .verify(header.unwrap_or_default(), &body, self.clock.now());
        verified.map_err(|fault| Refusal::bad_request(fault.to_string()))?;
        let event = read_event(&body).map_err(|fault| {
            tracing::error!(%fault, "an event of Stripe cannot be read");
            Refusal::bad_request(format!("the event cannot be read: {fault}"))
        })?;
        let outcome = self.follow(event).await?;
        Ok(HttpResponse::Ok().json(json!({"received": true, "outcome": outcome})))
    }

    async fn follow(&self, event: Event) -> Result<&'static str, Refusal> {
        let Event { id, kind, report } = event;
        let Some(report) = report else {
            return Ok("ignored");
        };
        let follow = Arc::clone(&self.follow);
        let followed = self.runtime.run(async move { follow.execute(&report).await });
        let followed = followed.await;
        match followed.map_err(|fault| Refusal::internal(&fault.to_string()))? {
            Ok(Followed::Organization(organization)) => {
                tracing::info!(event = id, kind, %organization, "followed an event of Stripe");
                Ok("followed")
            }
            Ok(Followed::Kept) => {
                tracing::info!(event = id, kind, "kept an event of Stripe");
                Ok("kept")
            }
            Ok(Followed::Foreign) => {
                tracing::warn!(
                    event = id,
                    kind,
                    "ignored an event of Stripe: its subscription has no metadata.organization_id, its customer is no \
                     organization's, and no price has a proposal_limit"
                );
                Ok("foreign")
            }
            Err(error) => {
                tracing::warn!(event = id, kind, %error, "an event of Stripe cannot be followed now");
                Err(error.into())
            }
        }
    }
}

/// An answer with the shape of the API's errors.
#[derive(Debug)]
struct Refusal {
    status: StatusCode,
    message: String,
}

impl Refusal {
    fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
        }
    }

    fn bad_request(message: String) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    fn unavailable() -> Self {
        let message = "the service is temporarily unavailable; send it again later";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, message)
    }

    fn internal(cause: &str) -> Self {
        tracing::error!(cause, "a request failed");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "an internal error occurred")
    }

    fn into_response(self) -> HttpResponse {
        let mut response = HttpResponse::build(self.status);
        match self.status {
            StatusCode::SERVICE_UNAVAILABLE => {
                response.insert_header((header::RETRY_AFTER, "5"));
            }
            StatusCode::METHOD_NOT_ALLOWED => {
                response.insert_header((header::ALLOW, "POST"));
            }
            _ => {}
        }
        response.json(json!({
            "statusCode": self.status.as_u16(),
            "error": self.status.canonical_reason().unwrap_or_default(),
            "message": self.message,
        }))
    }
}

impl From<NoRoom> for Refusal {
    fn from(_: NoRoom) -> Self {
        Self::unavailable()
    }
}

impl From<BodyFault> for Refusal {
    fn from(fault: BodyFault) -> Self {
        let status = match fault {
            BodyFault::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            BodyFault::TooSlow => StatusCode::REQUEST_TIMEOUT,
            BodyFault::BrokenOff => StatusCode::BAD_REQUEST,
        };
        Self::new(status, format!("the body {fault}"))
    }
}

impl From<FollowBillingError> for Refusal {
    fn from(error: FollowBillingError) -> Self {
        match error {
            FollowBillingError::UnknownOrganization(_) | FollowBillingError::NoOrganization(_) => {
                Self::new(StatusCode::CONFLICT, error.to_string())
            }
            FollowBillingError::Contended | FollowBillingError::Store(StoreError::Unavailable(_)) => {
                Self::unavailable()
            }
            FollowBillingError::Store(error) => Self::internal(&error.to_string()),
        }
    }
}
