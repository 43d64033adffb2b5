//! `bidloop keys create|list|revoke`.

use bidloop_domain::model::{ApiKeyRecord, Timestamp};
use bidloop_domain::use_case::{ManageApiKeysError, NewApiKey};
use serde_json::json;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::{Failure, Outcome, database, output};
use crate::cli::KeysCommand;
use crate::service::Operations;
use crate::settings::Settings;

impl From<ManageApiKeysError> for Failure {
    fn from(error: ManageApiKeysError) -> Self {
        Self::failed(error.to_string())
    }
}

pub(super) async fn run(settings: &Settings, command: KeysCommand) -> Outcome {
    let database = database::open_current(settings).await?;
    let keys = Operations::new(settings, &database).await?.manage_api_keys;
    match command {
        KeysCommand::Create {
            organization,
            name,
            id,
            expires_at,
            json,
        } => {
            let new = NewApiKey {
                organization_id: organization,
                id,
                name,
                expires_at,
            };
            let created = keys.create(new).await?;
            if json {
                return output::json(&created.to_json());
            }
            output::line(&format!(
                "Key {} ({}), shown this once:",
                created.id, created.name
            ))?;
            output::line(created.key.expose())
        }
        KeysCommand::List { organization, json } => {
            let records = keys.list(&organization).await?;
            if json {
                output::json(&records)
            } else {
                records.iter().try_for_each(print)
            }
        }
        KeysCommand::Revoke {
            organization,
            id,
            json,
        } => {
            let revoked_at = keys.revoke(&organization, &id).await?;
            if json {
                return output::json(&json!({ "id": id, "revokedAt": revoked_at }));
            }
            output::line(&format!(
                "Key {id} has been revoked since {}.",
                moment(revoked_at)
            ))
        }
    }
}

fn moment(at: Timestamp) -> String {
    let nanos = i128::from(at.as_millis()) * 1_000_000;
    let formatted = OffsetDateTime::from_unix_timestamp_nanos(nanos)
        .ok()
        .and_then(|at| at.format(&Rfc3339).ok());
    formatted.unwrap_or_else(|| at.as_millis().to_string())
}

fn print(record: &ApiKeyRecord) -> Outcome {
    let state = match (record.revoked_at, record.expires_at) {
        (Some(at), _) => format!("revoked {}", moment(at)),
        (None, Some(at)) => format!("expires {}", moment(at)),
        (None, None) => "no expiry".to_owned(),
    };
    let used = record
        .last_used_at
        .map_or_else(|| "never used".to_owned(), |at| format!("used {}", moment(at)));
    output::line(&format!(
        "{}  {}  created {}  {used}  {state}",
        record.id,
        record.name,
        moment(record.created_at)
    ))
}
