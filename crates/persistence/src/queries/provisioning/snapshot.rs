//! Organizations as they stand, each table read once for some hundreds of them.

use std::collections::HashMap;

use bidloop_domain::model::{
    ApiKeyHash, ApiKeyRecord, OrganizationId, Timestamp, WebhookEndpoint, WebhookSecret,
};
use bidloop_domain::port::{
    AccountRecord, CampaignRecord, FilterRecord, OrganizationRecord, ProvisioningSnapshot, Revision,
    UserRecord, WebhookRecord,
};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use super::super::{Conn, VALUES_AT_ONCE};
use super::AT_ONCE;
use crate::columns::Col;
use crate::failure::Failure;
use crate::records::Row;
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
    let rows: Vec<Row<OrganizationRecord>> = organizations::table
        .filter(organizations::id.eq_any(ids))
        .select(Row::<OrganizationRecord>::as_select())
        .load(conn)
        .await?;
    for Row(organization) in rows {
        found.insert(organization.id.to_string(), organization);
    }
    read_people(conn, ids, found).await?;
    read_receivers_and_accounts(conn, ids, found).await?;
    read_campaigns(conn, ids, found).await
}

async fn read_people(conn: &mut Conn, ids: &[&str], found: &mut Organizations) -> Result<(), Failure> {
    let rows: Vec<(String, Row<UserRecord>)> = users::table
        .filter(users::organization_id.eq_any(ids))
        .order((users::organization_id, users::email_key))
        .select((users::organization_id, Row::<UserRecord>::as_select()))
        .load(conn)
        .await?;
    for (organization, Row(user)) in rows {
        if let Some(organization) = found.get_mut(&organization) {
            organization.users.push(user);
        }
    }
    let rows: Vec<(Row<ApiKeyRecord>, Col<ApiKeyHash>)> = api_keys::table
        .filter(api_keys::organization_id.eq_any(ids))
        .order((api_keys::organization_id, api_keys::created_at, api_keys::id))
        .select((Row::<ApiKeyRecord>::as_select(), api_keys::key_hash))
        .load(conn)
        .await?;
    for (Row(key), hash) in rows {
        if let Some(organization) = found.get_mut(key.organization_id.as_str()) {
            organization.api_keys.push((key, hash.0));
        }
    }
    Ok(())
}

async fn read_receivers_and_accounts(
    conn: &mut Conn,
    ids: &[&str],
    found: &mut Organizations,
) -> Result<(), Failure> {
    type WebhookRow = (
        String,
        Row<WebhookEndpoint>,
        Col<WebhookSecret>,
        Option<Col<WebhookSecret>>,
        Option<Col<Timestamp>>,
    );
    let rows: Vec<WebhookRow> = webhook_endpoints::table
        .filter(webhook_endpoints::organization_id.eq_any(ids))
        .order((webhook_endpoints::organization_id, webhook_endpoints::id))
        .select((
            webhook_endpoints::organization_id,
            Row::<WebhookEndpoint>::as_select(),
            webhook_endpoints::secret,
            webhook_endpoints::previous_secret,
            webhook_endpoints::previous_secret_until,
        ))
        .load(conn)
        .await?;
    for (organization, Row(endpoint), secret, previous, until) in rows {
        if let Some(organization) = found.get_mut(&organization) {
            organization.webhooks.push(WebhookRecord {
                endpoint,
                secret: secret.0,
                previous_secret: previous.zip(until).map(|(secret, until)| (secret.0, until.0)),
            });
        }
    }
    let rows: Vec<(String, Row<AccountRecord>)> = bidder_accounts::table
        .filter(bidder_accounts::organization_id.eq_any(ids))
        .order((bidder_accounts::organization_id, bidder_accounts::id))
        .select((
            bidder_accounts::organization_id,
            Row::<AccountRecord>::as_select(),
        ))
        .load(conn)
        .await?;
    for (organization, Row(account)) in rows {
        if let Some(organization) = found.get_mut(&organization) {
            organization.accounts.push(account);
        }
    }
    Ok(())
}

async fn read_campaigns(conn: &mut Conn, ids: &[&str], found: &mut Organizations) -> Result<(), Failure> {
    let rows: Vec<(String, String, Row<FilterRecord>)> = filters::table
        .filter(filters::organization_id.eq_any(ids))
        .order((filters::organization_id, filters::id))
        .select((
            filters::organization_id,
            filters::campaign_id,
            Row::<FilterRecord>::as_select(),
        ))
        .load(conn)
        .await?;
    let mut filters_of: HashMap<(String, String), Vec<FilterRecord>> = HashMap::new();
    for (organization, campaign, Row(filter)) in rows {
        filters_of
            .entry((organization, campaign))
            .or_default()
            .push(filter);
    }
    let rows: Vec<(String, Row<CampaignRecord>)> = campaigns::table
        .filter(campaigns::organization_id.eq_any(ids))
        .order((campaigns::organization_id, campaigns::id))
        .select((campaigns::organization_id, Row::<CampaignRecord>::as_select()))
        .load(conn)
        .await?;
    for (organization, Row(mut campaign)) in rows {
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
