//! What operators provision: read whole, and changed in one transaction under one revision.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use bidloop_domain::model::{ApiKeyHash, OrganizationId, Timestamp};
use bidloop_domain::port::{
    CommitProvisioning, ProvisioningChange, ProvisioningSnapshot, ProvisioningStore, Revision, StoreError,
};

use self::filter_puts::FilterPut;
use super::filter_changes::{FilterKey, LogState, move_revision};
use super::lists::former_matches::remove_former_matches;
use super::locks::ONLY_ROW;
use super::prelude::*;

mod campaigns;
mod filter_puts;
mod organization;
mod snapshot;

#[async_trait]
impl ProvisioningStore for Store {
    async fn snapshot(
        &self,
        organizations: &[OrganizationId],
        key_hashes: &[ApiKeyHash],
    ) -> Result<ProvisioningSnapshot, StoreError> {
        let (organizations, key_hashes) = (organizations.to_vec(), key_hashes.to_vec());
        // The inherent method: the port has one of the same name.
        Store::snapshot(self, async move |conn: &mut Conn| {
            snapshot::snapshot(conn, &organizations, &key_hashes).await
        })
        .await
    }

    async fn commit(
        &self,
        expected: Revision,
        changes: &[ProvisioningChange],
        at: Timestamp,
    ) -> Result<CommitProvisioning, StoreError> {
        let carried_out: Arc<[ProvisioningChange]> = changes.into();
        let committed = self
            .write(async move |conn: &mut Conn| commit(conn, expected, &carried_out, at).await)
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
}

async fn commit(
    conn: &mut Conn,
    expected: Revision,
    changes: &[ProvisioningChange],
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
    lock_organizations(conn, changes).await?;
    let mut changed_filters = BTreeSet::new();
    let mut rest = changes;
    while let Some((first, others)) = rest.split_first() {
        let puts = filter_puts::leading(rest);
        if puts.is_empty() {
            note_changed_filters(conn, first, &mut changed_filters).await?;
            carry_out(conn, first, revision, at).await?;
            rest = others;
        } else {
            filter_puts::put(conn, &puts, revision).await?;
            changed_filters.extend(puts.iter().map(FilterPut::name));
            rest = &rest[puts.len()..];
        }
    }
    move_revision(conn, before, revision, &changed_filters).await?;
    Ok(CommitProvisioning::Committed)
}

/// Keeps everybody else away from what the changes may touch. Whoever changes something of an organization that
/// provisioning changes too holds its row, so that none waits in a circle; a new one has none to wait for.
async fn lock_organizations(conn: &mut Conn, changes: &[ProvisioningChange]) -> Result<(), Failure> {
    let ids: BTreeSet<&str> = changes
        .iter()
        .map(|change| change.organization().as_str())
        .collect();
    let ids: Vec<&str> = ids.into_iter().collect();
    let _locked: Vec<String> = load_in_parts!(conn, ids, |some| {
        let rows = organizations::table
            .filter(organizations::id.eq_any(some))
            .order(organizations::id)
            .select(organizations::id);
        for_update!(rows)
    });
    Ok(())
}

/// Notes the filters that the change is about to remove.
async fn note_changed_filters(
    conn: &mut Conn,
    change: &ProvisioningChange,
    noted: &mut BTreeSet<FilterKey>,
) -> Result<(), Failure> {
    use ProvisioningChange as Change;
    match change {
        Change::RemoveFilter(organization, _, filter) => {
            noted.insert((organization.clone(), filter.clone()));
        }
        Change::RemoveCampaign(organization, campaign) => {
            for filter in campaigns::filters_of(conn, organization, campaign).await? {
                noted.insert((organization.clone(), filter));
            }
        }
        _ => {}
    }
    Ok(())
}

async fn carry_out(
    conn: &mut Conn,
    change: &ProvisioningChange,
    revision: i64,
    at: Timestamp,
) -> Result<(), Failure> {
    use ProvisioningChange as Change;
    match change {
        Change::PutOrganization {
            id,
            name,
            subscription,
        } => organization::put(conn, id, name, subscription).await,
        Change::PutUser(id, user) => organization::put_user(conn, id, user).await,
        Change::RemoveUser(id, email) => {
            let user = users::table.find((id.as_str(), organization::email_key(email)));
            diesel::delete(user).execute(conn).await?;
            Ok(())
        }
        Change::PutApiKey(id, record, hash) => organization::put_api_key(conn, id, record, hash).await,
        Change::RemoveApiKey(id, key) => {
            let key = api_keys::table.find((id.as_str(), key.as_str()));
            diesel::delete(key).execute(conn).await?;
            Ok(())
        }
        Change::PutWebhook(id, webhook) => organization::put_webhook(conn, id, webhook).await,
        Change::RemoveWebhook(id, endpoint) => {
            let endpoint = webhook_endpoints::table.find((id.as_str(), endpoint.as_str()));
            diesel::delete(endpoint).execute(conn).await?;
            Ok(())
        }
        Change::PutAccount(id, account) => organization::put_account(conn, id, account, at).await,
        Change::RemoveAccount(id, account) => organization::remove_account(conn, id, account).await,
        Change::PutCampaign(id, campaign) => campaigns::put(conn, id, campaign, revision).await,
        Change::RemoveCampaign(id, campaign) => campaigns::remove(conn, id, campaign).await,
        Change::PutFilter(..) => {
            let put = filter_puts::leading(std::slice::from_ref(change));
            filter_puts::put(conn, &put, revision).await
        }
        Change::RemoveFilter(id, campaign, filter) => {
            campaigns::remove_filter(conn, id, campaign, filter, revision).await
        }
    }
}
