//! Leads in the store: the bidding loop's reads and commands.

use async_trait::async_trait;

use super::StoreError;
use crate::bidding::QuotaUsage;
use crate::model::{
    Activity, Authorization, BidRecord, BiddingConfig, Campaign, CampaignId, JobId, Lead, LeadAttachment,
    LeadId, LeadStatus, LeadWithJob, ListedLead, NewBid, NewEvent, OrganizationId, Unauthorized,
};

/// One page of a campaign's matches, newest first.
#[derive(Debug, Clone, PartialEq)]
pub struct LeadPage {
    /// Matches across all pages.
    pub total: u64,
    /// The campaign's name.
    pub campaign_name: String,
    /// The page.
    pub leads: Vec<ListedLead>,
    /// How many matches of the page were left out, because they or their leads cannot be read.
    pub unreadable: usize,
}

/// The content of a job as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobContent {
    /// The job.
    pub job_id: JobId,
    /// The content's sequence number. No other content, of this or another job, ever has it.
    pub seq: i64,
    /// The `JobPost` JSON, byte for byte as the marketplace served it.
    pub json: String,
}

/// A lead with everything that decisions on it need.
#[derive(Debug, Clone)]
pub struct LeadContext {
    /// The lead and its job.
    pub lead: LeadWithJob,
    /// Its campaign; `None` once the campaign was removed.
    pub campaign: Option<Campaign>,
    /// Files uploaded for it, oldest first.
    pub attachments: Vec<LeadAttachment>,
    /// Its latest bid, if there was one.
    pub bid: Option<BidRecord>,
}

/// The result of a look-up by campaign and lead, which finds `T`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeadLookup<T = LeadContext> {
    /// The organization has no such campaign.
    CampaignUnknown,
    /// The campaign has no such lead.
    LeadUnknown,
    /// The lead.
    Found(Box<T>),
}

impl<T> LeadLookup<T> {
    /// The look-up with something else in place of what was found.
    pub fn map<U>(self, of: impl FnOnce(T) -> U) -> LeadLookup<U> {
        match self {
            Self::CampaignUnknown => LeadLookup::CampaignUnknown,
            Self::LeadUnknown => LeadLookup::LeadUnknown,
            Self::Found(found) => LeadLookup::Found(Box::new(of(*found))),
        }
    }
}

/// The outcome of [`LeadStore::accept_bid`]. Only `Accepted` changed anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AcceptBid {
    /// Status, quota, queue entry, frozen attachments and Activity are stored, durably.
    Accepted,
    /// The authorization has ended.
    NotAuthorized(Unauthorized),
    /// The lead or its campaign no longer exists.
    LeadUnknown,
    /// The lead is not `new`.
    LeadNotNew(LeadStatus),
    /// The campaign has no connected bidder account (decision A8).
    NoConnectedAccount,
    /// The period's quota is used up.
    QuotaUsedUp(QuotaUsage),
}

/// The outcome of [`LeadStore::reject`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RejectLead {
    /// The lead is rejected; the Activity is stored.
    Rejected,
    /// The authorization has ended; nothing changed.
    NotAuthorized(Unauthorized),
    /// There is no such lead.
    LeadUnknown,
    /// The lead is not `new`; nothing changed.
    LeadNotNew(LeadStatus),
}

/// The outcome of [`LeadStore::add_attachments`]. Only `Added` changed anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AddAttachments {
    /// Stored; the lead's whole list, oldest first.
    Added(Vec<LeadAttachment>),
    /// The authorization has ended.
    NotAuthorized(Unauthorized),
    /// There is no such lead.
    LeadUnknown,
    /// The lead is not `new` (decision A10).
    LeadNotNew(LeadStatus),
    /// The lead would have more than [`MAX_FILES`](crate::attachment_rules::MAX_FILES) files.
    TooMany {
        /// How many it has.
        existing: usize,
    },
    /// The lead has a file of this name already (original name of the new file).
    DuplicateName(String),
}

/// The most pending deliveries, of any event, at which an endpoint still takes another one of a dry run. Dry runs have no
/// quota, so this bounds what a caller can queue for a receiver that is slow or away (decision A3).
pub const DRY_RUN_BACKLOG: u32 = 999;

/// The outcome of [`LeadStore::record_dry_run`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordDryRun {
    /// Activity and deliveries are stored.
    Recorded,
    /// The authorization has ended; nothing changed.
    NotAuthorized(Unauthorized),
    /// One of the receivers has more than [`DRY_RUN_BACKLOG`] pending deliveries; nothing changed.
    TooManyPending,
}

/// A file to be added to a lead, its content already in the blob store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAttachment {
    /// The file.
    pub attachment: LeadAttachment,
    /// Its name after NFC and full case folding: unique on the lead (decision A9).
    pub comparison_key: String,
}

