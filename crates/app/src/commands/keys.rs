//! `bidloop keys create|list|revoke`.

use bidloop_domain::model::{ApiKeyId, ApiKeyRecord, OrganizationId, Timestamp};
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
    // What was said wrongly is said before the database is asked.
    let parsed = Parsed::try_from(command)?;
    let database = database::open_current(settings).await?;
    let keys = Operations::new(settings, &database).await?.manage_api_keys;
    match parsed {
        Parsed::Create(new, as_json) => {
            let created = keys.create(new).await?;
            if as_json {
                return output::json(&created.to_json());
            }
            output::line(&format!(
                "Key {} ({}), shown this once:",
                created.id, created.name
            ))?;
            output::line(created.key.expose())
        }
        Parsed::List(organization, as_json) => {
            let records = keys.list(&organization).await?;
            if as_json {
                output::json(&records)
            } else {
                records.iter().try_for_each(tell)
            }
        }
        Parsed::Revoke(organization, id, as_json) => {
            let revoked_at = keys.revoke(&organization, &id).await?;
            if as_json {
                return output::json(&json!({ "id": id, "revokedAt": revoked_at }));
            }
            output::line(&format!("Key {id} is revoked since {}.", moment(revoked_at)))
        }
    }
}

enum Parsed {
    Create(NewApiKey, bool),
    List(OrganizationId, bool),
    Revoke(OrganizationId, ApiKeyId, bool),
}

impl TryFrom<KeysCommand> for Parsed {
    type Error = Failure;

    fn try_from(command: KeysCommand) -> Result<Self, Failure> {
        let organization = |text: &str| {
            OrganizationId::parse(text).map_err(|error| Failure::usage(format!("--organization: {error}")))
        };
        let key_id =
            |text: &str| ApiKeyId::parse(text).map_err(|error| Failure::usage(format!("--id: {error}")));
        Ok(match command {
            KeysCommand::Create {
                organization: org,
                name,
                id,
                expires_at,
                json,
            } => Self::Create(
                NewApiKey {
                    organization_id: organization(&org)?,
                    id: id.as_deref().map(key_id).transpose()?,
                    name,
                    expires_at: expires_at.as_deref().map(parse_moment).transpose()?,
                },
                json,
            ),
            KeysCommand::List {
                organization: org,
                json,
            } => Self::List(organization(&org)?, json),
            KeysCommand::Revoke {
                organization: org,
                id,
                json,
            } => Self::Revoke(organization(&org)?, key_id(&id)?, json),
        })
    }
}

fn parse_moment(text: &str) -> Result<Timestamp, Failure> {
    let parsed = OffsetDateTime::parse(text, &Rfc3339).map_err(|_| {
        Failure::usage(format!(
            "--expires-at: `{text}` is no RFC 3339 date and time such as 2027-01-31T12:00:00Z"
        ))
    })?;
    let millis = parsed.unix_timestamp_nanos().div_euclid(1_000_000);
    Ok(Timestamp::from_millis(i64::try_from(millis).unwrap_or(i64::MAX)))
}

fn moment(at: Timestamp) -> String {
    let nanos = i128::from(at.as_millis()) * 1_000_000;
    let formatted = OffsetDateTime::from_unix_timestamp_nanos(nanos)
        .ok()
        .and_then(|at| at.format(&Rfc3339).ok());
    formatted.unwrap_or_else(|| at.as_millis().to_string())
}

fn tell(record: &ApiKeyRecord) -> Outcome {
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
