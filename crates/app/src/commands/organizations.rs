//! `bidloop organizations list`.

use bidloop_domain::use_case::ListedOrganization;
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

fn document(organization: &ListedOrganization) -> Value {
    let name = &organization.name;
    let Some(facts) = &organization.facts else {
        return json!({ "id": name.id, "name": name.name, "subscription": null, "campaigns": null });
    };
    json!({
        "id": name.id,
        "name": name.name,
        "subscription": {
            "status": facts.subscription.status,
            "collectionPaused": facts.subscription.collection_paused,
            "currentPeriodStart": facts.period.start.as_seconds(),
            "currentPeriodEnd": facts.period.end.as_seconds(),
            "proposalLimit": facts.subscription.proposal_limit,
            "proposalsUsed": facts.used,
        },
        "campaigns": facts.campaigns.len(),
    })
}

fn print(organization: &ListedOrganization) -> Outcome {
    let name = &organization.name;
    let Some(facts) = &organization.facts else {
        return output::quoting_line(&format!(
            "{}  {}  cannot be read: see `bidloop doctor`",
            name.id, name.name
        ));
    };
    let paused = if facts.subscription.collection_paused {
        ", collection paused"
    } else {
        ""
    };
    let limit = facts.subscription.proposal_limit;
    let of_limit = limit.map_or_else(String::new, |limit| format!(" of {limit}"));
    output::quoting_line(&format!(
        "{}  {}  {}{paused}  {} campaigns  {}{of_limit} proposals used",
        name.id,
        name.name,
        facts.subscription.status,
        facts.campaigns.len(),
        facts.used,
    ))
}
