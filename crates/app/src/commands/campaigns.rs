//! `bidloop campaigns list`.

use bidloop_domain::model::OrganizationId;
use bidloop_domain::use_case::ListedCampaign;
use serde_json::{Value, json};

use super::{Failure, Outcome, database, no_organization, output};
use crate::cli::CampaignsCommand;
use crate::service::Operations;
use crate::settings::Settings;

pub(super) async fn run(settings: &Settings, command: CampaignsCommand) -> Outcome {
    let CampaignsCommand::List {
        organization,
        json: as_json,
    } = command;
    let database = database::open_current(settings).await?;
    let operations = Operations::new(settings, &database).await?;
    let organizations = if let Some(organization) = &organization {
        vec![organization.clone()]
    } else {
        let names = operations.list_organizations.names().await?;
        names.into_iter().map(|name| name.id).collect()
    };
    let mut documents = Vec::new();
    for id in organizations {
        let campaigns = operations.list_campaigns.of(&id).await?;
        // One that is not asked for by name may have been removed meanwhile.
        if campaigns.is_none() && organization.is_some() {
            return Err(Failure::failed(no_organization(&id)));
        }
        for campaign in campaigns.unwrap_or_default() {
            if as_json {
                documents.push(document(&id, &campaign));
            } else {
                print(&id, &campaign)?;
            }
        }
    }
    if as_json {
        return output::json(&documents);
    }
    Ok(())
}

fn document(organization: &OrganizationId, campaign: &ListedCampaign) -> Value {
    json!({
        "id": campaign.sign.id,
        "organizationId": organization,
        "name": campaign.sign.name,
        "mode": campaign.sign.mode,
        "state": campaign.sign.state,
        "bidderAccountId": campaign.account_id,
        "filters": campaign.filters,
        "missing": campaign.missing,
        "matchesToday": campaign.matches_today,
        "submittedIn7Days": campaign.submitted,
        "connectsSpentIn7Days": campaign.connects.get(),
    })
}

fn print(organization: &OrganizationId, campaign: &ListedCampaign) -> Outcome {
    let missing: Vec<&str> = campaign.missing.iter().map(|part| part.as_str()).collect();
    let missing = match &missing[..] {
        [] => String::new(),
        parts => format!("  lacks {}", parts.join(", ").replace('_', " ")),
    };
    output::quoting_line(&format!(
        "{}  {organization}  {}  {}, {}  {}  {} today  {} submitted in 7 days{missing}",
        campaign.sign.id,
        campaign.sign.name,
        campaign.sign.mode,
        campaign.sign.state,
        output::counted(campaign.filters, "filter", "filters"),
        output::counted(campaign.matches_today, "match", "matches"),
        campaign.submitted,
    ))
}
