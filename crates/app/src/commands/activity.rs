//! `bidloop activity`.

use std::sync::Arc;
use std::time::Duration;

use bidloop_domain::model::{ActivityQuery, OrganizationId};
use bidloop_domain::port::StoreError;
use bidloop_domain::use_case::{FollowActivity, ListActivity};

use super::{Failure, Outcome, database, no_organization, output};
use crate::cli::ActivityArgs;
use crate::service::Operations;
use crate::settings::Settings;
use crate::shutdown::StopSignals;

/// Pause between two looks for new entries.
const PAUSE: Duration = Duration::from_millis(500);
/// Pause after the database could not be reached.
const PAUSE_AFTER_FAULT: Duration = Duration::from_secs(2);

pub(super) async fn run(settings: &Settings, args: &ActivityArgs) -> Outcome {
    let query = ActivityQuery {
        organization_id: args.organization.clone(),
        campaign_id: args.campaign.clone(),
        lead_id: args.lead.clone(),
        limit: args.limit,
    };
    // Once caught, signals do not end the process by themselves.
    let stop = args.follow.then(StopSignals::catch);
    let database = database::open_current(settings).await?;
    let operations = Operations::new(settings, &database).await?;
    let entries = operations.list_activity.execute(&query).await?;
    // What is gone may have left entries.
    let unknown = if entries.is_empty() {
        unknown(&operations, args).await?
    } else {
        None
    };
    match (stop, unknown) {
        (Some(_), Some(unknown)) => Err(Failure::failed(unknown)),
        (Some(mut stop), None) => tokio::select! {
            () = stop.requested() => Ok(()),
            ended = follow(&operations.list_activity, &query) => ended,
        },
        (None, unknown) => {
            output::errors(unknown.as_slice());
            entries.iter().try_for_each(output::json_line)
        }
    }
}

/// What is asked for and not there. A lead may be a match that becomes one later.
async fn unknown(operations: &Operations, args: &ActivityArgs) -> Result<Option<String>, Failure> {
    let organizations = operations.list_organizations.names().await?;
    let is_asked = |id: &OrganizationId| args.organization.as_ref().is_none_or(|asked| asked == id);
    let ids: Vec<_> = organizations
        .iter()
        .map(|name| &name.id)
        .filter(|id| is_asked(id))
        .collect();
    if let (Some(organization), []) = (&args.organization, &ids[..]) {
        return Ok(Some(no_organization(organization)));
    }
    let Some(campaign) = &args.campaign else {
        return Ok(None);
    };
    let leads = &operations.operate_leads.leads;
    for id in ids {
        if leads.campaign_exists(id, campaign).await? {
            return Ok(None);
        }
    }
    Ok(Some(format!(
        "there is no campaign \"{campaign}\": `bidloop campaigns list` shows those there are"
    )))
}

/// Prints until standard output is closed.
async fn follow(list: &ListActivity, query: &ActivityQuery) -> Outcome {
    let (mut followed, newest) = FollowActivity::start(Arc::clone(&list.activities), query).await?;
    for entry in newest {
        output::json_line(&entry)?;
    }
    loop {
        match followed.next().await {
            Ok(entries) if entries.is_empty() => tokio::time::sleep(PAUSE).await,
            Ok(entries) => {
                for entry in entries {
                    output::json_line(&entry)?;
                }
            }
            Err(StoreError::Unavailable(why)) => {
                tracing::warn!(error = why, "the database is unavailable; will retry");
                tokio::time::sleep(PAUSE_AFTER_FAULT).await;
            }
            Err(other) => return Err(other.into()),
        }
    }
}
