//! [`SubmissionStore`] in memory: the queue of accepted bids.

use std::collections::HashSet;

use async_trait::async_trait;
use bidloop_domain::model::{
    AccountId, Authorization, BidId, JobPost, LeadStatus, MarketplaceToken, OrganizationId, Proposal, Tally,
    Timestamp,
};
use bidloop_domain::port::{
    AccountReading, AccountState, ClaimUnanswered, ClaimedBid, FinishBid, FinishBy, LeaseOwner, StoreError,
    SubmissionStore, WaitingBid, WaitingBidsQuery,
};

use super::{Bid, Lease, MemoryStore, State, count, length};

#[async_trait]
impl SubmissionStore for MemoryStore {
    async fn claim(
        &self,
        owner: &LeaseOwner,
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
        owner: &LeaseOwner,
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
        owner: &LeaseOwner,
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
        owner: &LeaseOwner,
        next_attempt: Timestamp,
        answer_outstanding: Option<bool>,
    ) -> Result<bool, StoreError> {
        let mut state = self.state()?;
        let Some(held) = state.held(organization, bid, owner) else {
            return Ok(false);
        };
        held.queued.attempts += 1;
        held.next_attempt = next_attempt;
        if let Some(is_outstanding) = answer_outstanding {
            held.queued.answer_outstanding = is_outstanding;
        }
        held.lease = None;
        Ok(true)
    }

