//! What operators provision: read whole, and changed in one transaction under one revision.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use bidloop_domain::model::{
    ApiKeyHash, CampaignId, EmailKey, EndpointId, MemberRole, OrganizationId, Timestamp, Unauthorized,
};
use bidloop_domain::port::{
    ByPerson, CommitProvisioning, ProvisioningChange, ProvisioningSnapshot, ProvisioningStore, Revision,
    StoreError, StoredPerson, WebhookUrl,
};
use diesel::dsl::sql;
use diesel::sql_types::{Bool, Text};

use self::filter_puts::FilterPut;
use super::activities::insert_activity;
use super::authorization::authorized;
use super::filter_changes::{FilterKey, LogState, move_revision};
use super::lists::former_matches::remove_former_matches;
use super::locks::ONLY_ROW;
use super::people::{people_with, put_user, remove_member};
use super::prelude::*;
use crate::sealing::Sealer;

mod campaigns;
mod filter_puts;
mod organization;
mod removal;
mod snapshot;

pub(super) use self::organization::{put as put_organization, put_subscription};

#[async_trait]
impl ProvisioningStore for Store {
    async fn snapshot(
        &self,
        organizations: &[OrganizationId],
        key_hashes: &[ApiKeyHash],
    ) -> Result<ProvisioningSnapshot, StoreError> {
        let (organizations, key_hashes) = (organizations.to_vec(), key_hashes.to_vec());
        let (quarantine, sealer) = (self.quarantine.clone(), self.sealer.clone());
        // The inherent method: the port has one of the same name.
        Store::snapshot(self, async move |conn: &mut Conn| {
            snapshot::snapshot(conn, &quarantine, &sealer, &organizations, &key_hashes).await
        })
        .await
    }

    async fn people(&self, keys: &[EmailKey]) -> Result<Vec<StoredPerson>, StoreError> {
        let (keys, quarantine) = (keys.to_vec(), self.quarantine.clone());
        self.read(async move |conn: &mut Conn| people_with(conn, &quarantine, &keys).await)
            .await
    }

    async fn webhook_urls(
        &self,
        after: Option<&(OrganizationId, EndpointId)>,
        limit: u32,
    ) -> Result<Vec<WebhookUrl>, StoreError> {
        let (organization, id) = after.cloned().unzip();
        let (organization, id) = (
            organization.map(|id| id.to_string()).unwrap_or_default(),
            id.map(|id| id.to_string()).unwrap_or_default(),
        );
        let quarantine = self.quarantine.clone();
        self.read(async move |conn: &mut Conn| {
            // As a row, which both databases look up in the primary key.
            let behind = sql::<Bool>("(organization_id, id) > (")
                .bind::<Text, _>(organization.as_str())
                .sql(", ")
                .bind::<Text, _>(id.as_str())
                .sql(")");
            let active = webhook_endpoints::table
                .filter(behind)
                .filter(webhook_endpoints::active.eq(true))
                .order((webhook_endpoints::organization_id, webhook_endpoints::id))
                .limit(i64::from(limit));
            Ok(load_records!(conn, &quarantine, WebhookUrl, active))
        })
        .await
    }

    async fn commit_by(
        &self,
        expected: Revision,
        changes: &[ProvisioningChange],
        person: Option<&ByPerson>,
        at: Timestamp,
    ) -> Result<CommitProvisioning, StoreError> {
        let carried_out: Arc<[ProvisioningChange]> = changes.into();
        let (person, sealer) = (person.cloned(), self.sealer.clone());
        let committed = self
            .write(async move |conn: &mut Conn| {
                commit(conn, &sealer, expected, &carried_out, person.as_ref(), at).await
            })
            .await?;
        if committed == CommitProvisioning::Committed {
            for change in changes {
                if let ProvisioningChange::RemoveCampaign(id, campaign) = change {
                    remove_former_matches(self, &(id.clone(), campaign.clone())).await;
                }
            }
        }
        Ok(committed)
    }

    async fn has_history(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
    ) -> Result<bool, StoreError> {
        let (organization, campaign) = (organization.to_string(), campaign.to_string());
        self.read(async move |conn: &mut Conn| {
            let leads = leads::table
                .filter(leads::organization_id.eq(&organization))
                .filter(leads::campaign_id.eq(&campaign));
            let recorded = activities::table
                .filter(activities::organization_id.eq(&organization))
                .filter(activities::campaign_id.eq(&campaign));
            Ok(exists!(conn, leads) || exists!(conn, recorded))
        })
        .await
    }
}

