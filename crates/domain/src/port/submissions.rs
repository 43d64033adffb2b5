//! Queued bids in the store: claimed under a lease, recorded by its holder.

use async_trait::async_trait;
use serde::Serialize;

use super::{LeaseOwner, StoreError};
use crate::model::{
    AccountId, Activity, Authorization, BidId, BidOutcome, CampaignId, Connects, JobPost, LeadId,
    MarketplaceToken, NewEvent, OrganizationId, Proposal, QueuedBid, Timestamp, Unauthorized,
};

/// A bid that this process may work on until its lease ends.
#[derive(Debug, Clone)]
pub struct ClaimedBid {
    /// The bid.
    pub bid: QueuedBid,
    /// The holder of the lease, named in every command on the bid.
    pub owner: LeaseOwner,
    /// The account's marketplace token; `None` once the account was removed.
    pub token: Option<MarketplaceToken>,
    /// The account has another queued bid accepted earlier, or a submitted one, on the same job (decision B4).
    pub job_taken: bool,
    /// The job as it is stored, to write `bid_complete` with.
    pub post: JobPost,
}

/// The state of an account when it was last read from the marketplace.
#[derive(Debug, Clone, PartialEq)]
pub struct AccountReading {
    /// The profile's hourly rate in USD.
    pub profile_hourly_rate: Option<f64>,
    /// Connects left.
    pub connects_balance: Connects,
    /// When it was read.
    pub at: Timestamp,
}

/// The end of a bid with all that is recorded beside it.
#[derive(Debug, Clone)]
pub struct FinishBid {
    /// The bid's organization.
    pub organization_id: OrganizationId,
    /// The bid.
    pub bid_id: BidId,
    /// How it ended.
    pub outcome: BidOutcome,
    /// When it ended.
    pub at: Timestamp,
    /// The token that the marketplace refused (decision B4, 401): the account is marked as disconnected, unless it
    /// has another one by then.
    pub refused_token: Option<MarketplaceToken>,
    /// The entry of the Activity record.
    pub activity: Activity,
    /// `bid_complete`.
    pub event: NewEvent,
}

/// Whether the account of a queued bid can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AccountState {
    /// It can.
    Connected,
    /// The marketplace refused its token.
    Disconnected,
    /// It was removed.
    #[default]
    Removed,
}

/// A queued bid as an operator sees it: `bidloop bids list`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WaitingBid {
    /// The bid.
    pub id: BidId,
    /// Its organization.
    pub organization_id: OrganizationId,
    /// Its campaign.
    pub campaign_id: CampaignId,
    /// Its lead.
    pub lead_id: LeadId,
    /// The account it is made with.
    pub account_id: AccountId,
    /// Whether that account can be used.
    pub account: AccountState,
    /// UNIX milliseconds.
    pub queued_at: Timestamp,
    /// UNIX milliseconds.
    pub deadline: Timestamp,
    /// Attempts made so far.
    pub attempts: u32,
    /// Whether the answer to an attempt is unknown.
    pub answer_outstanding: bool,
}

impl WaitingBid {
    /// Whether an operator may have to settle it: its answer is outstanding, and either the deadline has passed or the
    /// account that could ask again was removed (decision B4).
    pub fn is_unsettled(&self, now: Timestamp) -> bool {
        self.answer_outstanding && (self.account == AccountState::Removed || self.deadline <= now)
    }
}

/// Which queued bids are listed.
#[derive(Debug, Clone, Default)]
pub struct WaitingBidsQuery {
    /// Only this organization's.
    pub organization_id: Option<OrganizationId>,
    /// Only those that are [unsettled](WaitingBid::is_unsettled) at this moment.
    pub unsettled_at: Option<Timestamp>,
    /// At most so many.
    pub limit: u32,
}

/// The outcome of [`SubmissionStore::claim_unanswered`].
#[derive(Debug, Clone)]
pub enum ClaimUnanswered {
    /// The caller has the bid; without the account's token, which settling does not need.
    Claimed(Box<ClaimedBid>),
    /// No queued bid with an outstanding answer has this id.
    Unknown,
    /// A submitter has it: its answer may be known in a moment.
    BeingSent,
}

/// The outcome of [`SubmissionStore::finish_by`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinishBy {
    /// The bid has ended.
    Ended,
    /// `owner` no longer holds the lease; nothing changed.
    NotHeld,
    /// The authorization has ended; nothing changed.
    NotAuthorized(Unauthorized),
}

