//! [`SubmissionStore`] in memory: the queue of accepted bids.

use std::collections::HashSet;

use async_trait::async_trait;
use bidloop_domain::model::{AccountId, BidId, LeadStatus, OrganizationId, Proposal, Timestamp};
use bidloop_domain::port::{AccountReading, ClaimedBid, FinishBid, StoreError, SubmissionStore};

use super::{Bid, Lease, MemoryStore, State, count, length};

#[async_trait]
impl SubmissionStore for MemoryStore {
    async fn claim(
        &self,
        owner: &str,
        now: Timestamp,
        lease_until: Timestamp,
        limit: u32,
    ) -> Result<Vec<ClaimedBid>, StoreError> {
        let mut state = self.state()?;
        let mut claimed = Vec::new();
        for place in state.claimable(now).into_iter().take(length(limit)) {
            state.bids[place].lease = Some(Lease::new(owner, lease_until));
            claimed.push(state.claimed(place, owner)?);
        }
        Ok(claimed)
    }

    async fn renew(
        &self,
        organization: &OrganizationId,
        bid: BidId,
        owner: &str,
        lease_until: Timestamp,
    ) -> Result<bool, StoreError> {
        let mut state = self.state()?;
        let Some(held) = state.held(organization, bid, owner) else {
            return Ok(false);
        };
        held.lease = Some(Lease::new(owner, lease_until));
        Ok(true)
    }

    async fn begin_attempt(
        &self,
        organization: &OrganizationId,
        bid: BidId,
        owner: &str,
        proposal: &Proposal,
    ) -> Result<bool, StoreError> {
        let mut state = self.state()?;
        let Some(held) = state.held(organization, bid, owner) else {
            return Ok(false);
        };
        held.queued.proposal = Some(proposal.clone());
        held.queued.answer_outstanding = true;
        Ok(true)
    }

    async fn postpone(
        &self,
        organization: &OrganizationId,
        bid: BidId,
        owner: &str,
        next_attempt: Timestamp,
        answer_outstanding: bool,
    ) -> Result<bool, StoreError> {
        let mut state = self.state()?;
        let Some(held) = state.held(organization, bid, owner) else {
            return Ok(false);
        };
        held.queued.attempts += 1;
        held.next_attempt = next_attempt;
        held.queued.answer_outstanding = answer_outstanding;
        held.lease = None;
        Ok(true)
    }

    async fn disconnect_account(
        &self,
        organization: &OrganizationId,
        bid: BidId,
        owner: &str,
        refused_token: &str,
    ) -> Result<bool, StoreError> {
        let mut state = self.state()?;
        let Some(held) = state.held(organization, bid, owner) else {
            return Ok(false);
        };
        held.lease = None;
        let account = held.queued.account_id.clone();
        state.disconnect(organization, &account, refused_token);
        Ok(true)
    }

    async fn finish(&self, finish: &FinishBid, owner: &str) -> Result<bool, StoreError> {
        let mut state = self.state()?;
        let Some(held) = state.held(&finish.organization_id, finish.bid_id, owner) else {
            return Ok(false);
        };
        held.status = finish.end.status;
        held.end = Some(finish.end.clone());
        held.queued.answer_outstanding = false;
        held.lease = None;
        let (lead, account) = (held.queued.lead_id.clone(), held.queued.account_id.clone());
        if let Some(entry) = state.leads.get_mut(&lead) {
            entry.lead.status = finish.end.status;
            entry.lead.reason.clone_from(&finish.end.reason);
            if finish.end.proposal_id.is_some() {
                entry.lead.proposal_id.clone_from(&finish.end.proposal_id);
            }
        }
        if let Some(refused_token) = &finish.refused_token {
            state.disconnect(&finish.organization_id, &account, refused_token);
        }
        state.record_activity(&finish.activity);
        state.queue_event(&finish.event, finish.at);
        Ok(true)
    }

