//! API keys: found by digest, created and revoked by operators.

use std::collections::HashMap;

use async_trait::async_trait;
use bidloop_domain::model::{
    ApiKeyHash, ApiKeyId, ApiKeyRecord, FoundApiKey, OrganizationId, Subscription, Timestamp,
};
use bidloop_domain::port::{ApiKeyStore, CreateApiKey, RevokeApiKey, StoreError};

use super::prelude::*;

#[async_trait]
impl ApiKeyStore for Store {
    async fn find(&self, hash: &ApiKeyHash) -> Result<Option<FoundApiKey>, StoreError> {
        let hash = hash.clone();
        self.look_up(async move |conn: &mut Conn| {
            let found: Option<(Row<ApiKeyRecord>, Row<Subscription>)> = api_keys::table
                .inner_join(organizations::table.on(organizations::id.eq(api_keys::organization_id)))
                .filter(api_keys::key_hash.eq(hash.as_str()))
                .select((Row::<ApiKeyRecord>::as_select(), Row::<Subscription>::as_select()))
                .first(conn)
                .await
                .optional()?;
            Ok(found.map(|(Row(record), Row(subscription))| FoundApiKey { record, subscription }))
        })
        .await
    }

    async fn find_each(&self, hashes: &[ApiKeyHash]) -> Result<HashMap<ApiKeyHash, FoundApiKey>, StoreError> {
        let (hashes, quarantine) = (hashes.to_vec(), self.quarantine.clone());
        self.read(async move |conn: &mut Conn| {
            let asked: Vec<&str> = hashes.iter().map(ApiKeyHash::as_str).collect();
            let rows: Vec<(Col<ApiKeyHash>, Tried<ApiKeyRecord>, Tried<Subscription>)> = api_keys::table
                .inner_join(organizations::table.on(organizations::id.eq(api_keys::organization_id)))
                .filter(one_of!(api_keys::key_hash, &asked))
                .select((
                    api_keys::key_hash,
                    Tried::<ApiKeyRecord>::as_select(),
                    Tried::<Subscription>::as_select(),
                ))
                .load(conn)
                .await?;
            let found = rows.into_iter().filter_map(|(Col(hash), record, subscription)| {
                let (record, subscription) =
                    (record.or_aside(&quarantine)?, subscription.or_aside(&quarantine)?);
                Some((hash, FoundApiKey { record, subscription }))
            });
            Ok(found.collect())
        })
        .await
    }

    async fn create(&self, record: &ApiKeyRecord, hash: &ApiKeyHash) -> Result<CreateApiKey, StoreError> {
        let (record, hash) = (record.clone(), hash.clone());
        self.write(async move |conn: &mut Conn| {
            if !exists!(conn, organizations::table.find(record.organization_id.as_str())) {
                return Ok(CreateApiKey::OrganizationUnknown);
            }
            let inserted = diesel::insert_into(api_keys::table)
                .values((record.columns()?, api_keys::key_hash.eq(hash.as_str())))
                .on_conflict_do_nothing()
                .execute(conn)
                .await?;
            Ok(if inserted == 1 {
                CreateApiKey::Created
            } else {
                CreateApiKey::IdTaken
            })
        })
        .await
    }

    async fn list(&self, organization: &OrganizationId) -> Result<Option<Vec<ApiKeyRecord>>, StoreError> {
        let (organization, quarantine) = (organization.clone(), self.quarantine.clone());
        self.read(async move |conn: &mut Conn| {
            if !exists!(conn, organizations::table.find(organization.as_str())) {
                return Ok(None);
            }
            let keys = api_keys::table
                .filter(api_keys::organization_id.eq(organization.as_str()))
                .order((api_keys::created_at, api_keys::id));
            Ok(Some(load_records!(conn, &quarantine, ApiKeyRecord, keys)))
        })
        .await
    }

    async fn revoke(
        &self,
        organization: &OrganizationId,
        id: &ApiKeyId,
        at: Timestamp,
    ) -> Result<RevokeApiKey, StoreError> {
        let (organization, id) = (organization.clone(), id.clone());
        let (of_requests, key_of_requests) = (organization.clone(), id.clone());
        let answer = self
            .write(async move |conn: &mut Conn| {
                let key = api_keys::table.find((organization.as_str(), id.as_str()));
                let revoked = diesel::update(key.filter(api_keys::revoked_at.is_null()))
                    .set(api_keys::revoked_at.eq(at.as_millis()))
                    .execute(conn)
                    .await?;
                if revoked == 1 {
                    return Ok(RevokeApiKey::Revoked);
                }
                let before: Option<Option<Col<Timestamp>>> =
                    key.select(api_keys::revoked_at).first(conn).await.optional()?;
                Ok(match before.flatten() {
                    Some(moment) => RevokeApiKey::RevokedBefore(moment.0),
                    None => RevokeApiKey::Unknown,
                })
            })
            .await?;
        // Requests that were being accepted on the key share a lock on its row. From here on none joins them.
        self.write(async move |conn: &mut Conn| {
            let key = api_keys::table
                .find((of_requests.as_str(), key_of_requests.as_str()))
                .select(api_keys::id);
            let _ended: Option<String> = for_update!(key).first(conn).await.optional()?;
            Ok(())
        })
        .await?;
        Ok(answer)
    }

    async fn record_uses(&self, uses: &[(OrganizationId, ApiKeyId, Timestamp)]) -> Result<(), StoreError> {
        let mut uses = uses.to_vec();
        // Replicas that write at the same time lock the rows in one order, so there is no deadlock.
        uses.sort_unstable();
        self.write(async move |conn: &mut Conn| {
            for (organization, id, at) in &uses {
                let at = at.as_millis();
                let key = api_keys::table.find((organization.as_str(), id.as_str()));
                let earlier = api_keys::last_used_at.is_null().or(api_keys::last_used_at.lt(at));
                diesel::update(key.filter(earlier))
                    .set(api_keys::last_used_at.eq(at))
                    .execute(conn)
                    .await?;
            }
            Ok(())
        })
        .await
    }
}
