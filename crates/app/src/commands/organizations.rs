//! `bidloop organizations list`.

use bidloop_domain::port::OrganizationSummary;
use serde_json::{Value, json};

use super::{Outcome, database, output};
use crate::cli::OrganizationsCommand;
use crate::service::Operations;
use crate::settings::Settings;

pub(super) async fn run(settings: &Settings, command: &OrganizationsCommand) -> Outcome {
    let OrganizationsCommand::List { json: as_json } = command;
    let database = database::open_current(settings).await?;
    let organizations = Operations::new(settings, &database).await?.list_organizations;
    let listed = organizations.execute().await?;
    if *as_json {
        return output::json(&listed.iter().map(document).collect::<Vec<_>>());
    }
    listed.iter().try_for_each(print)
}

fn document(organization: &OrganizationSummary) -> Value {
    let name = &organization.name;
    let subscription = organization.usage.as_ref().map(|usage| {
        json!({
            "status": usage.subscription.status,
            "collectionPaused": usage.subscription.collection_paused,
            "currentPeriodStart": usage.period.start.as_seconds(),
            "currentPeriodEnd": usage.period.end.as_seconds(),
            "proposalLimit": usage.subscription.proposal_limit,
            "proposalsUsed": usage.used,
        })
    });
    json!({
        "id": name.id,
        "name": name.name,
        "subscription": subscription,
        "campaigns": organization.campaigns,
    })
}

fn print(organization: &OrganizationSummary) -> Outcome {
    let name = &organization.name;
    let Some(usage) = &organization.usage else {
        return output::quoting_line(&format!(
            "{}  {}  cannot be read: see `bidloop doctor`",
            name.id, name.name
        ));
    };
    let paused = if usage.subscription.collection_paused {
        ", collection paused"
    } else {
        ""
    };
    let limit = usage.subscription.proposal_limit;
    let of_limit = limit.map_or_else(String::new, |limit| format!(" of {limit}"));
    output::quoting_line(&format!(
        "{}  {}  {}{paused}  {}  {}{of_limit} proposals used",
        name.id,
        name.name,
        usage.subscription.status,
        output::counted(organization.campaigns, "campaign", "campaigns"),
        usage.used,
    ))
}
