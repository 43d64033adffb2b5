//! `bidloop activity`.

use std::sync::Arc;
use std::time::Duration;

use bidloop_domain::model::ActivityQuery;
use bidloop_domain::port::StoreError;
use bidloop_domain::use_case::{FollowActivity, ListActivity};

use super::{Outcome, database, output};
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
    let list_activity = Operations::new(settings, &database).await?.list_activity;
    if let Some(mut stop) = stop {
        return tokio::select! {
            () = stop.requested() => Ok(()),
            ended = follow(&list_activity, &query) => ended,
        };
    }
    for entry in list_activity.execute(&query).await? {
        output::json_line(&entry)?;
    }
    Ok(())
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
