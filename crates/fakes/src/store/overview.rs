//! [`OverviewStore`] in memory.

use std::collections::BTreeSet;

use async_trait::async_trait;
use bidloop_domain::bidding::current_period;
use bidloop_domain::model::{DeliveryState, LeadStatus, OrganizationId, Timestamp};
use bidloop_domain::port::{
    AccountFacts, CampaignFacts, CampaignSign, EndpointFacts, OrganizationFacts, OrganizationName,
    OrganizationSigns, OverviewStore, ShellFacts, StoreError,
};

use super::{Bid, MemoryStore, Organization, State, count, length};

#[async_trait]
impl OverviewStore for MemoryStore {
    async fn organizations(
        &self,
        after: Option<&OrganizationId>,
        limit: u32,
    ) -> Result<Vec<OrganizationName>, StoreError> {
        let state = self.state()?;
        let behind = state
            .organizations
            .iter()
            .filter(|(id, _)| after.is_none_or(|after| *id > after));
        let names = behind.map(|(id, known)| OrganizationName {
            id: id.clone(),
            name: known.record.name.clone(),
        });
        Ok(names.take(length(limit)).collect())
    }

    async fn shell(
        &self,
        organization: &OrganizationId,
        now: Timestamp,
    ) -> Result<Option<ShellFacts>, StoreError> {
        let state = self.state()?;
        let known = state.organizations.get(organization);
        Ok(known.map(|known| state.shell_of(organization, known, now)))
    }

    async fn facts(
        &self,
        organization: &OrganizationId,
        now: Timestamp,
    ) -> Result<Option<OrganizationFacts>, StoreError> {
        let state = self.state()?;
        let known = state.organizations.get(organization);
        Ok(known.map(|known| state.facts_of(organization, known, now)))
    }

    async fn signs(&self, organizations: &[OrganizationId]) -> Result<Vec<OrganizationSigns>, StoreError> {
        let state = self.state()?;
        let asked: BTreeSet<&OrganizationId> = organizations.iter().collect();
        let known = asked.into_iter().filter_map(|id| {
            let organization = state.organizations.get(id)?;
            let mut matches: Vec<_> = organization
                .campaigns
                .iter()
                .map(|(id, entry)| (id.clone(), count(entry.matches.len())))
                .collect();
            matches.sort();
            let its = state
                .activities
                .iter()
                .filter(|entry| entry.organization_id == *id);
            Some(OrganizationSigns {
                organization_id: id.clone(),
                matches,
                newest_activity: its.map(|entry| entry.at).max(),
            })
        });
        Ok(known.collect())
    }
}

impl State {
    fn shell_of(&self, id: &OrganizationId, organization: &Organization, now: Timestamp) -> ShellFacts {
        let subscription = organization.record.subscription.clone();
        let period = current_period(&subscription, now);
        let mut campaigns: Vec<CampaignSign> = organization
            .campaigns
            .values()
            .map(|campaign| CampaignSign {
                id: campaign.record.id.clone(),
                name: campaign.record.name.clone(),
                mode: campaign.record.mode,
                state: campaign.record.state,
            })
            .collect();
        campaigns.sort_by_cached_key(|sign| (sign.name.to_lowercase(), sign.id.clone()));
        ShellFacts {
            campaigns,
            subscription,
            period,
            used: self.used_in(id, period),
            feed_read_at: self.feed_read_at,
        }
    }

    fn facts_of(
        &self,
        id: &OrganizationId,
        organization: &Organization,
        now: Timestamp,
    ) -> OrganizationFacts {
        let shell = self.shell_of(id, organization, now);
        let record = organization.whole();
        let campaigns = shell.campaigns.iter().filter_map(|sign| {
            let campaign = record.campaign(&sign.id)?;
            Some(CampaignFacts {
                sign: sign.clone(),
                account_id: campaign.account_id.clone(),
                filters: count(campaign.filters.len()),
                parts: record.parts_of(campaign),
            })
        });
        let mut endpoints: Vec<EndpointFacts> = record
            .webhooks
            .iter()
            .map(|webhook| {
                let mut ended: Vec<_> = self
                    .deliveries
                    .iter()
                    .filter(|one| one.organization_id == *id && one.endpoint_id == webhook.endpoint.id)
                    .filter(|one| one.ended_at.is_some() && !one.is_test)
                    .collect();
                ended.sort_by_key(|one| std::cmp::Reverse(one.created_at));
                let last = ended.into_iter().take(20);
                EndpointFacts {
                    endpoint: webhook.endpoint.clone(),
                    previous_secret_until: webhook.previous_secret.as_ref().map(|(_, until)| *until),
                    last: last.map(|one| one.state == DeliveryState::Delivered).collect(),
                }
            })
            .collect();
        endpoints.sort_by_key(|facts| {
            let endpoint = &facts.endpoint;
            (
                endpoint.campaign_id.is_some(),
                endpoint.created_at,
                endpoint.id.clone(),
            )
        });
        let mut accounts: Vec<AccountFacts> = organization
            .accounts
            .values()
            .map(|account| {
                let is_its = |bid: &&Bid| {
                    bid.status == LeadStatus::Queued
                        && bid.queued.organization_id == *id
                        && bid.queued.account_id == account.record.id
                };
                let queued = || self.bids.iter().filter(is_its);
                AccountFacts {
                    id: account.record.id.clone(),
                    name: account.record.name.clone(),
                    connected: account.record.connected,
                    reading: account.reading.clone(),
                    queued: count(queued().count()),
                    first_deadline: queued()
                        .filter(|bid| !bid.queued.answer_outstanding)
                        .map(|bid| bid.queued.deadline)
                        .min(),
                }
            })
            .collect();
        accounts.sort_by_cached_key(|account| (account.name.to_lowercase(), account.id.clone()));
        OrganizationFacts {
            campaigns: campaigns.collect(),
            endpoints,
            accounts,
            past_periods: Vec::new(),
            shell,
        }
    }
}
