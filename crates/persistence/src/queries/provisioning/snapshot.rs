//! Organizations as they stand, each table read once for some hundreds of them.

use std::collections::HashMap;

use bidloop_domain::model::{ApiKeyHash, ApiKeyRecord, EmailKey, OrganizationId, WebhookEndpoint};
use bidloop_domain::port::{
    CampaignRecord, FilterRecord, OrganizationRecord, ProvisioningSnapshot, Revision, StoredPerson,
    UnreadableEntity, UserRecord,
};
use bidloop_domain::provisioning::EntityKind;

use super::super::locks::revision;
use super::super::prelude::*;
use crate::records::{StoredAccount, StoredMembership, StoredSecrets};
use crate::sealing::Sealer;

/// Rows, each with its organization's id.
type Rows<T> = Vec<(String, T)>;

/// Organizations by their ids, and what of them cannot be read.
#[derive(Default)]
struct Organizations {
    readable: HashMap<String, OrganizationRecord>,
    unreadable: Vec<UnreadableEntity>,
}

impl Organizations {
    /// Gives each row to its organization. One that cannot be read is set aside and noted.
    fn give<T>(
        &mut self,
        quarantine: &Quarantine,
        kind: EntityKind,
        rows: Rows<Tried<T>>,
        mut give: impl FnMut(&mut OrganizationRecord, T),
    ) {
        for (organization, row) in rows {
            let Some(organization) = self.readable.get_mut(&organization) else {
                continue;
            };
            match row.0 {
                Ok(row) => give(organization, row),
                Err(row) => {
                    quarantine.set_aside(&row);
                    self.unreadable
                        .extend(entity_of(&row, kind, organization.id.clone()));
                }
            }
        }
    }
}

/// The entity of a row that cannot be read, whose name in the quarantine is the organization's id, a slash and its own.
fn entity_of(
    row: &UnreadableRow,
    kind: EntityKind,
    organization_id: OrganizationId,
) -> Option<UnreadableEntity> {
    let (_, id) = row.id.split_once('/')?;
    Some(UnreadableEntity {
        organization_id,
        kind,
        id: id.to_owned(),
    })
}

/// Loads what a table has of some organizations, each row with its organization's id.
macro_rules! load_of {
    ($conn:expr, $ids:expr, $table:ident by $order:expr, $selection:expr) => {
        $table::table
            .filter(one_of!($table::organization_id, $ids))
            .order(($table::organization_id, $order))
            .select(($table::organization_id, $selection))
            .load($conn)
            .await?
    };
}

/// A row that cannot be read is left out and noted: a file that names it puts it anew, or removes it.
pub(super) async fn snapshot(
    conn: &mut Conn,
    quarantine: &Quarantine,
    sealer: &Sealer,
    asked: &[OrganizationId],
    key_hashes: &[ApiKeyHash],
) -> Result<ProvisioningSnapshot, Failure> {
    let revision = Revision(revision(conn).await?);
    let mut found = Organizations::default();
    let ids: Vec<&str> = asked.iter().map(OrganizationId::as_str).collect();
    read_organizations(conn, quarantine, sealer, &ids, &mut found).await?;
    Ok(ProvisioningSnapshot {
        revision,
        being_erased: being_erased(conn, asked).await?,
        organizations: asked
            .iter()
            .filter_map(|id| found.readable.remove(id.as_str()))
            .collect(),
        taken_key_hashes: taken(conn, key_hashes).await?,
        removed_key_hashes: removed(conn, key_hashes).await?,
        unreadable: found.unreadable,
    })
}

async fn read_organizations(
    conn: &mut Conn,
    quarantine: &Quarantine,
    sealer: &Sealer,
    ids: &[&str],
    found: &mut Organizations,
) -> Result<(), Failure> {
    let of_ids = organizations::table.filter(one_of!(organizations::id, ids));
    let rows: Rows<Tried<OrganizationRecord>> = of_ids
        .select((organizations::id, Tried::<OrganizationRecord>::as_select()))
        .load(conn)
        .await?;
    for (id, row) in rows {
        match row.or_aside(quarantine) {
            Some(organization) => {
                found.readable.insert(id, organization);
            }
            None => found
                .unreadable
                .extend(
                    OrganizationId::parse(&id)
                        .ok()
                        .map(|organization_id| UnreadableEntity {
                            organization_id,
                            kind: EntityKind::Organization,
                            id,
                        }),
                ),
        }
    }
    read_users(conn, quarantine, ids, found).await?;
    let keys = (Tried::<ApiKeyRecord>::as_select(), api_keys::key_hash);
    let keys: Rows<(Tried<ApiKeyRecord>, Col<ApiKeyHash>)> =
        load_of!(conn, ids, api_keys by (api_keys::created_at, api_keys::id), keys);
    let keys = keys
        .into_iter()
        .map(|(organization, (key, Col(hash)))| (organization, Tried(key.0.map(|key| (key, hash)))));
    found.give(
        quarantine,
        EntityKind::ApiKey,
        keys.collect(),
        |organization, key| {
            organization.api_keys.push(key);
        },
    );
    let webhooks = (
        Tried::<WebhookEndpoint>::as_select(),
        Tried::<StoredSecrets>::as_select(),
    );
    let webhooks: Rows<(Tried<WebhookEndpoint>, Tried<StoredSecrets>)> =
        load_of!(conn, ids, webhook_endpoints by webhook_endpoints::id, webhooks);
    let webhooks = webhooks.into_iter().map(|(organization, (endpoint, secrets))| {
        let webhook = endpoint.0.and_then(|endpoint| {
            let secrets = secrets.0?.open(sealer, &organization, &endpoint.id)?;
            Ok(secrets.webhook(endpoint))
        });
        (organization, Tried(webhook))
    });
    found.give(
        quarantine,
        EntityKind::Webhook,
        webhooks.collect(),
        |organization, webhook| {
            organization.webhooks.push(webhook);
        },
    );
    let accounts: Rows<Tried<StoredAccount>> =
        load_of!(conn, ids, bidder_accounts by bidder_accounts::id, Tried::<StoredAccount>::as_select());
    let accounts = accounts.into_iter().map(|(organization, account)| {
        let account = account.0.and_then(|account| account.open(sealer, &organization));
        (organization, Tried(account))
    });
    found.give(
        quarantine,
        EntityKind::BidderAccount,
        accounts.collect(),
        |organization, account| {
            organization.accounts.push(account);
        },
    );
    read_campaigns(conn, quarantine, ids, found).await
}