/// The queue of accepted bids.
///
/// The commands on a claimed bid ([`renew`](Self::renew) to [`finish`](Self::finish)) change nothing and return false
/// if `owner` no longer holds the lease.
#[async_trait]
pub trait SubmissionStore: Send + Sync + std::fmt::Debug {
    /// Claims up to `limit` due bids for `owner` until `lease_until`, earliest due first: queued, without a live
    /// lease, at most one an account, and none of an account that has a bid under a live lease.
    ///
    /// A bid is due when its account is connected and the time of its next attempt has come. A bid without an
    /// outstanding answer is also due once its deadline has passed, even if its next attempt is later or its account is
    /// disconnected. A bid that was stored as due in the past may be found some 2 s late.
    ///
    /// A bid that cannot be read, or whose account, lead or job cannot, is passed over and set aside in the store's
    /// [`Quarantine`](super::Quarantine): nothing is sent whose outcome could not be recorded (decision D2).
    async fn claim(
        &self,
        owner: &LeaseOwner,
        now: Timestamp,
        lease_until: Timestamp,
        limit: u32,
    ) -> Result<Vec<ClaimedBid>, StoreError>;

    /// Extends the lease.
    async fn renew(
        &self,
        organization: &OrganizationId,
        bid: BidId,
        owner: &LeaseOwner,
        lease_until: Timestamp,
    ) -> Result<bool, StoreError>;

    /// Stores the decided proposal (replacing one that was refused) and marks an answer as outstanding, durably,
    /// before it is sent.
    async fn begin_attempt(
        &self,
        organization: &OrganizationId,
        bid: BidId,
        owner: &LeaseOwner,
        proposal: &Proposal,
    ) -> Result<bool, StoreError>;

    /// Postpones the bid until `next_attempt`, counts the attempt and gives up the lease. `answer_outstanding` is whether
    /// the result of any attempt so far is unknown; `None`: as it is stored, where work broke off.
    async fn postpone(
        &self,
        organization: &OrganizationId,
        bid: BidId,
        owner: &LeaseOwner,
        next_attempt: Timestamp,
        answer_outstanding: Option<bool>,
    ) -> Result<bool, StoreError>;

    /// Gives up the lease without ending the bid, and marks its account as disconnected unless the account has another
    /// token than the refused one by then.
    async fn disconnect_account(
        &self,
        organization: &OrganizationId,
        bid: BidId,
        owner: &LeaseOwner,
        refused_token: &MarketplaceToken,
    ) -> Result<bool, StoreError>;

    /// Ends the bid in one transaction: bid and lead status, the quota's unit given back unless submitted
    /// (decision B3), Activity, `bid_complete` deliveries, the account's state.
    async fn finish(&self, finish: &FinishBid, owner: &LeaseOwner) -> Result<bool, StoreError>;

    /// As [`finish`](Self::finish), for a person, if the session still holds in the same transaction. The subscription is
    /// not asked after: what was sent is settled without (decision E4).
    async fn finish_by(
        &self,
        authorization: &Authorization,
        finish: &FinishBid,
        owner: &LeaseOwner,
    ) -> Result<FinishBy, StoreError>;

    /// Stores a reading of the account, unless a later one is stored.
    async fn record_account(
        &self,
        organization: &OrganizationId,
        account: &AccountId,
        reading: &AccountReading,
    ) -> Result<(), StoreError>;

    /// Claims the bid for an operator who settles it, if its answer is outstanding and it is under no live lease. No
    /// submitter can claim it until the lease ends.
    async fn claim_unanswered(
        &self,
        bid: BidId,
        owner: &LeaseOwner,
        now: Timestamp,
        lease_until: Timestamp,
    ) -> Result<ClaimUnanswered, StoreError>;

    /// Queued bids, oldest first. One that cannot be read is passed over and set aside.
    async fn waiting(&self, query: &WaitingBidsQuery) -> Result<Vec<WaitingBid>, StoreError>;

    /// The number of queued bids.
    async fn queued_count(&self) -> Result<u64, StoreError>;
}

/// A lead for which an automatic campaign is to write a bid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AutomaticBidIntent {
    /// The lead's organization.
    pub organization_id: OrganizationId,
    /// The lead's campaign.
    pub campaign_id: CampaignId,
    /// The lead.
    pub lead_id: LeadId,
}

/// Intents to bid by template, recorded when the job came in (decision D3).
#[async_trait]
pub trait AutomaticBidStore: Send + Sync + std::fmt::Debug {
    /// Claims up to `limit` intents without a live lease for `owner` until `lease_until`, oldest first. One that was stored
    /// as queued in the past, or whose lease has ended, may be found some 2 s late.
    async fn claim(
        &self,
        owner: &LeaseOwner,
        now: Timestamp,
        lease_until: Timestamp,
        limit: u32,
    ) -> Result<Vec<AutomaticBidIntent>, StoreError>;

    /// Removes an intent that was carried out or parked at `at`, and records `activity` with it. The lead counts as handed
    /// over.
    async fn complete(
        &self,
        intent: &AutomaticBidIntent,
        activity: Option<&Activity>,
        at: Timestamp,
    ) -> Result<(), StoreError>;

    /// The number of waiting intents.
    async fn automatic_count(&self) -> Result<u64, StoreError>;
}