async fn commit(
    conn: &mut Conn,
    sealer: &Sealer,
    expected: Revision,
    changes: &[ProvisioningChange],
    person: Option<&ByPerson>,
    at: Timestamp,
) -> Result<CommitProvisioning, Failure> {
    let counter = revision_counter::table.find(ONLY_ROW);
    let before: LogState = for_update!(counter.select(LogState::as_select()))
        .first(conn)
        .await?;
    if before.value != expected.0 {
        return Ok(CommitProvisioning::RevisionMoved);
    }
    let revision = before.value + 1;
    let ids = changes.iter().map(|change| change.organization().as_str());
    lock_organizations(conn, ids.collect()).await?;
    if let Err(why) = accepted(conn, person, at).await? {
        return Ok(CommitProvisioning::NotAuthorized(why));
    }
    for change in changes {
        if let ProvisioningChange::RemoveOrganization(id) = change {
            let bids = removal::outstanding_bids(conn, id).await?;
            if bids > 0 {
                let organization = id.clone();
                return Ok(CommitProvisioning::BidsOutstanding { organization, bids });
            }
        }
    }
    let (mut rest, mut changed_filters) = (changes, BTreeSet::new());
    while !rest.is_empty() {
        let carried_out = carry_out(conn, sealer, rest, revision, at, &mut changed_filters).await?;
        rest = &rest[carried_out..];
    }
    move_revision(conn, before, revision, &changed_filters).await?;
    if let Some(person) = person {
        insert_activity(conn, &person.entry).await?;
    }
    Ok(CommitProvisioning::Committed)
}

/// Whether the person may make the changes, if it is a person. The revision counter is locked, so neither a membership nor
/// a role changes until this transaction ends; the end of the session waits for it.
async fn accepted(
    conn: &mut Conn,
    person: Option<&ByPerson>,
    at: Timestamp,
) -> Result<Result<(), Unauthorized>, Failure> {
    let Some(person) = person else {
        return Ok(Ok(()));
    };
    let organization = &person.entry.organization_id;
    let authorized = authorized(conn, &person.authorization, organization, at).await?;
    Ok(match authorized {
        Ok(authorized) if person.needs_owner && authorized.role != Some(MemberRole::Owner) => {
            Err(Unauthorized::NotOwner)
        }
        authorized => authorized.map(drop),
    })
}

/// Locks the organizations that changes concern. Other transactions that lock several rows of an organization hold
/// its row too, so there is no deadlock. A new organization has no row yet, and no other transaction knows it.
pub(super) async fn lock_organizations(conn: &mut Conn, ids: BTreeSet<&str>) -> Result<(), Failure> {
    let ids: Vec<&str> = ids.into_iter().collect();
    let rows = organizations::table
        .filter(one_of!(organizations::id, ids))
        .order(organizations::id)
        .select(organizations::id);
    let _locked: Vec<String> = for_update!(rows).load(conn).await?;
    Ok(())
}

/// Carries out the first of the changes, or several if these put filters, and returns how many. It notes the filters
/// that change.
async fn carry_out(
    conn: &mut Conn,
    sealer: &Sealer,
    changes: &[ProvisioningChange],
    revision: i64,
    at: Timestamp,
    changed_filters: &mut BTreeSet<FilterKey>,
) -> Result<usize, Failure> {
    use ProvisioningChange as Change;
    let Some(change) = changes.first() else {
        return Ok(0);
    };
    match change {
        Change::PutOrganization {
            id,
            name,
            subscription,
        } => organization::put(conn, id, name, subscription).await?,
        Change::RemoveOrganization(id) => removal::remove(conn, id, at, changed_filters).await?,
        Change::PutUser(id, user) => put_user(conn, id, user).await?,
        Change::RemoveUser(id, email) => remove_member(conn, id, &EmailKey::of(email)).await?,
        Change::PutApiKey(id, record, hash) => organization::put_api_key(conn, id, record, hash).await?,
        Change::RemoveApiKey(id, key) => organization::remove_api_key(conn, id, key).await?,
        Change::PutWebhook(id, webhook) => organization::put_webhook(conn, sealer, id, webhook).await?,
        Change::RemoveWebhook(id, endpoint) => {
            let tries = endpoint_tries::table
                .filter(endpoint_tries::organization_id.eq(id.as_str()))
                .filter(endpoint_tries::endpoint_id.eq(endpoint.as_str()));
            diesel::delete(tries).execute(conn).await?;
            let endpoint = webhook_endpoints::table.find((id.as_str(), endpoint.as_str()));
            diesel::delete(endpoint).execute(conn).await?;
        }
        Change::PutAccount(id, account) => organization::put_account(conn, sealer, id, account, at).await?,
        Change::RemoveAccount(id, account) => organization::remove_account(conn, id, account).await?,
        Change::PutCampaign(id, campaign) => campaigns::put(conn, id, campaign, revision).await?,
        Change::RemoveCampaign(id, campaign) => {
            let filters = campaigns::filters_of(conn, id, campaign).await?;
            changed_filters.extend(filters.into_iter().map(|filter| (id.clone(), filter)));
            campaigns::remove(conn, id, campaign).await?;
        }
        Change::PutFilter(..) => {
            let puts = filter_puts::leading(changes);
            changed_filters.extend(puts.iter().map(FilterPut::name));
            filter_puts::put(conn, &puts, revision).await?;
            return Ok(puts.len());
        }
        Change::RemoveFilter(id, campaign, filter) => {
            changed_filters.insert((id.clone(), filter.clone()));
            campaigns::remove_filter(conn, id, campaign, filter, revision).await?;
        }
    }
    Ok(1)
}
