//! What the console's Feed shows of a campaign's matches (decision E9).

use std::collections::HashMap;

use async_trait::async_trait;

use super::{AccountReading, AccountRecord, FilterRecord, LeadContext, StoreError, StoredJob};
use crate::matching::JobSignature;
use crate::model::{
    Actor, BidId, CampaignId, Connects, CoverLetter, EmailKey, JobId, Lead, LeadId, LeadStatus,
    OrganizationId, ProposalFile, QuestionAnswerPair, Terms, Timestamp,
};

/// Which part of a campaign's Feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeedQuery {
    /// Only matches whose leads have this status; `None`: all.
    pub status: Option<LeadStatus>,
    /// How many of those, from the newest on, are passed over.
    pub offset: u64,
    /// The most entries.
    pub limit: u32,
}

/// How many matches a campaign has, in all and by the status of their leads. A match without a lead is `new`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FeedCounts {
    /// All matches, as List leads counts them.
    pub all: u64,
    /// Neither bid on nor rejected.
    pub new: u64,
    /// Those whose bids await submission.
    pub queued: u64,
    /// Those with a proposal.
    pub submitted: u64,
    /// Those that the configuration said not to bid on.
    pub skipped: u64,
    /// Those whose bids failed.
    pub failed: u64,
    /// Those that a caller rejected.
    pub rejected: u64,
}

impl FeedCounts {
    /// The count of one status.
    pub const fn of(&self, status: LeadStatus) -> u64 {
        match status {
            LeadStatus::New => self.new,
            LeadStatus::Queued => self.queued,
            LeadStatus::Submitted => self.submitted,
            LeadStatus::Skipped => self.skipped,
            LeadStatus::Failed => self.failed,
            LeadStatus::Rejected => self.rejected,
        }
    }

    /// Counts from those of the leads that are decided on. What is left of `all` is new.
    pub fn from_decided(all: u64, decided: impl IntoIterator<Item = (LeadStatus, u64)>) -> Self {
        let mut counts = Self {
            all,
            new: all,
            ..Self::default()
        };
        for (status, count) in decided {
            let of_status = match status {
                LeadStatus::New => continue,
                LeadStatus::Queued => &mut counts.queued,
                LeadStatus::Submitted => &mut counts.submitted,
                LeadStatus::Skipped => &mut counts.skipped,
                LeadStatus::Failed => &mut counts.failed,
                LeadStatus::Rejected => &mut counts.rejected,
            };
            *of_status += count;
            counts.new = counts.new.saturating_sub(count);
        }
        counts
    }
}

/// A bid as a card of the Feed and a lead's page show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BidSummary {
    /// The bid.
    pub id: BidId,
    /// The lead's status that the bid brought about.
    pub status: LeadStatus,
    /// When it was accepted.
    pub queued_at: Timestamp,
    /// Attempts made so far.
    pub attempts: u32,
    /// When the next attempt is due; of no meaning once the bid has ended.
    pub next_attempt_at: Timestamp,
    /// Whether the answer to an attempt is unknown (decision B4).
    pub answer_outstanding: bool,
    /// What the proposal asks for; `None` before the end, and if no amount was decided.
    pub terms: Option<Terms>,
    /// The boost; 0 without one and before the end.
    pub boost_connects: Connects,
    /// Connects that the marketplace took.
    pub connects_spent: Connects,
    /// When the marketplace took the proposal.
    pub submitted_at: Option<Timestamp>,
    /// When the bid ended.
    pub ended_at: Option<Timestamp>,
}

/// A match in the Feed.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedMatch {
    /// The lead, or the one that the match would become.
    pub lead: Lead,
    /// Whether the lead has a record.
    pub is_stored: bool,
    /// The `JobPost` JSON.
    pub job_json: String,
    /// The lead's latest bid.
    pub bid: Option<BidSummary>,
    /// Who rejected the lead, as long as the Activity record tells.
    pub rejected_by: Option<Actor>,
}

/// A page of a campaign's Feed.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedMatches {
    /// The campaign's name.
    pub campaign_name: String,
    /// Of the whole list, in the snapshot that the entries are of.
    pub counts: FeedCounts,
    /// When the list's newest match was made, in the same snapshot; `None` if the list is empty.
    pub newest_at: Option<Timestamp>,
    /// Newest first.
    pub entries: Vec<ListedMatch>,
    /// How many matches of the page were left out, because they or their leads cannot be read.
    pub unreadable: usize,
}

/// What changed in a campaign's Feed since a page of it was read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FeedNews {
    /// How many matches are newer than the newest one then, counted up to a bound.
    pub newer: u64,
    /// Those of the leads that are decided on, in any order.
    pub decided: Vec<(LeadId, LeadStatus)>,
}

/// A match with what tells whether its job may contain certain words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedMatch {
    /// Counted from the oldest match, which has 1.
    pub place: u64,
    /// The job.
    pub job_id: JobId,
    /// The status of its lead.
    pub status: LeadStatus,
    /// The job's signature; `None` if it has none of this version.
    pub signature: Option<JobSignature>,
}

