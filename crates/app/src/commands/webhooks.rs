//! `bidloop webhooks test`: a test event to one endpoint, as the console's Test sends it (decision E6).

use bidloop_domain::model::{Actor, Authorization, EndpointId, OrganizationId};
use bidloop_domain::use_case::{Requester, TestWith, TriedDelivery, TryEndpointsError};
use serde_json::{Value, json};

use super::moment::moment;
use super::{Failure, Outcome, database, output};
use crate::cli::WebhooksCommand;
use crate::service::Operations;
use crate::settings::Settings;

fn failed(error: TryEndpointsError, organization: &OrganizationId, id: &EndpointId) -> Failure {
    Failure::failed(match error {
        TryEndpointsError::EndpointUnknown => {
            format!("the organization \"{organization}\" has no endpoint \"{id}\"")
        }
        TryEndpointsError::NoLead { can_make: true } => {
            "there is no lead to test with yet: --make-lead makes one of the latest matching job".to_owned()
        }
        TryEndpointsError::NoLead { can_make: false } => {
            "there is no lead to test with yet, and no stored job matches a campaign: wait for a job that does"
                .to_owned()
        }
        TryEndpointsError::TooManyTries { again_at, .. } => {
            format!("{error}: try again after {}", moment(again_at))
        }
        other => other.to_string(),
    })
}

pub(super) async fn run(settings: &Settings, command: WebhooksCommand) -> Outcome {
    let WebhooksCommand::Test {
        organization,
        id,
        event,
        make_lead,
        json: as_json,
    } = command;
    let database = database::open_current(settings).await?;
    let endpoints = Operations::new(settings, &database).await?.try_endpoints;
    let operator = Requester {
        organization_id: organization,
        actor: Actor::command("webhooks test"),
        authorization: Authorization::Subscription,
        http_status: None,
        trace_parent: None,
    };
    let tried = endpoints
        .test(&operator, &id, TestWith { event, make_lead })
        .await;
    let tried = tried.map_err(|error| failed(error, &operator.organization_id, &id))?;
    if as_json {
        output::json(&document(&tried))?;
    } else {
        output::quoting_line(&told(&tried))?;
    }
    if tried.delivered {
        Ok(())
    } else {
        Err(Failure::Failed(Vec::new()))
    }
}

fn document(tried: &TriedDelivery) -> Value {
    json!({
        "deliveryId": tried.id,
        "endpointId": tried.endpoint_id,
        "event": tried.event,
        "outcome": if tried.delivered { "delivered" } else { "failed" },
        "responseStatus": tried.response_status,
        "durationMs": tried.took.map(|took| u64::try_from(took.as_millis()).unwrap_or(u64::MAX)),
        "reason": tried.fault,
    })
}

/// The URL is not repeated: its path and query often carry a secret.
fn told(tried: &TriedDelivery) -> String {
    let took = tried
        .took
        .map_or_else(String::new, |took| format!(" after {} ms", took.as_millis()));
    let status = tried
        .response_status
        .map_or_else(String::new, |status| format!(", status {status}"));
    match &tried.fault {
        None => format!(
            "{} was delivered to {}{status}{took}.",
            tried.event, tried.endpoint_id
        ),
        Some(fault) => format!(
            "{} to {} failed{took}{status}: {fault}.",
            tried.event, tried.endpoint_id
        ),
    }
}
