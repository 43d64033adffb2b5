//! [`ProvisioningStore`] in memory: every change is carried out on a copy, which takes the state's place at the
//! end, so that a change that fails leaves nothing behind.

use std::collections::BTreeMap;

use async_trait::async_trait;
use bidloop_domain::model::{
    ApiKeyHash, ApiKeyRecord, CampaignId, EmailKey, EndpointId, FilterId, LeadStatus, MemberRole,
    OrganizationId, Subscription, Timestamp, Unauthorized,
};
use bidloop_domain::port::{
    AccountRecord, ByPerson, CampaignRecord, CampaignRevision, CommitProvisioning, FilterRecord,
    OrganizationRecord, ProvisioningChange, ProvisioningSnapshot, ProvisioningStore, Revision, StoreError,
    StoredPerson, WebhookUrl,
};

use super::{Account, CampaignEntry, MemoryStore, Organization, State, count};

#[async_trait]
impl ProvisioningStore for MemoryStore {
    async fn snapshot(
        &self,
        organizations: &[OrganizationId],
        key_hashes: &[ApiKeyHash],
    ) -> Result<ProvisioningSnapshot, StoreError> {
        let state = self.state()?;
        let all_keys = state.organizations.iter().flat_map(|(id, organization)| {
            organization
                .record
                .api_keys
                .iter()
                .map(move |(_, hash)| (hash.clone(), id.clone()))
        });
        Ok(ProvisioningSnapshot {
            revision: Revision(state.revision),
            organizations: organizations
                .iter()
                .filter_map(|id| state.organizations.get(id))
                .map(|organization| OrganizationRecord {
                    users: state.people.users_of(&organization.record.id),
                    ..organization.whole()
                })
                .collect(),
            taken_key_hashes: all_keys.filter(|(hash, _)| key_hashes.contains(hash)).collect(),
            removed_key_hashes: key_hashes
                .iter()
                .filter(|hash| state.removed_keys.contains(hash))
                .cloned()
                .collect(),
            being_erased: organizations
                .iter()
                .filter(|id| {
                    state
                        .removed_organizations
                        .iter()
                        .any(|(removed, _)| removed == *id)
                })
                .cloned()
                .collect(),
            unreadable: Vec::new(),
        })
    }

    async fn people(&self, keys: &[EmailKey]) -> Result<Vec<StoredPerson>, StoreError> {
        let state = self.state()?;
        let people = state.people.people.iter().filter(|(key, _)| keys.contains(key));
        Ok(people.map(|(_, stored)| stored.clone()).collect())
    }

    async fn webhook_urls(
        &self,
        after: Option<&(OrganizationId, EndpointId)>,
        limit: u32,
    ) -> Result<Vec<WebhookUrl>, StoreError> {
        let state = self.state()?;
        let of_organization = |(id, organization): (&OrganizationId, &Organization)| {
            let webhooks = organization.webhooks.values().map(|webhook| &webhook.endpoint);
            let active = webhooks.filter(|endpoint| endpoint.active);
            let urls = active.map(|endpoint| WebhookUrl {
                organization_id: id.clone(),
                id: endpoint.id.clone(),
                url: endpoint.url.clone(),
            });
            urls.collect::<Vec<_>>()
        };
        let mut urls: Vec<WebhookUrl> = state.organizations.iter().flat_map(of_organization).collect();
        let key = |url: &WebhookUrl| (url.organization_id.clone(), url.id.clone());
        urls.retain(|url| after.is_none_or(|after| key(url) > *after));
        urls.sort_by_key(key);
        urls.truncate(limit as usize);
        Ok(urls)
    }

    async fn commit_by(
        &self,
        expected: Revision,
        changes: &[ProvisioningChange],
        person: Option<&ByPerson>,
        at: Timestamp,
    ) -> Result<CommitProvisioning, StoreError> {
        let mut state = self.state()?;
        if state.revision != expected.0 {
            return Ok(CommitProvisioning::RevisionMoved);
        }
        if let Some(person) = person {
            match state.authorized(&person.authorization, &person.entry.organization_id, at) {
                Err(why) => return Ok(CommitProvisioning::NotAuthorized(why)),
                Ok(role) if person.needs_owner && role != Some(MemberRole::Owner) => {
                    return Ok(CommitProvisioning::NotAuthorized(Unauthorized::NotOwner));
                }
                Ok(_) => {}
            }
        }
        for change in changes {
            if let ProvisioningChange::RemoveOrganization(id) = change {
                let outstanding = state
                    .bids
                    .iter()
                    .filter(|bid| bid.status == LeadStatus::Queued && bid.queued.organization_id == *id);
                let bids = count(outstanding.count());
                if bids > 0 {
                    let organization = id.clone();
                    return Ok(CommitProvisioning::BidsOutstanding { organization, bids });
                }
            }
        }
        let mut next = state.clone();
        next.revision += 1;
        for change in changes {
            next.carry_out(change)?;
        }
        if let Some(person) = person {
            next.record_activity(&person.entry);
        }
        *state = next;
        Ok(CommitProvisioning::Committed)
    }