    async fn disconnect_account(
        &self,
        organization: &OrganizationId,
        bid: BidId,
        owner: &LeaseOwner,
        refused_token: &MarketplaceToken,
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

    async fn finish(&self, finish: &FinishBid, owner: &LeaseOwner) -> Result<bool, StoreError> {
        let mut state = self.state()?;
        Ok(end(&mut state, finish, owner))
    }

    async fn finish_by(
        &self,
        authorization: &Authorization,
        finish: &FinishBid,
        owner: &LeaseOwner,
    ) -> Result<FinishBy, StoreError> {
        let mut state = self.state()?;
        if let Err(why) = state.authorized(authorization, &finish.organization_id, finish.at) {
            return Ok(FinishBy::NotAuthorized(why));
        }
        Ok(if end(&mut state, finish, owner) {
            FinishBy::Ended
        } else {
            FinishBy::NotHeld
        })
    }

    async fn record_account(
        &self,
        organization: &OrganizationId,
        account: &AccountId,
        reading: &AccountReading,
    ) -> Result<(), StoreError> {
        let mut state = self.state()?;
        let organization = state.organizations.get_mut(organization);
        let account = organization.and_then(|organization| organization.accounts.get_mut(account));
        if let Some(account) = account
            && account
                .reading
                .as_ref()
                .is_none_or(|known| known.at <= reading.at)
        {
            account.reading = Some(reading.clone());
        }
        Ok(())
    }

    async fn claim_unanswered(
        &self,
        bid: BidId,
        owner: &LeaseOwner,
        now: Timestamp,
        lease_until: Timestamp,
    ) -> Result<ClaimUnanswered, StoreError> {
        let mut state = self.state()?;
        let Some(place) = state.bid_index.get(&bid).copied() else {
            return Ok(ClaimUnanswered::Unknown);
        };
        let known = &mut state.bids[place];
        if known.status != LeadStatus::Queued || !known.queued.answer_outstanding {
            return Ok(ClaimUnanswered::Unknown);
        }
        if Lease::is_live(known.lease.as_ref(), now) {
            return Ok(ClaimUnanswered::BeingSent);
        }
        known.lease = Some(Lease::new(owner, lease_until));
        let claimed = state.claimed(place, owner)?;
        Ok(ClaimUnanswered::Claimed(Box::new(claimed)))
    }

    async fn waiting(&self, query: &WaitingBidsQuery) -> Result<Vec<WaitingBid>, StoreError> {
        let state = self.state()?;
        let queued = state.bids.iter().filter(|bid| bid.status == LeadStatus::Queued);
        let mut waiting: Vec<WaitingBid> = queued
            .map(|bid| state.waiting(bid))
            .filter(|bid| {
                query
                    .organization_id
                    .as_ref()
                    .is_none_or(|organization| *organization == bid.organization_id)
            })
            .filter(|bid| query.unsettled_at.is_none_or(|now| bid.is_unsettled(now)))
            .collect();
        waiting.sort_by_key(|bid| (bid.queued_at, bid.id.to_string()));
        waiting.truncate(length(query.limit));
        Ok(waiting)
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
            .filter(|(_, bid)| self.is_due(bid, now))
            .map(|(place, bid)| (bid.next_attempt, place))
            .collect();
        due.sort_unstable();
        due.into_iter()
            .map(|(_, place)| place)
            .filter(|place| taken.insert(account_of(&self.bids[*place])))
            .collect()
    }

    /// Whether the bid can be tried, or be ended without its account.
    fn is_due(&self, bid: &Bid, now: Timestamp) -> bool {
        let account = self.account(&bid.queued.organization_id, &bid.queued.account_id);
        let connected = account.is_some_and(|account| account.record.connected);
        (bid.next_attempt <= now && connected)
            || (bid.queued.deadline <= now && !bid.queued.answer_outstanding)
    }

    fn waiting(&self, bid: &Bid) -> WaitingBid {
        let queued = &bid.queued;
        let account = match self.account(&queued.organization_id, &queued.account_id) {
            None => AccountState::Removed,
            Some(account) if account.record.connected => AccountState::Connected,
            Some(_) => AccountState::Disconnected,
        };
        WaitingBid {
            id: queued.id,
            organization_id: queued.organization_id.clone(),
            campaign_id: queued.campaign_id.clone(),
            lead_id: queued.lead_id.clone(),
            account_id: queued.account_id.clone(),
            account,
            queued_at: queued.queued_at,
            deadline: queued.deadline,
            attempts: queued.attempts,
            answer_outstanding: queued.answer_outstanding,
        }
    }

    fn claimed(&self, place: usize, owner: &LeaseOwner) -> Result<ClaimedBid, StoreError> {
        let bid = &self.bids[place];
        let account = self.account(&bid.queued.organization_id, &bid.queued.account_id);
        Ok(ClaimedBid {
            bid: bid.queued.clone(),
            owner: owner.clone(),
            token: account.map(|account| account.record.token.clone()),
            job_taken: self.job_is_taken(place),
            post: JobPost::parse(&self.job_json(&bid.queued.job_id)?)
                .map_err(|fault| StoreError::Corrupt(fault.to_string()))?,
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
    fn held(&mut self, organization: &OrganizationId, bid: BidId, owner: &LeaseOwner) -> Option<&mut Bid> {
        let place = *self.bid_index.get(&bid)?;
        self.bids.get_mut(place).filter(|bid| {
            &bid.queued.organization_id == organization
                && bid.status == LeadStatus::Queued
                && bid.lease.as_ref().is_some_and(|lease| lease.owner == *owner)
        })
    }

    fn disconnect(
        &mut self,
        organization: &OrganizationId,
        account: &AccountId,
        refused_token: &MarketplaceToken,
    ) {
        let organization = self.organizations.get_mut(organization);
        if let Some(account) = organization.and_then(|organization| organization.accounts.get_mut(account))
            && account.record.token == *refused_token
        {
            account.record.connected = false;
        }
    }
}

/// Ends the bid, if `owner` holds it.
fn end(state: &mut State, finish: &FinishBid, owner: &LeaseOwner) -> bool {
    let Some(held) = state.held(&finish.organization_id, finish.bid_id, owner) else {
        return false;
    };
    held.status = finish.outcome.status();
    held.outcome = Some(finish.outcome.clone());
    held.ended_at = Some(finish.at);
    held.queued.answer_outstanding = false;
    held.lease = None;
    let (lead, account) = (held.queued.lead_id.clone(), held.queued.account_id.clone());
    let campaign = held.queued.campaign_id.clone();
    if let Some(entry) = state.leads.get_mut(&lead) {
        entry.lead.status = finish.outcome.status();
        entry.lead.reason = finish.outcome.reason().cloned();
        if let Some(proposal_id) = finish.outcome.proposal_id() {
            entry.lead.proposal_id = Some(proposal_id.to_owned());
        }
    }
    if let Some(refused_token) = &finish.refused_token {
        state.disconnect(&finish.organization_id, &account, refused_token);
    }
    state.record_activity(&finish.activity);
    state.queue_event(&finish.event, finish.at);
    let posted_at = state.posted_at(&lead);
    let mut tally = Tally::default();
    let place = (&finish.organization_id, &campaign, account.as_str());
    tally.bid_ended(place, &finish.outcome, finish.at, posted_at);
    state.count(finish.at, &tally);
    true
}
