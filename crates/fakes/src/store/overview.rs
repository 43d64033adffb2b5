//! [`OverviewStore`] in memory.

use std::collections::BTreeSet;

use async_trait::async_trait;
use bidloop_domain::bidding::current_period;
use bidloop_domain::model::{CampaignState, DeliveryState, LeadStatus, OrganizationId, Timestamp};
use bidloop_domain::port::{
    AccountFacts, CampaignFacts, CampaignSign, EndpointFacts, InstallationState, OrganizationFacts,
    OrganizationName, OrganizationSigns, OrganizationSummary, OverviewStore, ShellFacts, StoreError,
    SubscriptionUsage,
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
        let names = state.behind(after).map(|(id, known)| known.named(id));
        Ok(names.take(length(limit)).collect())
    }

    async fn summaries(
        &self,
        after: Option<&OrganizationId>,
        limit: u32,
        now: Timestamp,
    ) -> Result<Vec<OrganizationSummary>, StoreError> {
        let state = self.state()?;
        let summaries = state.behind(after).map(|(id, known)| OrganizationSummary {
            name: known.named(id),
            usage: Some(state.usage_of(id, known, now)),
            campaigns: count(known.campaigns.len()),
        });
        Ok(summaries.take(length(limit)).collect())
    }

    async fn installation_state(&self, now: Timestamp) -> Result<InstallationState, StoreError> {
        Ok(self.state()?.installation_state(now))
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

impl Organization {
    fn named(&self, id: &OrganizationId) -> OrganizationName {
        OrganizationName {
            id: id.clone(),
            name: self.record.name.clone(),
        }
    }

    fn acts(&self) -> bool {
        let mut campaigns = self.campaigns.values();
        campaigns.any(|campaign| campaign.record.state == CampaignState::Active)
    }

    /// The disconnected accounts with which active campaigns bid.
    fn disconnected(&self) -> usize {
        let active = self.campaigns.values().map(|campaign| &campaign.record);
        let active: Vec<_> = active
            .filter(|campaign| campaign.state == CampaignState::Active)
            .collect();
        let accounts = self.accounts.values().map(|account| &account.record);
        let disconnected = accounts.filter(|account| !account.connected);
        let used = disconnected.filter(|account| {
            active
                .iter()
                .any(|campaign| campaign.account_id.as_ref() == Some(&account.id))
        });
        used.count()
    }
}

impl State {
    fn behind<'s>(
        &'s self,
        after: Option<&'s OrganizationId>,
    ) -> impl Iterator<Item = (&'s OrganizationId, &'s Organization)> {
        let all = self.organizations.iter();
        all.filter(move |(id, _)| after.is_none_or(|after| *id > after))
    }

    fn usage_of(
        &self,
        id: &OrganizationId,
        organization: &Organization,
        now: Timestamp,
    ) -> SubscriptionUsage {
        let subscription = organization.record.subscription.clone();
        let period = current_period(&subscription, now);
        SubscriptionUsage {
            used: self.used_in(id, period),
            subscription,
            period,
        }
    }

    fn installation_state(&self, now: Timestamp) -> InstallationState {
        let queued = || self.bids.iter().filter(|bid| bid.status == LeadStatus::Queued);
        let waiting = queued().filter(|bid| !bid.queued.answer_outstanding);
        let unsettled = queued().filter(|bid| {
            let queued = &bid.queued;
            let has_account = self
                .account(&queued.organization_id, &queued.account_id)
                .is_some();
            queued.answer_outstanding && (queued.deadline <= now || !has_account)
        });
        let pending = self
            .deliveries
            .iter()
            .filter(|one| one.state == DeliveryState::Pending);
        let mut found = InstallationState {
            oldest_bid: waiting
                .min_by_key(|bid| bid.queued.deadline)
                .map(|bid| bid.queued.queued_at),
            oldest_delivery: pending.map(|one| one.created_at).min(),
            unsettled_bids: count(unsettled.count()),
            ..InstallationState::default()
        };
        for (id, organization) in &self.organizations {
            found.disconnected_accounts += count(organization.disconnected());
            if !organization.acts() {
                continue;
            }
            let usage = self.usage_of(id, organization, now);
            if !usage.subscription.is_active() {
                found.lapsed_organizations += 1;
                continue;
            }
            let Some(limit) = usage.subscription.proposal_limit.map(u64::from) else {
                continue;
            };
            if usage.used >= limit {
                found.organizations_without_quota += 1;
            } else if usage.used * 10 > limit * 9 {
                found.organizations_low_on_quota += 1;
            }
        }
        found
    }

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
