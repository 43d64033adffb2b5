//! The interface description, OpenAPI 3.1: the four operations, their bodies and errors, and the webhooks sent.
//!
//! Each operation's part stands at its handler; here is what they share. Does not describe the operability
//! endpoints, which are no part of the interface.

mod lead_schemas;
pub(crate) mod schemas;

use utoipa::openapi::path::{OperationBuilder, ParameterBuilder, ParameterIn, PathItemBuilder, PathsBuilder};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{ContentBuilder, HttpMethod, PathItem, Ref, RefOr, Required, ResponseBuilder};
use utoipa::{Modify, OpenApi};

use crate::operation;

/// The interface description as pretty-printed JSON, with a line feed at its end: what `bidloop openapi` prints.
pub fn openapi() -> String {
    // A document of strings and numbers always serializes; were it not so, the tests of its content would fail.
    let mut text = Document::openapi().to_pretty_json().unwrap_or_default();
    text.push('\n');
    text
}

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Bidloop",
        version = "2026-09-10",
        description = "A bidding loop over leads: list them, submit a bid, reject a lead, upload attachments for its \
            proposal. Times inside leads are UNIX milliseconds, those of webhook envelopes and `currentPeriodEnd` \
            UNIX seconds. Money is USD; boosts are in connects of USD 0.15.",
    ),
    paths(
        operation::list_leads,
        operation::submit_bid,
        operation::reject_lead,
        operation::upload_attachments
    ),
    components(schemas(schemas::JobNewEnvelope, schemas::BidCompleteEnvelope)),
    security(("apiKey" = [])),
    modifiers(&ApiKey, &OptionalBody, &Webhooks),
)]
struct Document;

struct ApiKey;

impl Modify for ApiKey {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let scheme = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .bearer_format("lk_ and 64 hexadecimal digits")
            .description(Some(
                "An API key of the organization; it works for every campaign.",
            ))
            .build();
        document
            .components
            .get_or_insert_default()
            .add_security_scheme("apiKey", SecurityScheme::Http(scheme));
    }
}

/// A rejection's body may be left out, but it may not be `null`.
struct OptionalBody;

impl Modify for OptionalBody {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        for path in document.paths.paths.values_mut() {
            let rejection = path
                .post
                .as_mut()
                .filter(|operation| operation.operation_id.as_deref() == Some("rejectLead"));
            if let Some(RefOr::T(body)) = rejection.and_then(|operation| operation.request_body.as_mut()) {
                body.required = Some(Required::False);
            }
        }
    }
}

struct Webhooks;

impl Modify for Webhooks {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let job_new = webhook(
            "A job matched a campaign in External mode. Answer with the `bidUrl` or the `rejectUrl`, or not at all.",
            "JobNewEnvelope",
        );
        let bid_complete = webhook(
            "A queued bid came to its end, or a dry run was made.",
            "BidCompleteEnvelope",
        );
        let webhooks = PathsBuilder::new()
            .path("job.new", job_new)
            .path("bid_complete", bid_complete)
            .build();
        document.webhooks = Some(webhooks);
    }
}

/// A webhook: one signed POST, delivered once, that only a 200 within 10 seconds counts as received.
fn webhook(description: &str, schema: &str) -> PathItem {
    let content = ContentBuilder::new()
        .schema(Some(RefOr::Ref(Ref::from_schema_name(schema))))
        .build();
    let body = RequestBodyBuilder::new()
        .content("application/json", content)
        .required(Some(Required::True))
        .build();
    let received = ResponseBuilder::new()
        .description("Received. Any other status, or none within 10 seconds, is a failed delivery; there are no retries.")
        .build();
    let mut operation = OperationBuilder::new()
        .description(Some(description))
        .request_body(Some(body))
        .response("200", received)
        // Deliveries carry a signature instead of a key.
        .securities(Some(Vec::<utoipa::openapi::SecurityRequirement>::new()));
    for (name, description) in [
        ("X-Service-Delivery-Id", "The delivery's id."),
        ("webhook-id", "The delivery's id (Standard Webhooks 1.0)."),
        ("webhook-timestamp", "When it was sent, UNIX seconds."),
        (
            "webhook-signature",
            "`v1,` and the base64 HMAC-SHA256 of id, timestamp and body; several, separated by spaces, while a \
             secret is rotated.",
        ),
    ] {
        operation = operation.parameter(
            ParameterBuilder::new()
                .name(name)
                .parameter_in(ParameterIn::Header)
                .required(Required::True)
                .description(Some(description))
                .schema(Some(ObjectBuilder::new().schema_type(Type::String)))
                .build(),
        );
    }
    PathItemBuilder::new()
        .operation(HttpMethod::Post, operation.build())
        .build()
}
