//! API keys: found by digest with each request, created and revoked by operators.

use async_trait::async_trait;
use bidloop_domain::model::{ApiKeyHash, ApiKeyId, ApiKeyRecord, FoundApiKey, OrganizationId, Timestamp};
use bidloop_domain::port::{ApiKeyStore, CreateApiKey, RevokeApiKey, StoreError};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use super::{Conn, Store};
use crate::failure::Failure;
use crate::rows::{ApiKeyRow, SubscriptionRow};
use crate::schema::{api_keys, organizations};

#[async_trait]
impl ApiKeyStore for Store {
    async fn find(&self, hash: &ApiKeyHash) -> Result<Option<FoundApiKey>, StoreError> {
        let hash = hash.clone();
        self.read(async move |conn: &mut Conn| find(conn, &hash).await)
            .await
    }

    async fn create(&self, record: &ApiKeyRecord, hash: &ApiKeyHash) -> Result<CreateApiKey, StoreError> {
        let row = ApiKeyRow::new(record, hash);
        self.write(async move |conn: &mut Conn| create(conn, &row).await)
            .await
    }

    async fn list(&self, organization: &OrganizationId) -> Result<Option<Vec<ApiKeyRecord>>, StoreError> {
        let organization = organization.clone();
        self.read(async move |conn: &mut Conn| list(conn, &organization).await)
            .await
    }

    async fn revoke(
        &self,
        organization: &OrganizationId,
        id: &ApiKeyId,
        at: Timestamp,
    ) -> Result<RevokeApiKey, StoreError> {
        let (organization, id) = (organization.clone(), id.clone());
        self.write(async move |conn: &mut Conn| revoke(conn, &organization, &id, at).await)
            .await
    }

    async fn record_uses(&self, uses: &[(OrganizationId, ApiKeyId, Timestamp)]) -> Result<(), StoreError> {
        let mut uses = uses.to_vec();
        // Replicas that write at the same time take the rows in the same order, so that none waits in a circle.
        uses.sort_unstable();
        self.write(async move |conn: &mut Conn| record_uses(conn, &uses).await)
            .await
    }
}

async fn find(conn: &mut Conn, hash: &ApiKeyHash) -> Result<Option<FoundApiKey>, Failure> {
    let found: Option<(ApiKeyRow, SubscriptionRow)> = api_keys::table
        .inner_join(organizations::table.on(organizations::id.eq(api_keys::organization_id)))
        .filter(api_keys::key_hash.eq(hash.as_str()))
        .select((ApiKeyRow::as_select(), SubscriptionRow::as_select()))
        .first(conn)
        .await
        .optional()?;
    let Some((key, subscription)) = found else {
        return Ok(None);
    };
    Ok(Some(FoundApiKey {
        record: key.into_record()?,
        subscription: subscription.into_subscription()?,
    }))
}

async fn create(conn: &mut Conn, row: &ApiKeyRow) -> Result<CreateApiKey, Failure> {
    if !organization_exists(conn, &row.organization_id).await? {
        return Ok(CreateApiKey::OrganizationUnknown);
    }
    let inserted = diesel::insert_into(api_keys::table)
        .values(row)
        .on_conflict_do_nothing()
        .execute(conn)
        .await?;
    Ok(if inserted == 1 {
        CreateApiKey::Created
    } else {
        CreateApiKey::IdTaken
    })
}

async fn list(conn: &mut Conn, organization: &OrganizationId) -> Result<Option<Vec<ApiKeyRecord>>, Failure> {
    if !organization_exists(conn, organization.as_str()).await? {
        return Ok(None);
    }
    let rows: Vec<ApiKeyRow> = api_keys::table
        .filter(api_keys::organization_id.eq(organization.as_str()))
        .order((api_keys::created_at, api_keys::id))
        .select(ApiKeyRow::as_select())
        .load(conn)
        .await?;
    let records: Result<Vec<ApiKeyRecord>, Failure> = rows.into_iter().map(ApiKeyRow::into_record).collect();
    records.map(Some)
}

async fn revoke(
    conn: &mut Conn,
    organization: &OrganizationId,
    id: &ApiKeyId,
    at: Timestamp,
) -> Result<RevokeApiKey, Failure> {
    let key = api_keys::table.find((organization.as_str(), id.as_str()));
    let revoked = diesel::update(key.filter(api_keys::revoked_at.is_null()))
        .set(api_keys::revoked_at.eq(at.as_millis()))
        .execute(conn)
        .await?;
    if revoked == 1 {
        return Ok(RevokeApiKey::Revoked);
    }
    let before: Option<Option<i64>> = key.select(api_keys::revoked_at).first(conn).await.optional()?;
    Ok(match before.flatten() {
        Some(moment) => RevokeApiKey::RevokedBefore(Timestamp::from_millis(moment)),
        None => RevokeApiKey::Unknown,
    })
}

async fn record_uses(conn: &mut Conn, uses: &[(OrganizationId, ApiKeyId, Timestamp)]) -> Result<(), Failure> {
    for (organization, id, at) in uses {
        let at = at.as_millis();
        let key = api_keys::table.find((organization.as_str(), id.as_str()));
        let earlier = api_keys::last_used_at.is_null().or(api_keys::last_used_at.lt(at));
        diesel::update(key.filter(earlier))
            .set(api_keys::last_used_at.eq(at))
            .execute(conn)
            .await?;
    }
    Ok(())
}

async fn organization_exists(conn: &mut Conn, id: &str) -> Result<bool, Failure> {
    let found = diesel::select(diesel::dsl::exists(organizations::table.find(id)));
    Ok(found.get_result(conn).await?)
}
