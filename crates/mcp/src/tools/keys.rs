//! `create_api_key`, `list_api_keys` and `revoke_api_key`, for owners.

use bidloop_domain::matching::json::{Null, storable_text};
use bidloop_domain::model::ApiKeyId;
use bidloop_domain::use_case::{ActingMember, ManageApiKeysError, TokenCaller};
use serde_json::json;

use super::Arguments;
use crate::answer::Answer;
use crate::tool_error::ToolError;
use crate::{ToolServer, arguments};

pub(super) async fn create(
    server: &ToolServer,
    caller: &TokenCaller,
    given: Arguments,
) -> Result<Answer, ToolError> {
    let (name, expires_at) = arguments::read(given, |fields| {
        let name = fields.required("name", storable_text);
        let expires_at = fields.field("expiresAt", Null::Refused, arguments::moment);
        Some((name?, expires_at.given()))
    })?;
    let acting = ActingMember::from(caller);
    let created = server
        .manage_api_keys
        .create_as(&acting, &name, expires_at)
        .await?;
    let mut body = created.to_json();
    body["expiresAt"] = json!(expires_at);
    Ok(Answer::of(body)
        .saying("The key is shown this once. Keep it secret: it can bid for the organization."))
}

pub(super) async fn list(
    server: &ToolServer,
    caller: &TokenCaller,
    given: &Arguments,
) -> Result<Answer, ToolError> {
    arguments::none(given)?;
    let organization = caller.member.organization_id();
    let keys = server.manage_api_keys.list(organization).await?;
    Ok(Answer::of(json!({ "keys": keys })))
}

pub(super) async fn revoke(
    server: &ToolServer,
    caller: &TokenCaller,
    given: Arguments,
) -> Result<Answer, ToolError> {
    let id = arguments::read(given, |fields| fields.required("id", storable_text))?;
    let id = ApiKeyId::parse(&id).map_err(|_| ToolError::KeyUnknown(id))?;
    let acting = ActingMember::from(caller);
    let revoked_at = server.manage_api_keys.revoke_as(&acting, &id).await;
    let revoked_at = revoked_at.map_err(|error| match error {
        ManageApiKeysError::KeyUnknown { id, .. } => ToolError::KeyUnknown(id.to_string()),
        error => error.into(),
    })?;
    Ok(Answer::of(json!({ "id": id, "revokedAt": revoked_at })))
}