async fn read_users(
    conn: &mut Conn,
    quarantine: &Quarantine,
    ids: &[&str],
    found: &mut Organizations,
) -> Result<(), Failure> {
    type User = (
        String,
        Attempt<Col<EmailKey>>,
        Tried<StoredMembership>,
        Tried<StoredPerson>,
    );
    let users: Vec<User> = memberships::table
        .inner_join(people::table.on(people::email_key.eq(memberships::email_key)))
        .filter(one_of!(memberships::organization_id, ids))
        .order((memberships::organization_id, memberships::email_key))
        .select((
            memberships::organization_id,
            memberships::email_key,
            Tried::<StoredMembership>::as_select(),
            Tried::<StoredPerson>::as_select(),
        ))
        .load(conn)
        .await?;
    for (organization, key, membership, person) in users {
        let Some(organization) = found.readable.get_mut(&organization) else {
            continue;
        };
        match (membership.or_aside(quarantine), person.or_aside(quarantine)) {
            (Some(membership), Some(stored)) => organization.users.push(UserRecord {
                email: stored.person.email,
                name: stored.person.name,
                password_hash: stored.password_hash,
                role: membership.role,
            }),
            _ => found
                .unreadable
                .extend(key.0.ok().map(|Col(key)| UnreadableEntity {
                    organization_id: organization.id.clone(),
                    kind: EntityKind::User,
                    id: key.as_str().to_owned(),
                })),
        }
    }
    Ok(())
}

async fn read_campaigns(
    conn: &mut Conn,
    quarantine: &Quarantine,
    ids: &[&str],
    found: &mut Organizations,
) -> Result<(), Failure> {
    let filters = (filters::campaign_id, Tried::<FilterRecord>::as_select());
    let filters: Rows<(String, Tried<FilterRecord>)> = load_of!(conn, ids, filters by filters::id, filters);
    let filters = filters.into_iter().map(|(organization, (campaign, filter))| {
        (organization, Tried(filter.0.map(|filter| (campaign, filter))))
    });
    let mut filters_of: HashMap<(String, String), Vec<FilterRecord>> = HashMap::new();
    found.give(
        quarantine,
        EntityKind::Filter,
        filters.collect(),
        |organization, (campaign, filter)| {
            let campaign = (organization.id.to_string(), campaign);
            filters_of.entry(campaign).or_default().push(filter);
        },
    );
    let campaigns: Rows<Tried<CampaignRecord>> =
        load_of!(conn, ids, campaigns by campaigns::id, Tried::<CampaignRecord>::as_select());
    found.give(
        quarantine,
        EntityKind::Campaign,
        campaigns,
        |organization, mut campaign| {
            let key = (organization.id.to_string(), campaign.id.to_string());
            campaign.filters = filters_of.remove(&key).unwrap_or_default();
            organization.campaigns.push(campaign);
        },
    );
    Ok(())
}

async fn taken(
    conn: &mut Conn,
    key_hashes: &[ApiKeyHash],
) -> Result<Vec<(ApiKeyHash, OrganizationId)>, Failure> {
    let hashes: Vec<&str> = key_hashes.iter().map(ApiKeyHash::as_str).collect();
    let rows: Vec<(Col<ApiKeyHash>, Col<OrganizationId>)> = api_keys::table
        .filter(one_of!(api_keys::key_hash, hashes))
        .order(api_keys::key_hash)
        .select((api_keys::key_hash, api_keys::organization_id))
        .load(conn)
        .await?;
    Ok(rows
        .into_iter()
        .map(|(hash, organization)| (hash.0, organization.0))
        .collect())
}

async fn removed(conn: &mut Conn, key_hashes: &[ApiKeyHash]) -> Result<Vec<ApiKeyHash>, Failure> {
    let hashes: Vec<&str> = key_hashes.iter().map(ApiKeyHash::as_str).collect();
    let rows: Vec<Col<ApiKeyHash>> = removed_api_keys::table
        .filter(one_of!(removed_api_keys::key_hash, hashes))
        .order(removed_api_keys::key_hash)
        .select(removed_api_keys::key_hash)
        .load(conn)
        .await?;
    Ok(rows.into_iter().map(|hash| hash.0).collect())
}

async fn being_erased(conn: &mut Conn, asked: &[OrganizationId]) -> Result<Vec<OrganizationId>, Failure> {
    let ids: Vec<&str> = asked.iter().map(OrganizationId::as_str).collect();
    let rows: Vec<Col<OrganizationId>> = removed_organizations::table
        .filter(one_of!(removed_organizations::id, ids))
        .order(removed_organizations::id)
        .select(removed_organizations::id)
        .load(conn)
        .await?;
    Ok(rows.into_iter().map(|id| id.0).collect())
}