/// A run of a campaign's matches, to be searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedMatches {
    /// Newest first. A match that cannot be read is left out.
    pub matches: Vec<SignedMatch>,
    /// The place, counted from the oldest match, below which older matches follow; 0 at the end.
    pub older_below: u64,
}

/// The letter and the answers of a bid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BidLetter {
    /// The letter; `None` once it was pruned.
    pub cover_letter: Option<CoverLetter>,
    /// In the order of the lead's questions.
    pub answers: Vec<QuestionAnswerPair>,
}

/// The account of a campaign, with its token and what was last read of it.
#[derive(Debug, Clone)]
pub struct BiddingAccount {
    /// The account.
    pub record: AccountRecord,
    /// What was last read of it from the marketplace.
    pub reading: Option<AccountReading>,
}

/// What a campaign's bids are made with.
#[derive(Debug, Clone)]
pub struct BidMeans {
    /// Its account, if it has one.
    pub account: Option<BiddingAccount>,
    /// The files of bids on leads without files of their own.
    pub attachments: Vec<ProposalFile>,
}

/// The newest lead and the newest match of a campaign, or of all campaigns of an organization.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Newest {
    /// The lead with a record that is the newest by `createdAt`.
    pub lead: Option<(CampaignId, LeadId)>,
    /// The match that is the newest, if there is no lead.
    pub matched: Option<(CampaignId, JobId)>,
}

/// Reads for the console's Feed and lead pages. None of them makes a lead (decision E5).
///
/// Every method takes the organization and finds nothing of another one.
#[async_trait]
pub trait CampaignFeedStore: Send + Sync + std::fmt::Debug {
    /// A page of the campaign's matches, in the order of List leads (decision A5), with the counts of all; `None` if the
    /// organization has no such campaign.
    async fn feed_page(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
        query: &FeedQuery,
    ) -> Result<Option<ListedMatches>, StoreError>;

    /// The entries of those of the jobs that the campaign lists, newest first; `None` if the organization has no such
    /// campaign.
    async fn feed_entries(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
        jobs: &[JobId],
    ) -> Result<Option<Vec<ListedMatch>>, StoreError>;

    /// Up to `limit` of the campaign's matches below a place, which is counted from the oldest match on (`None`: from the
    /// newest match on); `None` if the organization has no such campaign.
    async fn signed_matches(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
        below: Option<u64>,
        limit: u32,
    ) -> Result<Option<SignedMatches>, StoreError>;

    /// The job's match in the campaign, as the lead that it would become; the stored lead if there is one, whether or not
    /// the campaign still lists the job. `None` if there is neither.
    async fn find_match(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
        job: &JobId,
    ) -> Result<Option<LeadContext>, StoreError>;

    /// The job of the lead, if it is among the campaign's newest `newest` matches. Lead ids cannot be read backwards, so
    /// this derives the ids of those matches.
    async fn job_of_lead(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
        lead: &LeadId,
        newest: u32,
    ) -> Result<Option<JobId>, StoreError>;

    /// The campaign's filters, by id; `None` if the organization has no such campaign. Those that cannot be read are left
    /// out.
    async fn campaign_filters(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
    ) -> Result<Option<Vec<FilterRecord>>, StoreError>;

    /// The summary of a lead's latest bid, with its letter; `None` if there is none.
    async fn latest_bid(
        &self,
        organization: &OrganizationId,
        lead: &LeadId,
    ) -> Result<Option<(BidSummary, BidLetter)>, StoreError>;

    /// What the campaign's bids are made with; `None` if the organization has no such campaign.
    async fn bid_means(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
    ) -> Result<Option<BidMeans>, StoreError>;

    /// The newest lead, or else the newest match, of the campaign (`None`: of all campaigns that the organization has).
    async fn newest(
        &self,
        organization: &OrganizationId,
        campaign: Option<&CampaignId>,
    ) -> Result<Newest, StoreError>;

    /// The titles of those of the leads' jobs that are stored and can be read.
    async fn lead_titles(
        &self,
        organization: &OrganizationId,
        leads: &[LeadId],
    ) -> Result<HashMap<LeadId, String>, StoreError>;

    /// The stored job with this id.
    async fn stored_job(&self, id: &JobId) -> Result<Option<StoredJob>, StoreError>;

    /// How many of the campaign's matches are newer than `since`, counted up to `at_most`, and which of the campaign's leads
    /// `shown` are decided on; `None` if the organization has no such campaign. Reads neither jobs nor other leads.
    async fn feed_news(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
        since: Option<Timestamp>,
        shown: &[LeadId],
        at_most: u32,
    ) -> Result<Option<FeedNews>, StoreError>;

    /// For each of the organization's campaigns, by id, how many matches are newer than the person's last look at its
    /// Feed, counted up to `at_most`. A campaign that the person never looked at counts all.
    async fn new_matches(
        &self,
        organization: &OrganizationId,
        person: &EmailKey,
        at_most: u32,
    ) -> Result<Vec<(CampaignId, u64)>, StoreError>;

    /// Notes that the person looked at the campaign's Feed. A look never moves back. False if the organization has no such
    /// campaign.
    async fn looked_at(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
        person: &EmailKey,
        at: Timestamp,
    ) -> Result<bool, StoreError>;
}
