//! `bidloop tokens create|list|revoke`.

use bidloop_domain::model::{EmailKey, OrganizationId, PersonalTokenRecord};
use bidloop_domain::use_case::{MadeToken, ManagePersonalTokens, NewPersonalToken, PeopleError, TokenHolder};
use serde_json::json;

use super::moment::{moment, use_and_end};
use super::{Failure, Outcome, database, output};
use crate::cli::TokensCommand;
use crate::service::Operations;
use crate::settings::Settings;

impl From<PeopleError> for Failure {
    fn from(error: PeopleError) -> Self {
        Self::failed(error.to_string())
    }
}

pub(super) async fn run(settings: &Settings, command: TokensCommand) -> Outcome {
    let database = database::open_current(settings).await?;
    let tokens = Operations::new(settings, &database).await?.people.manage_tokens;
    let of = |organization: OrganizationId, user: &str, words: &str| {
        TokenHolder::by_command(organization, EmailKey::of(user.trim()), words)
    };
    match command {
        TokensCommand::Create {
            organization,
            user,
            name,
            scope,
            expires_at,
            json,
        } => {
            let holder = of(organization, &user, "tokens create");
            let new = NewPersonalToken {
                name: &name,
                scope,
                expires_at,
            };
            let made = tokens.make(&holder, new).await?;
            match show(&made, json) {
                Ok(()) => Ok(()),
                Err(failure) => Err(failure.and(withdrawn(&tokens, &holder, &made).await)),
            }
        }
        TokensCommand::List {
            organization,
            user,
            json,
        } => {
            let records = tokens.list(&organization, &EmailKey::of(user.trim())).await?;
            if json {
                output::json(&records)
            } else {
                records.iter().try_for_each(print)
            }
        }
        TokensCommand::Revoke {
            organization,
            user,
            id,
            json,
        } => {
            let holder = of(organization, &user, "tokens revoke");
            let revoked_at = tokens.revoke(&holder, &id).await?;
            if json {
                return output::json(&json!({ "id": id, "revokedAt": revoked_at }));
            }
            output::line(&format!(
                "Token {id} has been revoked since {}.",
                moment(revoked_at)
            ))
        }
    }
}

fn show(made: &MadeToken, json: bool) -> Outcome {
    let record = &made.record;
    if json {
        return output::json(&json!({
            "id": record.id, "name": record.name, "scope": record.scope, "token": made.token.expose(),
        }));
    }
    output::line(&format!(
        "Token {} ({}), shown this once:",
        record.id, record.name
    ))?;
    output::line(made.token.expose())
}

/// Revokes a token that could not be shown, so that no token works that nobody has. Says what came of it.
async fn withdrawn(tokens: &ManagePersonalTokens, holder: &TokenHolder, made: &MadeToken) -> String {
    let id = &made.record.id;
    match tokens.revoke(holder, id).await {
        Ok(_) => format!("token \"{id}\" could not be shown, and was revoked: create another one"),
        Err(error) => format!("token \"{id}\" could not be shown, and still works: revoke it ({error})"),
    }
}

fn print(record: &PersonalTokenRecord) -> Outcome {
    let use_and_end = use_and_end(record.last_used_at, record.revoked_at, record.expires_at);
    output::line(&format!(
        "{}  {}  {}  created {}  {use_and_end}",
        record.id,
        record.name,
        record.scope,
        moment(record.created_at)
    ))
}
