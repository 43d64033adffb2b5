//! Stored jobs and the matches of changed filters: what backfilling needs.

use async_trait::async_trait;

use super::{StoreError, StoredFilter};
use crate::matching::JobSignature;
use crate::model::{CampaignId, JobId, OrganizationId, Timestamp};

/// A number that grows with every change of a campaign's filters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CampaignRevision(pub i64);

/// A campaign whose filters changed, so that its matches must be computed again.
#[derive(Debug, Clone, PartialEq)]
pub struct Backfill {
    /// The campaign's organization.
    pub organization_id: OrganizationId,
    /// The campaign.
    pub campaign_id: CampaignId,
    /// Nothing is switched if it has moved since.
    pub campaign_revision: CampaignRevision,
    /// The campaign's filters at that revision.
    pub filters: Vec<StoredFilter>,
}

/// The backfills that are due and the point up to which stored jobs concern them.
#[derive(Debug, Clone, PartialEq)]
pub struct DueBackfills {
    /// The highest sequence number of a stored job. Jobs that are stored later are matched when they are ingested.
    pub watermark: i64,
    /// The campaigns.
    pub campaigns: Vec<Backfill>,
}

/// A stored job in the order of storing.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredJob {
    /// Dense and ascending in the order of storing. A changed job gets a new one. It is a plain number, since scans
    /// compute with it: a range of numbers covers a range of jobs.
    pub seq: i64,
    /// The job's id.
    pub id: JobId,
    /// The JSON as served.
    pub json: String,
}

/// The signature of a stored job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSignature {
    /// The job's sequence number.
    pub seq: i64,
    /// What its content has.
    pub signature: JobSignature,
}

/// The outcome of [`MatchStore::switch`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SwitchMatches {
    /// The new result is served from now on.
    Switched {
        /// Matches of the campaign after the switch.
        total: u64,
    },
    /// Nothing changed: the campaign was removed, its filters changed again, or another process already switched to the
    /// matches of these filters.
    Superseded,
}

/// The matches of changed filters.
#[async_trait]
pub trait MatchStore: Send + Sync + std::fmt::Debug {
    /// Campaigns whose stored matches are older than their filters, with a watermark taken in the same snapshot.
    async fn due_backfills(&self) -> Result<DueBackfills, StoreError>;

    /// Up to `limit` stored jobs with a sequence number below `before` (all, if `None`) and not above
    /// `watermark`, newest first.
    async fn stored_jobs(
        &self,
        watermark: i64,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<StoredJob>, StoreError>;

    /// The signatures of the jobs with the sequence numbers from `first` to `last`, in ascending order. Jobs without
    /// one of this version, which were stored by an older one, are left out.
    async fn signatures(&self, first: i64, last: i64) -> Result<Vec<StoredSignature>, StoreError>;

    /// The sequence numbers from `first` to `last` that stored jobs have, in ascending order. The others are gone, because
    /// the jobs changed.
    async fn job_seqs(&self, first: i64, last: i64) -> Result<Vec<i64>, StoreError>;

    /// Stores the signatures of jobs that have none of this version. One whose job is gone by now does no harm.
    async fn store_signatures(&self, signatures: &[StoredSignature]) -> Result<(), StoreError>;

    /// The stored jobs with these sequence numbers, in any order. Numbers that are gone, because the job changed, are
    /// passed over.
    async fn jobs_at(&self, seqs: &[i64]) -> Result<Vec<StoredJob>, StoreError>;

    /// Replaces the campaign's matches in one atomic step (decision A5): `matched` are the sequence numbers of
    /// the jobs up to `watermark` that match; what ingesting stored after the watermark is kept. A sequence
    /// number that is gone (the job changed meanwhile) is passed over. Matches that remain keep their
    /// `createdAt`; a job that becomes a match takes its lead's `createdAt`, or `at` if it has no lead. The
    /// order is by `createdAt`, then posting time, then the order of storing.
    async fn switch(
        &self,
        backfill: &Backfill,
        watermark: i64,
        matched: &[i64],
        at: Timestamp,
    ) -> Result<SwitchMatches, StoreError>;

    /// Whether the campaign's stored matches are older than its filters.
    async fn is_backfill_due(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
    ) -> Result<bool, StoreError>;

    /// How many campaigns wait for a backfill.
    async fn due_count(&self) -> Result<u64, StoreError>;
}
