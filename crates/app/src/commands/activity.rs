//! `bidloop activity`.

use bidloop_domain::model::{ActivityQuery, CampaignId, LeadId, OrganizationId};

use super::{Failure, Outcome, database, output};
use crate::cli::ActivityArgs;
use crate::service::Operations;
use crate::settings::Settings;

pub(super) async fn run(settings: &Settings, args: &ActivityArgs) -> Outcome {
    let id = |flag: &str, error| Failure::usage(format!("--{flag}: {error}"));
    let query = ActivityQuery {
        organization_id: args
            .organization
            .as_deref()
            .map(|text| OrganizationId::parse(text).map_err(|error| id("organization", error)))
            .transpose()?,
        campaign_id: args
            .campaign
            .as_deref()
            .map(|text| CampaignId::parse(text).map_err(|error| id("campaign", error)))
            .transpose()?,
        lead_id: args.lead.as_deref().map(LeadId::from_caller),
        limit: args.limit,
    };
    let database = database::open_current(settings).await?;
    let operations = Operations::new(settings, &database).await?;
    for entry in operations.list_activity.execute(&query).await? {
        output::json_line(&entry)?;
    }
    Ok(())
}
