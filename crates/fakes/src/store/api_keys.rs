//! [`ApiKeyStore`] in memory.

use async_trait::async_trait;
use bidloop_domain::model::{
    ApiKeyHash, ApiKeyId, ApiKeyRecord, Authorization, FoundApiKey, MemberRole, OrganizationId, Timestamp,
    Unauthorized,
};
use bidloop_domain::port::{ApiKeyStore, CreateApiKey, RevokeApiKey, StoreError};

use super::{MemoryStore, State};

#[async_trait]
impl ApiKeyStore for MemoryStore {
    async fn find(&self, hash: &ApiKeyHash) -> Result<Option<FoundApiKey>, StoreError> {
        Ok(self.state()?.key(hash))
    }

    async fn create(&self, record: &ApiKeyRecord, hash: &ApiKeyHash) -> Result<CreateApiKey, StoreError> {
        let mut state = self.state()?;
        let Some(organization) = state.organizations.get_mut(&record.organization_id) else {
            return Ok(CreateApiKey::OrganizationUnknown);
        };
        if organization
            .record
            .api_keys
            .iter()
            .any(|(stored, _)| stored.id == record.id)
        {
            return Ok(CreateApiKey::IdTaken);
        }
        organization.record.api_keys.push((record.clone(), hash.clone()));
        Ok(CreateApiKey::Created)
    }

    async fn list(&self, organization: &OrganizationId) -> Result<Option<Vec<ApiKeyRecord>>, StoreError> {
        let state = self.state()?;
        Ok(state.organizations.get(organization).map(|organization| {
            let mut keys: Vec<ApiKeyRecord> = organization
                .record
                .api_keys
                .iter()
                .map(|(record, _)| record.clone())
                .collect();
            keys.sort_by_key(|key| key.created_at);
            keys
        }))
    }

    async fn revoke(
        &self,
        organization: &OrganizationId,
        id: &ApiKeyId,
        at: Timestamp,
    ) -> Result<RevokeApiKey, StoreError> {
        let mut state = self.state()?;
        let Some(key) = key_of(&mut state, organization, id) else {
            return Ok(RevokeApiKey::Unknown);
        };
        if let Some(before) = key.revoked_at {
            return Ok(RevokeApiKey::RevokedBefore(before));
        }
        key.revoked_at = Some(at);
        Ok(RevokeApiKey::Revoked)
    }

    async fn record_uses(&self, uses: &[(OrganizationId, ApiKeyId, Timestamp)]) -> Result<(), StoreError> {
        let mut state = self.state()?;
        for (organization, id, at) in uses {
            if let Some(key) = key_of(&mut state, organization, id) {
                key.last_used_at = key.last_used_at.max(Some(*at));
            }
        }
        Ok(())
    }
}

impl State {
    fn key(&self, hash: &ApiKeyHash) -> Option<FoundApiKey> {
        self.organizations.values().find_map(|organization| {
            let (record, _) = organization
                .record
                .api_keys
                .iter()
                .find(|(_, stored)| stored == hash)?;
            Some(FoundApiKey {
                record: record.clone(),
                subscription: organization.record.subscription.clone(),
            })
        })
    }

    /// Whether a request that acts can be accepted at `at`.
    pub(super) fn active(
        &self,
        authorization: &Authorization,
        organization: &OrganizationId,
        at: Timestamp,
    ) -> Result<(), Unauthorized> {
        self.authorized(authorization, organization, at)?;
        if self.organizations[organization].record.subscription.is_active() {
            Ok(())
        } else {
            Err(Unauthorized::SubscriptionLapsed)
        }
    }

    /// Whether a request of the organization can be accepted at `at`, its subscription apart, and the person's role.
    pub(super) fn authorized(
        &self,
        authorization: &Authorization,
        organization: &OrganizationId,
        at: Timestamp,
    ) -> Result<Option<MemberRole>, Unauthorized> {
        let found = match authorization {
            Authorization::ApiKey(hash) => self
                .key(hash)
                .filter(|found| found.record.organization_id == *organization && found.record.works_at(at))
                .map(|_| None),
            Authorization::Session(hash) => self.role_of_session(hash, organization, at).map(Some),
            Authorization::PersonalToken(id) => self.role_of_token(id, organization, at).map(Some),
            Authorization::Subscription => self.organizations.contains_key(organization).then_some(None),
        };
        found.ok_or(Unauthorized::Ended)
    }
}

fn key_of<'a>(
    state: &'a mut State,
    organization: &OrganizationId,
    id: &ApiKeyId,
) -> Option<&'a mut ApiKeyRecord> {
    let keys = &mut state.organizations.get_mut(organization)?.record.api_keys;
    keys.iter_mut()
        .find(|(record, _)| &record.id == id)
        .map(|(record, _)| record)
}
