//! `bidloop activity`.

use bidloop_domain::model::ActivityQuery;

use super::{Outcome, database, output};
use crate::cli::ActivityArgs;
use crate::service::Operations;
use crate::settings::Settings;

pub(super) async fn run(settings: &Settings, args: &ActivityArgs) -> Outcome {
    let query = ActivityQuery {
        organization_id: args.organization.clone(),
        campaign_id: args.campaign.clone(),
        lead_id: args.lead.clone(),
        limit: args.limit,
    };
    let database = database::open_current(settings).await?;
    let operations = Operations::new(settings, &database).await?;
    for entry in operations.list_activity.execute(&query).await? {
        output::json_line(&entry)?;
    }
    Ok(())
}
