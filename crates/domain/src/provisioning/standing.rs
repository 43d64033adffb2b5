//! What stands in the store before a file is applied, by id.

use std::collections::{HashMap, HashSet};

use super::document::OrganizationPatch;
use crate::model::{AccountId, ApiKeyHash, ApiKeyId, ApiKeyRecord, CampaignId, EndpointId, FilterId};
use crate::port::{
    AccountRecord, CampaignRecord, FilterRecord, OrganizationRecord, UserRecord, WebhookRecord,
};

/// An organization as it stands; empty for a new one.
#[derive(Debug, Default)]
pub(super) struct Standing<'a> {
    pub(super) record: Option<&'a OrganizationRecord>,
    /// By the email address in lower case.
    pub(super) users: HashMap<String, &'a UserRecord>,
    pub(super) api_keys: HashMap<&'a ApiKeyId, &'a (ApiKeyRecord, ApiKeyHash)>,
    pub(super) webhooks: HashMap<&'a EndpointId, &'a WebhookRecord>,
    pub(super) accounts: HashMap<&'a AccountId, &'a AccountRecord>,
    pub(super) campaigns: HashMap<&'a CampaignId, &'a CampaignRecord>,
    pub(super) filters: HashMap<&'a FilterId, (&'a CampaignId, &'a FilterRecord)>,
}

impl<'a> Standing<'a> {
    pub(super) fn of(record: &'a OrganizationRecord) -> Self {
        let campaigns = &record.campaigns;
        Self {
            record: Some(record),
            users: record
                .users
                .iter()
                .map(|user| (user.email.to_lowercase(), user))
                .collect(),
            api_keys: record.api_keys.iter().map(|key| (&key.0.id, key)).collect(),
            webhooks: record
                .webhooks
                .iter()
                .map(|webhook| (&webhook.endpoint.id, webhook))
                .collect(),
            accounts: record
                .accounts
                .iter()
                .map(|account| (&account.id, account))
                .collect(),
            campaigns: campaigns
                .iter()
                .map(|campaign| (&campaign.id, campaign))
                .collect(),
            filters: campaigns
                .iter()
                .flat_map(|campaign| campaign.filters.iter().map(move |filter| (&campaign.id, filter)))
                .map(|(campaign, filter)| (&filter.id, (campaign, filter)))
                .collect(),
        }
    }
}

/// What a file takes away from an organization: what it calls absent where it stands, and what hangs on a
/// campaign that goes.
#[derive(Debug, Default)]
pub(super) struct Leaving<'a> {
    pub(super) accounts: HashSet<&'a AccountId>,
    pub(super) campaigns: HashSet<&'a CampaignId>,
    pub(super) webhooks: HashSet<&'a EndpointId>,
    pub(super) filters: HashSet<&'a FilterId>,
}

impl<'a> Leaving<'a> {
    pub(super) fn by(patch: &'a OrganizationPatch, standing: &Standing<'a>) -> Self {
        let mut leaving = Self::default();
        let accounts = patch.accounts.entries.iter().filter(|account| account.absent);
        leaving
            .accounts
            .extend(accounts.filter_map(|account| account.id.as_ref()));
        for webhook in patch.webhooks.entries.iter().filter(|webhook| webhook.absent) {
            leaving.webhook(None, webhook.id.as_ref(), standing);
        }
        for campaign in &patch.campaigns.entries {
            let Some(id) = &campaign.id else { continue };
            if campaign.is_absent() {
                leaving.campaign(id, standing);
                continue;
            }
            for webhook in campaign.webhooks.entries.iter().filter(|webhook| webhook.absent) {
                leaving.webhook(Some(id), webhook.id.as_ref(), standing);
            }
            let filters = campaign.filters.entries.iter().filter(|filter| filter.absent);
            let of_campaign = |filter: &&FilterId| {
                standing
                    .filters
                    .get(filter)
                    .is_some_and(|(owner, _)| *owner == id)
            };
            leaving.filters.extend(
                filters
                    .filter_map(|filter| filter.id.as_ref())
                    .filter(of_campaign),
            );
        }
        leaving
    }

    fn webhook(&mut self, scope: Option<&CampaignId>, id: Option<&'a EndpointId>, standing: &Standing<'_>) {
        if let Some(id) = id
            && let Some(record) = standing.webhooks.get(id)
            && record.endpoint.campaign_id.as_ref() == scope
        {
            self.webhooks.insert(id);
        }
    }

    fn campaign(&mut self, id: &'a CampaignId, standing: &Standing<'a>) {
        self.campaigns.insert(id);
        let Some(campaign) = standing.campaigns.get(id) else {
            return;
        };
        self.filters
            .extend(campaign.filters.iter().map(|filter| &filter.id));
        let webhooks = standing
            .webhooks
            .values()
            .filter(|webhook| webhook.endpoint.campaign_id.as_ref() == Some(id));
        self.webhooks.extend(webhooks.map(|webhook| &webhook.endpoint.id));
    }
}