    async fn record_account(
        &self,
        organization: &OrganizationId,
        account: &AccountId,
        reading: &AccountReading,
    ) -> Result<(), StoreError> {
        let mut state = self.state()?;
        let organization = state.organizations.get_mut(organization);
        if let Some(account) = organization.and_then(|organization| organization.accounts.get_mut(account)) {
            account.reading = Some(reading.clone());
        }
        Ok(())
    }

    async fn queued_count(&self) -> Result<u64, StoreError> {
        let state = self.state()?;
        Ok(count(
            state
                .bids
                .iter()
                .filter(|bid| bid.status == LeadStatus::Queued)
                .count(),
        ))
    }
}

impl State {
    /// The bids that may be claimed now, earliest due first, one an account.
    fn claimable(&self, now: Timestamp) -> Vec<usize> {
        let queued = || {
            self.bids
                .iter()
                .enumerate()
                .filter(|(_, bid)| bid.status == LeadStatus::Queued)
        };
        let account_of = |bid: &Bid| (bid.queued.organization_id.clone(), bid.queued.account_id.clone());
        let mut taken: HashSet<(OrganizationId, AccountId)> = queued()
            .filter(|(_, bid)| Lease::is_live(bid.lease.as_ref(), now))
            .map(|(_, bid)| account_of(bid))
            .collect();
        let mut due: Vec<(Timestamp, usize)> = queued()
            .filter(|(_, bid)| bid.next_attempt <= now && self.may_be_worked_on(bid, now))
            .map(|(place, bid)| (bid.next_attempt, place))
            .collect();
        due.sort_unstable();
        due.into_iter()
            .map(|(_, place)| place)
            .filter(|place| taken.insert(account_of(&self.bids[*place])))
            .collect()
    }

    /// Whether the bid's account is connected, or the bid can be ended without it.
    fn may_be_worked_on(&self, bid: &Bid, now: Timestamp) -> bool {
        let account = self.account(&bid.queued.organization_id, &bid.queued.account_id);
        account.is_some_and(|account| account.record.connected)
            || (bid.queued.deadline <= now && !bid.queued.answer_outstanding)
    }

    fn claimed(&self, place: usize, owner: &str) -> Result<ClaimedBid, StoreError> {
        let bid = &self.bids[place];
        let account = self.account(&bid.queued.organization_id, &bid.queued.account_id);
        Ok(ClaimedBid {
            bid: bid.queued.clone(),
            owner: owner.to_owned(),
            token: account.map(|account| account.record.token.clone()),
            job_taken: self.job_is_taken(place),
            job_json: self.job_json(&bid.queued.job_id)?,
        })
    }

    fn job_is_taken(&self, place: usize) -> bool {
        let asked = &self.bids[place].queued;
        self.bids.iter().enumerate().any(|(other_place, other)| {
            other.queued.organization_id == asked.organization_id
                && other.queued.account_id == asked.account_id
                && other.queued.job_id == asked.job_id
                && other.queued.id != asked.id
                && match other.status {
                    LeadStatus::Queued => other_place < place,
                    LeadStatus::Submitted => true,
                    _ => false,
                }
        })
    }

    /// The bid, if it is queued and under `owner`'s lease.
    fn held(&mut self, organization: &OrganizationId, bid: BidId, owner: &str) -> Option<&mut Bid> {
        let place = *self.bid_index.get(&bid)?;
        self.bids.get_mut(place).filter(|bid| {
            &bid.queued.organization_id == organization
                && bid.status == LeadStatus::Queued
                && bid.lease.as_ref().is_some_and(|lease| lease.owner == owner)
        })
    }

    fn disconnect(&mut self, organization: &OrganizationId, account: &AccountId, refused_token: &str) {
        let organization = self.organizations.get_mut(organization);
        if let Some(account) = organization.and_then(|organization| organization.accounts.get_mut(account))
            && account.record.token == refused_token
        {
            account.record.connected = false;
        }
    }
}
