//! `bidloop keys create|list|revoke`.

use bidloop_domain::model::{ApiKeyId, ApiKeyRecord, OrganizationId};
use bidloop_domain::use_case::{CreatedApiKey, ManageApiKeys, ManageApiKeysError, NewApiKey};
use serde_json::json;

use super::moment::{moment, use_and_end};
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
            let organization = new.organization_id.clone();
            let created = keys.create(new).await?;
            match show(&created, json) {
                Ok(()) => Ok(()),
                Err(failure) => Err(failure.and(withdrawn(&keys, &organization, &created.id).await)),
            }
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

fn show(created: &CreatedApiKey, json: bool) -> Outcome {
    if json {
        return output::json(&created.to_json());
    }
    output::line(&format!(
        "Key {} ({}), shown this once:",
        created.id, created.name
    ))?;
    output::line(created.key.expose())
}

/// Revokes a key that could not be shown, so that no key works that nobody has. Says what came of it.
pub(super) async fn withdrawn(keys: &ManageApiKeys, organization: &OrganizationId, id: &ApiKeyId) -> String {
    match keys.revoke(organization, id).await {
        Ok(_) => format!(
            "key \"{id}\" of organization \"{organization}\" could not be shown, and was revoked: create another one"
        ),
        Err(error) => format!(
            "key \"{id}\" of organization \"{organization}\" could not be shown, and still works: revoke it ({error})"
        ),
    }
}

fn print(record: &ApiKeyRecord) -> Outcome {
    let use_and_end = use_and_end(record.last_used_at, record.revoked_at, record.expires_at);
    output::line(&format!(
        "{}  {}  created {}  {use_and_end}",
        record.id,
        record.name,
        moment(record.created_at)
    ))
}
