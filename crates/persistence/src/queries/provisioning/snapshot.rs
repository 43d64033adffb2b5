//! Organizations as they stand, each table read once for some hundreds of them.

use std::collections::HashMap;

use bidloop_domain::model::{ApiKeyHash, ApiKeyRecord, OrganizationId, WebhookEndpoint};
use bidloop_domain::port::{
    AccountRecord, CampaignRecord, FilterRecord, OrganizationRecord, ProvisioningSnapshot, Revision,
    UserRecord,
};

use super::super::locks::revision;
use super::super::prelude::*;
use crate::records::Secrets;

/// Organizations by their ids.
type Organizations = HashMap<String, OrganizationRecord>;

/// Loads what a table has of some organizations, each row with its organization's id.
macro_rules! load_of {
    ($conn:expr, $ids:expr, $table:ident by $order:expr, $selection:expr) => {
        $table::table
            .filter($table::organization_id.eq_any($ids))
            .order(($table::organization_id, $order))
            .select(($table::organization_id, $selection))
            .load($conn)
            .await?
    };
}

pub(super) async fn snapshot(
    conn: &mut Conn,
    asked: &[OrganizationId],
    key_hashes: &[ApiKeyHash],
) -> Result<ProvisioningSnapshot, Failure> {
    let revision = Revision(revision(conn).await?);
    let mut found = HashMap::new();
    for some in asked.chunks(VALUES_AT_ONCE) {
        let ids: Vec<&str> = some.iter().map(OrganizationId::as_str).collect();
        read_organizations(conn, &ids, &mut found).await?;
    }
    Ok(ProvisioningSnapshot {
        revision,
        organizations: asked.iter().filter_map(|id| found.remove(id.as_str())).collect(),
        taken_key_hashes: taken(conn, key_hashes).await?,
        removed_key_hashes: removed(conn, key_hashes).await?,
    })
}

async fn read_organizations(conn: &mut Conn, ids: &[&str], found: &mut Organizations) -> Result<(), Failure> {
    let of_ids = organizations::table.filter(organizations::id.eq_any(ids));
    for organization in load_records!(conn, OrganizationRecord, of_ids) {
        found.insert(organization.id.to_string(), organization);
    }
    let users = load_of!(conn, ids, users by users::email_key, Row::<UserRecord>::as_select());
    give(found, users, |organization, Row(user)| {
        organization.users.push(user);
    });
    let keys = (Row::<ApiKeyRecord>::as_select(), api_keys::key_hash);
    let keys = load_of!(conn, ids, api_keys by (api_keys::created_at, api_keys::id), keys);
    give(found, keys, |organization, (Row(key), Col(hash))| {
        organization.api_keys.push((key, hash));
    });
    let webhooks = (Row::<WebhookEndpoint>::as_select(), Row::<Secrets>::as_select());
    let webhooks = load_of!(conn, ids, webhook_endpoints by webhook_endpoints::id, webhooks);
    give(found, webhooks, |organization, (Row(endpoint), Row(secrets))| {
        organization.webhooks.push(secrets.webhook(endpoint));
    });
    let accounts =
        load_of!(conn, ids, bidder_accounts by bidder_accounts::id, Row::<AccountRecord>::as_select());
    give(found, accounts, |organization, Row(account)| {
        organization.accounts.push(account);
    });
    read_campaigns(conn, ids, found).await
}

/// Gives each row to its organization.
fn give<T>(found: &mut Organizations, rows: Vec<(String, T)>, give: impl Fn(&mut OrganizationRecord, T)) {
    for (organization, row) in rows {
        if let Some(organization) = found.get_mut(&organization) {
            give(organization, row);
        }
    }
}

async fn read_campaigns(conn: &mut Conn, ids: &[&str], found: &mut Organizations) -> Result<(), Failure> {
    let filters = (filters::campaign_id, Row::<FilterRecord>::as_select());
    let filters: Vec<(String, (String, Row<FilterRecord>))> =
        load_of!(conn, ids, filters by filters::id, filters);
    let mut filters_of: HashMap<(String, String), Vec<FilterRecord>> = HashMap::new();
    for (organization, (campaign, Row(filter))) in filters {
        filters_of
            .entry((organization, campaign))
            .or_default()
            .push(filter);
    }
    let campaigns: Vec<(String, Row<CampaignRecord>)> =
        load_of!(conn, ids, campaigns by campaigns::id, Row::<CampaignRecord>::as_select());
    for (organization, Row(mut campaign)) in campaigns {
        let key = (organization, campaign.id.to_string());
        campaign.filters = filters_of.remove(&key).unwrap_or_default();
        if let Some(organization) = found.get_mut(&key.0) {
            organization.campaigns.push(campaign);
        }
    }
    Ok(())
}

async fn taken(
    conn: &mut Conn,
    key_hashes: &[ApiKeyHash],
) -> Result<Vec<(ApiKeyHash, OrganizationId)>, Failure> {
    let hashes: Vec<&str> = key_hashes.iter().map(ApiKeyHash::as_str).collect();
    let rows: Vec<(Col<ApiKeyHash>, Col<OrganizationId>)> = load_in_parts!(conn, hashes, |some| {
        api_keys::table
            .filter(api_keys::key_hash.eq_any(some))
            .order(api_keys::key_hash)
            .select((api_keys::key_hash, api_keys::organization_id))
    });
    Ok(rows
        .into_iter()
        .map(|(hash, organization)| (hash.0, organization.0))
        .collect())
}

async fn removed(conn: &mut Conn, key_hashes: &[ApiKeyHash]) -> Result<Vec<ApiKeyHash>, Failure> {
    let hashes: Vec<&str> = key_hashes.iter().map(ApiKeyHash::as_str).collect();
    let rows: Vec<Col<ApiKeyHash>> = load_in_parts!(conn, hashes, |some| {
        removed_api_keys::table
            .filter(removed_api_keys::key_hash.eq_any(some))
            .order(removed_api_keys::key_hash)
            .select(removed_api_keys::key_hash)
    });
    Ok(rows.into_iter().map(|hash| hash.0).collect())
}