    async fn has_history(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
    ) -> Result<bool, StoreError> {
        let state = self.state()?;
        let has_leads = state
            .leads
            .values()
            .any(|entry| entry.lead.organization_id == *organization && entry.lead.campaign_id == *campaign);
        let is_recorded = state.activities.iter().any(|entry| {
            entry.organization_id == *organization && entry.campaign_id.as_ref() == Some(campaign)
        });
        Ok(has_leads || is_recorded)
    }
}

impl State {
    fn carry_out(&mut self, change: &ProvisioningChange) -> Result<(), StoreError> {
        match change {
            ProvisioningChange::PutOrganization {
                id,
                name,
                subscription,
            } => {
                self.put_organization(id, name, subscription);
            }
            ProvisioningChange::RemoveOrganization(id) => self.remove_organization(id),
            ProvisioningChange::PutUser(id, user) => {
                self.organization(id)?;
                self.put_user(id, user);
            }
            ProvisioningChange::RemoveUser(id, email) => self.remove_member(id, &EmailKey::of(email)),
            ProvisioningChange::PutApiKey(id, record, hash) => {
                let replaced = self.organization(id)?.put_key(record, hash);
                self.removed_keys
                    .extend(replaced.filter(|replaced| replaced != hash));
            }
            ProvisioningChange::RemoveApiKey(id, key) => {
                let keys = &mut self.organization(id)?.record.api_keys;
                let removed: Vec<_> = keys.extract_if(.., |(known, _)| &known.id == key).collect();
                self.removed_keys
                    .extend(removed.into_iter().map(|(_, hash)| hash));
            }
            ProvisioningChange::PutWebhook(id, webhook) => {
                let organization = self.organization(id)?;
                if let Some(campaign) = &webhook.endpoint.campaign_id {
                    organization.campaign(campaign)?;
                }
                organization
                    .webhooks
                    .insert(webhook.endpoint.id.clone(), webhook.clone());
            }
            ProvisioningChange::RemoveWebhook(id, endpoint) => {
                self.organization(id)?.webhooks.remove(endpoint);
                self.endpoint_tries.remove(&(id.clone(), endpoint.clone()));
            }
            ProvisioningChange::PutAccount(id, account) => self.organization(id)?.put_account(account),
            ProvisioningChange::RemoveAccount(id, account) => {
                let organization = self.organization(id)?;
                organization.accounts.remove(account);
                for campaign in organization.campaigns.values_mut() {
                    campaign
                        .record
                        .account_id
                        .take_if(|bids_with| bids_with == account);
                }
            }
            ProvisioningChange::PutCampaign(id, campaign) => self.organization(id)?.put_campaign(campaign)?,
            ProvisioningChange::RemoveCampaign(id, campaign) => self.remove_campaign(id, campaign)?,
            ProvisioningChange::PutFilter(id, campaign, filter) => {
                let revision = self.revision;
                let organization = self.organization(id)?;
                // An organization has one filter of an id: that of another campaign moves.
                for (known, other) in &mut organization.campaigns {
                    if known != campaign {
                        other.remove_filter(&filter.id, revision);
                    }
                }
                organization.campaign(campaign)?.put_filter(filter, revision);
                self.note_filter_change(id, &filter.id);
            }
            ProvisioningChange::RemoveFilter(id, campaign, filter) => {
                let revision = self.revision;
                if let Some(campaign) = self.campaign_mut(id, campaign) {
                    campaign.remove_filter(filter, revision);
                }
                self.note_filter_change(id, filter);
            }
        }
        Ok(())
    }

    fn note_filter_change(&mut self, organization: &OrganizationId, id: &FilterId) {
        let key = (organization.clone(), id.clone());
        self.filter_changes.insert(key, self.revision);
    }

    fn organization(&mut self, id: &OrganizationId) -> Result<&mut Organization, StoreError> {
        self.organizations
            .get_mut(id)
            .ok_or_else(|| StoreError::Backend(format!("there is no organization {id}")))
    }

    pub(super) fn put_organization(&mut self, id: &OrganizationId, name: &str, subscription: &Subscription) {
        let organization = self
            .organizations
            .entry(id.clone())
            .or_insert_with(|| Organization {
                record: OrganizationRecord {
                    id: id.clone(),
                    name: String::new(),
                    subscription: subscription.clone(),
                    users: Vec::new(),
                    api_keys: Vec::new(),
                    webhooks: Vec::new(),
                    accounts: Vec::new(),
                    campaigns: Vec::new(),
                },
                webhooks: BTreeMap::new(),
                accounts: BTreeMap::new(),
                campaigns: BTreeMap::new(),
            });
        name.clone_into(&mut organization.record.name);
        organization.record.subscription = subscription.clone();
    }

