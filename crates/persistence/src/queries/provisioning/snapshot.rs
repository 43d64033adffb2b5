//! Organizations as they stand, each table read once for some hundreds of them.

use std::collections::HashMap;

use bidloop_domain::model::{ApiKeyHash, ApiKeyRecord, OrganizationId, WebhookEndpoint};
use bidloop_domain::port::{
    CampaignRecord, FilterRecord, OrganizationRecord, ProvisioningSnapshot, Revision, UserRecord,
};

use super::super::locks::revision;
use super::super::prelude::*;
use crate::records::{StoredAccount, StoredSecrets};
use crate::sealing::Sealer;

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

/// A row that cannot be read is left out: a file that names it puts it anew.
pub(super) async fn snapshot(
    conn: &mut Conn,
    quarantine: &Quarantine,
    sealer: &Sealer,
    asked: &[OrganizationId],
    key_hashes: &[ApiKeyHash],
) -> Result<ProvisioningSnapshot, Failure> {
    let revision = Revision(revision(conn).await?);
    let mut found = HashMap::new();
    for some in asked.chunks(VALUES_AT_ONCE) {
        let ids: Vec<&str> = some.iter().map(OrganizationId::as_str).collect();
        read_organizations(conn, quarantine, sealer, &ids, &mut found).await?;
    }
    Ok(ProvisioningSnapshot {
        revision,
        being_erased: being_erased(conn, asked).await?,
        organizations: asked.iter().filter_map(|id| found.remove(id.as_str())).collect(),
        taken_key_hashes: taken(conn, key_hashes).await?,
        removed_key_hashes: removed(conn, key_hashes).await?,
    })
}

async fn read_organizations(
    conn: &mut Conn,
    quarantine: &Quarantine,
    sealer: &Sealer,
    ids: &[&str],
    found: &mut Organizations,
) -> Result<(), Failure> {
    let of_ids = organizations::table.filter(organizations::id.eq_any(ids));
    for organization in load_records!(conn, quarantine, OrganizationRecord, of_ids) {
        found.insert(organization.id.to_string(), organization);
    }
    let users = load_of!(conn, ids, users by users::email_key, Tried::<UserRecord>::as_select());
    give(found, users, |organization, user: Tried<_>| {
        organization.users.extend(user.or_aside(quarantine));
    });
    let keys = (Tried::<ApiKeyRecord>::as_select(), api_keys::key_hash);
    let keys = load_of!(conn, ids, api_keys by (api_keys::created_at, api_keys::id), keys);
    give(found, keys, |organization, (key, Col(hash)): (Tried<_>, _)| {
        organization
            .api_keys
            .extend(key.or_aside(quarantine).map(|key| (key, hash)));
    });
    let webhooks = (
        Tried::<WebhookEndpoint>::as_select(),
        Tried::<StoredSecrets>::as_select(),
    );
    let webhooks = load_of!(conn, ids, webhook_endpoints by webhook_endpoints::id, webhooks);
    give(
        found,
        webhooks,
        |organization, (endpoint, secrets): (Tried<WebhookEndpoint>, Tried<StoredSecrets>)| {
            let id = organization.id.as_str();
            let webhook = endpoint.0.and_then(|endpoint| {
                let secrets = secrets.0?.open(sealer, id, &endpoint.id)?;
                Ok(secrets.webhook(endpoint))
            });
            organization.webhooks.extend(Tried(webhook).or_aside(quarantine));
        },
    );
    let accounts =
        load_of!(conn, ids, bidder_accounts by bidder_accounts::id, Tried::<StoredAccount>::as_select());
    give(found, accounts, |organization, account: Tried<StoredAccount>| {
        let account = account
            .0
            .and_then(|account| account.open(sealer, organization.id.as_str()));
        organization.accounts.extend(Tried(account).or_aside(quarantine));
    });
    read_campaigns(conn, quarantine, ids, found).await
}

/// Gives each row to its organization.
fn give<T>(found: &mut Organizations, rows: Vec<(String, T)>, give: impl Fn(&mut OrganizationRecord, T)) {
    for (organization, row) in rows {
        if let Some(organization) = found.get_mut(&organization) {
            give(organization, row);
        }
    }
}

async fn read_campaigns(
    conn: &mut Conn,
    quarantine: &Quarantine,
    ids: &[&str],
    found: &mut Organizations,
) -> Result<(), Failure> {
    let filters = (filters::campaign_id, Tried::<FilterRecord>::as_select());
    let filters: Vec<(String, (String, Tried<FilterRecord>))> =
        load_of!(conn, ids, filters by filters::id, filters);
    let mut filters_of: HashMap<(String, String), Vec<FilterRecord>> = HashMap::new();
    for (organization, (campaign, filter)) in filters {
        filters_of
            .entry((organization, campaign))
            .or_default()
            .extend(filter.or_aside(quarantine));
    }
    let campaigns: Vec<(String, Tried<CampaignRecord>)> =
        load_of!(conn, ids, campaigns by campaigns::id, Tried::<CampaignRecord>::as_select());
    for (organization, campaign) in campaigns {
        let Some(mut campaign) = campaign.or_aside(quarantine) else {
            continue;
        };
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

async fn being_erased(conn: &mut Conn, asked: &[OrganizationId]) -> Result<Vec<OrganizationId>, Failure> {
    let ids: Vec<&str> = asked.iter().map(OrganizationId::as_str).collect();
    let rows: Vec<Col<OrganizationId>> = load_in_parts!(conn, ids, |some| {
        removed_organizations::table
            .filter(removed_organizations::id.eq_any(some))
            .order(removed_organizations::id)
            .select(removed_organizations::id)
    });
    Ok(rows.into_iter().map(|id| id.0).collect())
}