/// The outcome of [`LeadStore::reopen`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReopenLead {
    /// The lead is `new` again.
    Reopened,
    /// The authorization has ended; nothing changed.
    NotAuthorized(Unauthorized),
    /// There is no such lead.
    LeadUnknown,
    /// Only skipped and failed leads can be reopened.
    NotReopenable(LeadStatus),
}

/// The outcome of [`LeadStore::configure_as`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigureLead {
    /// The configuration is the lead's.
    Configured,
    /// The authorization has ended; nothing changed.
    NotAuthorized(Unauthorized),
    /// There is no such lead.
    LeadUnknown,
}

/// Leads, their bids, rejections and uploads.
///
/// Most methods take the organization with the id and never find another organization's lead. The methods without an
/// organization are for operators' commands; lead ids are unique in the installation.
///
/// The methods with an [`Authorization`] check it before everything else and in the transaction that makes the change, at
/// the moment of the Activity entry. Once a key was reported as revoked or removed, or a subscription as ended, they
/// change nothing on it, however long before they were called (decisions D5 and D6).
///
/// Those that change a lead take it as it was found. A match without a record becomes a lead in the same transaction, if
/// the campaign still lists it (decision E5). A command that is refused leaves no record behind. A dry run makes no lead.
#[async_trait]
pub trait LeadStore: Send + Sync + std::fmt::Debug {
    /// The page of the campaign's matches that starts `offset` from the newest; `None` if the organization has
    /// no such campaign. Every job on the page is materialized as a lead (specification, List leads). Costs the
    /// same at every offset.
    async fn page(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
        offset: u64,
        limit: u32,
    ) -> Result<Option<LeadPage>, StoreError>;

    /// The content that these jobs have now, in any order. Jobs that are not stored or cannot be read are left out.
    async fn job_contents(&self, jobs: &[JobId]) -> Result<Vec<JobContent>, StoreError>;

    /// Whether the organization has this campaign.
    async fn campaign_exists(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
    ) -> Result<bool, StoreError>;

    /// A campaign's lead. A lead exists longer than the match that it was made from.
    async fn find(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
        lead: &LeadId,
    ) -> Result<LeadLookup, StoreError>;

    /// As [`find`](Self::find), for decisions that need nothing but the lead itself.
    async fn locate(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
        lead: &LeadId,
    ) -> Result<LeadLookup<Lead>, StoreError>;

    /// The lead, of any organization.
    async fn find_anywhere(&self, lead: &LeadId) -> Result<Option<LeadContext>, StoreError>;

    /// Queues a bid (decision B2). Re-checks, in this order and in one transaction: the lead is `new`, its
    /// campaign has a connected account, the organization's quota for the period of `bid.queued_at` is not used
    /// up (decision B3). Freezes the lead's attachments or, where it has none, the campaign's. Stores `activity`
    /// with it.
    async fn accept_bid(
        &self,
        authorization: &Authorization,
        bid: &NewBid,
        activity: &Activity,
    ) -> Result<AcceptBid, StoreError>;

    /// Rejects a `new` lead for good.
    async fn reject(
        &self,
        authorization: &Authorization,
        lead: &Lead,
        reason: Option<&str>,
        activity: &Activity,
    ) -> Result<RejectLead, StoreError>;

    /// Adds files to a `new` lead, all or none; re-checks count and names in one transaction. `activity` is
    /// stored when they are added.
    async fn add_attachments(
        &self,
        authorization: &Authorization,
        lead: &Lead,
        files: &[NewAttachment],
        activity: &Activity,
    ) -> Result<AddAttachments, StoreError>;

    /// Records a dry run: its Activity and its `bid_complete` deliveries; nothing else. Costs the same however many
    /// deliveries are pending. Dry runs that are recorded at the same moment may not see each other's deliveries.
    async fn record_dry_run(
        &self,
        authorization: &Authorization,
        activity: &Activity,
        event: &NewEvent,
    ) -> Result<RecordDryRun, StoreError>;

    /// Replaces the lead's own bidding configuration; false if there is no such lead.
    async fn configure(&self, lead: &LeadId, config: &BiddingConfig) -> Result<bool, StoreError>;

    /// As [`configure`](Self::configure), for a person of the organization. Stores `activity` with it.
    async fn configure_as(
        &self,
        authorization: &Authorization,
        lead: &Lead,
        config: &BiddingConfig,
        activity: &Activity,
    ) -> Result<ConfigureLead, StoreError>;

    /// Sets a skipped or failed lead back to `new` (decision B1), forgetting its reason; its uploads stay.
    async fn reopen(&self, lead: &LeadId, activity: &Activity) -> Result<ReopenLead, StoreError>;

    /// As [`reopen`](Self::reopen), for a person of the organization.
    async fn reopen_as(
        &self,
        authorization: &Authorization,
        organization: &OrganizationId,
        lead: &LeadId,
        activity: &Activity,
    ) -> Result<ReopenLead, StoreError>;
}