    fn remove_organization(&mut self, id: &OrganizationId) {
        let Some(removed) = self.organizations.remove(id) else {
            return;
        };
        let keys = removed.record.api_keys.into_iter();
        self.removed_keys.extend(keys.map(|(_, hash)| hash));
        let campaigns = removed.campaigns.into_values();
        for filter in campaigns.flat_map(|campaign| campaign.record.filters) {
            self.note_filter_change(id, &filter.id);
        }
        self.looks.retain(|(of, ..), _| of != id);
        self.remove_members(id);
        self.removed_organizations.push((id.clone(), None));
    }

    fn remove_campaign(&mut self, id: &OrganizationId, campaign: &CampaignId) -> Result<(), StoreError> {
        let organization = self.organization(id)?;
        let removed = organization.campaigns.remove(campaign);
        organization
            .webhooks
            .retain(|_, webhook| webhook.endpoint.campaign_id.as_ref() != Some(campaign));
        self.looks
            .retain(|(of, _, looked_at), _| of != id || looked_at != campaign);
        self.intents.retain(|waiting| {
            &waiting.intent.organization_id != id || &waiting.intent.campaign_id != campaign
        });
        for filter in removed.into_iter().flat_map(|campaign| campaign.record.filters) {
            self.note_filter_change(id, &filter.id);
        }
        Ok(())
    }
}

impl Organization {
    pub(super) fn whole(&self) -> OrganizationRecord {
        OrganizationRecord {
            webhooks: self.webhooks.values().cloned().collect(),
            accounts: self
                .accounts
                .values()
                .map(|account| account.record.clone())
                .collect(),
            campaigns: self
                .campaigns
                .values()
                .map(|campaign| campaign.record.clone())
                .collect(),
            ..self.record.clone()
        }
    }

    fn campaign(&mut self, id: &CampaignId) -> Result<&mut CampaignEntry, StoreError> {
        self.campaigns
            .get_mut(id)
            .ok_or_else(|| StoreError::Backend(format!("there is no campaign {id}")))
    }

    /// Returns the digest that the key had before.
    fn put_key(&mut self, record: &ApiKeyRecord, hash: &ApiKeyHash) -> Option<ApiKeyHash> {
        let keys = &mut self.record.api_keys;
        let Some(known) = keys.iter_mut().find(|(known, _)| known.id == record.id) else {
            keys.push((record.clone(), hash.clone()));
            return None;
        };
        let is_same = known.1 == *hash;
        let record = ApiKeyRecord {
            last_used_at: known.0.last_used_at,
            // A key that was revoked stays so (decision D7).
            revoked_at: known.0.revoked_at.filter(|_| is_same).or(record.revoked_at),
            ..record.clone()
        };
        let (_, replaced) = std::mem::replace(known, (record, hash.clone()));
        Some(replaced)
    }

    fn put_account(&mut self, record: &AccountRecord) {
        let account = self.accounts.entry(record.id.clone()).or_insert_with(|| Account {
            record: record.clone(),
            reading: None,
        });
        // The store knows best whether the token it holds was refused; a token that it does not hold was not.
        let connected = account.record.connected || account.record.token != record.token;
        account.record = AccountRecord {
            connected,
            ..record.clone()
        };
    }

    fn put_campaign(&mut self, record: &CampaignRecord) -> Result<(), StoreError> {
        if let Some(account) = record
            .account_id
            .as_ref()
            .filter(|id| !self.accounts.contains_key(id))
        {
            return Err(StoreError::Backend(format!("there is no account {account}")));
        }
        let entry = self
            .campaigns
            .entry(record.id.clone())
            .or_insert_with(|| CampaignEntry {
                record: CampaignRecord {
                    filters: Vec::new(),
                    ..record.clone()
                },
                matches: Vec::new(),
                filters_revision: CampaignRevision(0),
                backfill_due: false,
            });
        let filters = std::mem::take(&mut entry.record.filters);
        entry.record = CampaignRecord {
            filters,
            ..record.clone()
        };
        Ok(())
    }
}

impl CampaignEntry {
    fn put_filter(&mut self, filter: &FilterRecord, revision: i64) {
        let known = self.record.filters.iter_mut().find(|known| known.id == filter.id);
        let body_changed = known.as_ref().is_none_or(|known| known.body != filter.body);
        match known {
            Some(known) => *known = filter.clone(),
            None => self.record.filters.push(filter.clone()),
        }
        if body_changed {
            self.make_backfill_due(revision);
        }
    }

    fn remove_filter(&mut self, filter: &FilterId, revision: i64) {
        let before = self.record.filters.len();
        self.record.filters.retain(|known| &known.id != filter);
        if self.record.filters.len() < before {
            self.make_backfill_due(revision);
        }
    }

    fn make_backfill_due(&mut self, revision: i64) {
        self.filters_revision = CampaignRevision(revision);
        self.backfill_due = true;
    }
}
