//! Queued bids in the store: claimed under a lease, recorded by whoever holds it.

use async_trait::async_trait;

use super::StoreError;
use crate::model::{
    AccountId, Activity, BidEnd, BidId, CampaignId, Connects, LeadId, NewEvent, OrganizationId, Proposal,
    QueuedBid, Timestamp,
};

/// A bid that this process may work on until its lease ends.
#[derive(Debug, Clone)]
pub struct ClaimedBid {
    /// The bid.
    pub bid: QueuedBid,
    /// Who holds the lease: to be named in every command on the bid.
    pub owner: String,
    /// The account's marketplace token; `None` once the account was removed.
    pub token: Option<String>,
    /// The account has another queued bid accepted earlier, or a submitted one, on the same job (decision B4).
    pub job_taken: bool,
    /// The job's stored JSON, to write `bid_complete` with.
    pub job_json: String,
}

/// What an account's marketplace record said when it was last read.
#[derive(Debug, Clone, PartialEq)]
pub struct AccountReading {
    /// The profile's hourly rate in USD.
    pub profile_hourly_rate: Option<f64>,
    /// Connects left.
    pub connects_balance: Connects,
    /// When.
    pub at: Timestamp,
}

/// The end of a bid with all that is recorded beside it.
#[derive(Debug, Clone)]
pub struct FinishBid {
    /// Whose.
    pub organization_id: OrganizationId,
    /// Which.
    pub bid_id: BidId,
    /// How it ended.
    pub end: BidEnd,
    /// Now.
    pub at: Timestamp,
    /// The token that the marketplace refused (decision B4, 401): the account is marked as disconnected, unless it
    /// was given another one meanwhile.
    pub refused_token: Option<String>,
    /// The entry of the Activity record.
    pub activity: Activity,
    /// `bid_complete`.
    pub event: NewEvent,
}

/// The queue of accepted bids.
///
/// Every method that takes `owner` does nothing and answers false if the owner's lease on the bid is gone.
#[async_trait]
pub trait SubmissionStore: Send + Sync + std::fmt::Debug {
    /// Claims up to `limit` due bids for `owner` until `lease_until`, earliest due first: queued, not before
    /// their next attempt, without a live lease, at most one an account, and none of an account that has a bid
    /// under a live lease. A bid whose account is disconnected or removed is claimed only once its deadline has
    /// passed and no answer is outstanding.
    async fn claim(
        &self,
        owner: &str,
        now: Timestamp,
        lease_until: Timestamp,
        limit: u32,
    ) -> Result<Vec<ClaimedBid>, StoreError>;

    /// Extends the lease.
    async fn renew(
        &self,
        organization: &OrganizationId,
        bid: BidId,
        owner: &str,
        lease_until: Timestamp,
    ) -> Result<bool, StoreError>;

    /// Stores the decided proposal (replacing one that was refused) and marks an answer as outstanding, durably,
    /// before it is sent.
    async fn begin_attempt(
        &self,
        organization: &OrganizationId,
        bid: BidId,
        owner: &str,
        proposal: &Proposal,
    ) -> Result<bool, StoreError>;

    /// Puts the bid back until `next_attempt`, counting the attempt and giving up the lease. `answer_outstanding` says whether the fate
    /// of any attempt so far is unknown.
    async fn postpone(
        &self,
        organization: &OrganizationId,
        bid: BidId,
        owner: &str,
        next_attempt: Timestamp,
        answer_outstanding: bool,
    ) -> Result<bool, StoreError>;

    /// Gives up the lease without ending the bid, and marks its account as disconnected, unless it was given
    /// another token than the refused one meanwhile.
    async fn disconnect_account(
        &self,
        organization: &OrganizationId,
        bid: BidId,
        owner: &str,
        refused_token: &str,
    ) -> Result<bool, StoreError>;

    /// Ends the bid in one transaction: bid and lead status, the quota's unit given back unless submitted
    /// (decision B3), Activity, `bid_complete` deliveries, the account's state.
    async fn finish(&self, finish: &FinishBid, owner: &str) -> Result<bool, StoreError>;

    /// Notes what the marketplace said of an account.
    async fn record_account(
        &self,
        organization: &OrganizationId,
        account: &AccountId,
        reading: &AccountReading,
    ) -> Result<(), StoreError>;

    /// How many bids are queued.
    async fn queued_count(&self) -> Result<u64, StoreError>;
}

/// A lead for which an automatic campaign is to write a bid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AutomaticBid {
    /// Whose.
    pub organization_id: OrganizationId,
    /// Whose.
    pub campaign_id: CampaignId,
    /// The lead.
    pub lead_id: LeadId,
}

/// Intents to bid by template, recorded when the job came in (decision D3).
#[async_trait]
pub trait AutomaticBidStore: Send + Sync + std::fmt::Debug {
    /// Claims up to `limit` intents without a live lease, oldest first.
    async fn claim_automatic(
        &self,
        owner: &str,
        now: Timestamp,
        lease_until: Timestamp,
        limit: u32,
    ) -> Result<Vec<AutomaticBid>, StoreError>;

    /// Removes an intent that was carried out or parked, recording why if there is something to say.
    async fn settle_automatic(
        &self,
        intent: &AutomaticBid,
        activity: Option<&Activity>,
    ) -> Result<(), StoreError>;

    /// How many intents wait.
    async fn automatic_count(&self) -> Result<u64, StoreError>;
}
