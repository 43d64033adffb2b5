//! Organizations as they stand, each table read once for some hundreds of them.

use std::collections::HashMap;

use bidloop_domain::model::{ApiKeyHash, OrganizationId};
use bidloop_domain::port::{FilterRecord, OrganizationRecord, ProvisioningSnapshot, Revision};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use super::super::Conn;
use super::AT_ONCE;
use crate::columns::read;
use crate::failure::Failure;
use crate::rows::{AccountRow, ApiKeyRow, CampaignRow, FilterRow, OrganizationRow, UserRow, WebhookRow};
use crate::schema::{
    api_keys, bidder_accounts, campaigns, filters, organizations, revision_counter, users, webhook_endpoints,
};

pub(super) async fn snapshot(
    conn: &mut Conn,
    asked: &[OrganizationId],
    key_hashes: &[ApiKeyHash],
) -> Result<ProvisioningSnapshot, Failure> {
    let revision = revision_counter::table
        .find(1_i64)
        .select(revision_counter::value)
        .first(conn)
        .await?;
    let mut found = HashMap::new();
    for some in asked.chunks(AT_ONCE) {
        let ids: Vec<&str> = some.iter().map(OrganizationId::as_str).collect();
        read_whole(conn, &ids, &mut found).await?;
    }
    Ok(ProvisioningSnapshot {
        revision: Revision(revision),
        organizations: asked.iter().filter_map(|id| found.remove(id.as_str())).collect(),
        taken_key_hashes: taken(conn, key_hashes).await?,
    })
}

type Organizations = HashMap<String, OrganizationRecord>;

async fn read_whole(conn: &mut Conn, ids: &[&str], found: &mut Organizations) -> Result<(), Failure> {
    let rows: Vec<OrganizationRow> = organizations::table
        .filter(organizations::id.eq_any(ids))
        .select(OrganizationRow::as_select())
        .load(conn)
        .await?;
    for row in rows {
        found.insert(row.id.clone(), row.into_record()?);
    }
    read_people(conn, ids, found).await?;
    read_receivers_and_accounts(conn, ids, found).await?;
    read_campaigns(conn, ids, found).await
}

async fn read_people(conn: &mut Conn, ids: &[&str], found: &mut Organizations) -> Result<(), Failure> {
    let rows: Vec<UserRow> = users::table
        .filter(users::organization_id.eq_any(ids))
        .order((users::organization_id, users::email_key))
        .select(UserRow::as_select())
        .load(conn)
        .await?;
    for row in rows {
        if let Some(organization) = found.get_mut(&row.organization_id) {
            organization.users.push(row.into_record());
        }
    }
    let rows: Vec<ApiKeyRow> = api_keys::table
        .filter(api_keys::organization_id.eq_any(ids))
        .order((api_keys::organization_id, api_keys::created_at, api_keys::id))
        .select(ApiKeyRow::as_select())
        .load(conn)
        .await?;
    for row in rows {
        if let Some(organization) = found.get_mut(&row.organization_id) {
            let hash = ApiKeyHash::from_stored(row.key_hash.clone());
            organization.api_keys.push((row.into_record()?, hash));
        }
    }
    Ok(())
}

async fn read_receivers_and_accounts(
    conn: &mut Conn,
    ids: &[&str],
    found: &mut Organizations,
) -> Result<(), Failure> {
    let rows: Vec<WebhookRow> = webhook_endpoints::table
        .filter(webhook_endpoints::organization_id.eq_any(ids))
        .order((webhook_endpoints::organization_id, webhook_endpoints::id))
        .select(WebhookRow::as_select())
        .load(conn)
        .await?;
    for row in rows {
        if let Some(organization) = found.get_mut(&row.organization_id) {
            organization.webhooks.push(row.into_record()?);
        }
    }
    let rows: Vec<AccountRow> = bidder_accounts::table
        .filter(bidder_accounts::organization_id.eq_any(ids))
        .order((bidder_accounts::organization_id, bidder_accounts::id))
        .select(AccountRow::as_select())
        .load(conn)
        .await?;
    for row in rows {
        if let Some(organization) = found.get_mut(&row.organization_id) {
            organization.accounts.push(row.into_record()?);
        }
    }
    Ok(())
}

async fn read_campaigns(conn: &mut Conn, ids: &[&str], found: &mut Organizations) -> Result<(), Failure> {
    let rows: Vec<FilterRow> = filters::table
        .filter(filters::organization_id.eq_any(ids))
        .order((filters::organization_id, filters::id))
        .select(FilterRow::as_select())
        .load(conn)
        .await?;
    let mut filters_of: HashMap<(String, String), Vec<FilterRecord>> = HashMap::new();
    for row in rows {
        let campaign = (row.organization_id.clone(), row.campaign_id.clone());
        filters_of.entry(campaign).or_default().push(row.into_record()?);
    }
    let rows: Vec<CampaignRow> = campaigns::table
        .filter(campaigns::organization_id.eq_any(ids))
        .order((campaigns::organization_id, campaigns::id))
        .select(CampaignRow::as_select())
        .load(conn)
        .await?;
    for row in rows {
        let filters = filters_of.remove(&(row.organization_id.clone(), row.id.clone()));
        if let Some(organization) = found.get_mut(&row.organization_id) {
            organization
                .campaigns
                .push(row.into_record(filters.unwrap_or_default())?);
        }
    }
    Ok(())
}

async fn taken(
    conn: &mut Conn,
    key_hashes: &[ApiKeyHash],
) -> Result<Vec<(ApiKeyHash, OrganizationId)>, Failure> {
    let mut taken = Vec::new();
    for some in key_hashes.chunks(AT_ONCE) {
        let hashes: Vec<&str> = some.iter().map(ApiKeyHash::as_str).collect();
        let rows: Vec<(String, String)> = api_keys::table
            .filter(api_keys::key_hash.eq_any(hashes))
            .order(api_keys::key_hash)
            .select((api_keys::key_hash, api_keys::organization_id))
            .load(conn)
            .await?;
        for (hash, id) in rows {
            let organization = read("api_keys.organization_id", &id, OrganizationId::parse(&id))?;
            taken.push((ApiKeyHash::from_stored(hash), organization));
        }
    }
    Ok(taken)
}
