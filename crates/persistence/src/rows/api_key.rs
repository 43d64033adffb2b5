//! API keys.

use bidloop_domain::model::{ApiKeyHash, ApiKeyId, ApiKeyRecord, OrganizationId, Timestamp};
use diesel::prelude::*;

use crate::columns::{FreeText, read};
use crate::failure::Failure;
use crate::schema::api_keys;

/// A row of `api_keys`.
#[derive(Debug, Clone, Insertable, Queryable, Selectable)]
#[diesel(table_name = api_keys)]
pub(crate) struct ApiKeyRow {
    pub(crate) organization_id: String,
    pub(crate) id: String,
    pub(crate) key_hash: String,
    pub(crate) name: FreeText,
    pub(crate) created_at: i64,
    pub(crate) last_used_at: Option<i64>,
    pub(crate) expires_at: Option<i64>,
    pub(crate) revoked_at: Option<i64>,
}

impl ApiKeyRow {
    pub(crate) fn new(record: &ApiKeyRecord, hash: &ApiKeyHash) -> Self {
        Self {
            organization_id: record.organization_id.to_string(),
            id: record.id.to_string(),
            key_hash: hash.as_str().to_owned(),
            name: FreeText::from(record.name.as_str()),
            created_at: record.created_at.as_millis(),
            last_used_at: record.last_used_at.map(Timestamp::as_millis),
            expires_at: record.expires_at.map(Timestamp::as_millis),
            revoked_at: record.revoked_at.map(Timestamp::as_millis),
        }
    }

    pub(crate) fn into_record(self) -> Result<ApiKeyRecord, Failure> {
        Ok(ApiKeyRecord {
            id: read("api_keys.id", &self.id, ApiKeyId::parse(&self.id))?,
            organization_id: read(
                "api_keys.organization_id",
                &self.organization_id,
                OrganizationId::parse(&self.organization_id),
            )?,
            name: self.name.0,
            created_at: Timestamp::from_millis(self.created_at),
            last_used_at: self.last_used_at.map(Timestamp::from_millis),
            expires_at: self.expires_at.map(Timestamp::from_millis),
            revoked_at: self.revoked_at.map(Timestamp::from_millis),
        })
    }
}
