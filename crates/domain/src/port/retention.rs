//! Removing what is older than operators want to keep, in small steps.

use std::fmt;

use async_trait::async_trait;

use super::StoreError;
use crate::model::Timestamp;

/// What is removed once it is old. Outstanding work never is: queued bids, pending and sending deliveries, and what
/// they need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Prunable {
    /// Letters, answers and stored proposals of bids that ended. The bids stay.
    Letters,
    /// Deliveries that ended.
    Deliveries,
    /// Activity entries.
    Activity,
    /// Matches in served lists that are no lead of their campaign.
    Matches,
    /// Job posts that no list and no lead holds.
    Jobs,
    /// Sessions that ended, one-time links that work no more, and tries to sign in that are forgotten. Operators have no
    /// say in it.
    SignIns,
    /// Counts of hours and days.
    Statistics,
}

impl Prunable {
    /// All kinds, in an order in which what holds something is removed before what it holds.
    pub const ALL: [Self; 7] = [
        Self::Letters,
        Self::Deliveries,
        Self::Activity,
        Self::Matches,
        Self::Jobs,
        Self::SignIns,
        Self::Statistics,
    ];

    /// The word for it in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Letters => "letters",
            Self::Deliveries => "deliveries",
            Self::Activity => "activity",
            Self::Matches => "matches",
            Self::Jobs => "jobs",
            Self::SignIns => "sign_ins",
            Self::Statistics => "statistics",
        }
    }
}

impl fmt::Display for Prunable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Where a pass over one kind goes on. It is valid for its kind alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PruneCursor {
    /// At the beginning.
    Start,
    /// After the campaign with these ids of organization and campaign, as they are stored.
    AfterCampaign(String, String),
    /// After the job with this sequence number.
    AfterJob(i64),
}

/// What one step did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PruneStep {
    /// Rows that were removed; of [`Prunable::Letters`], bids that lost theirs.
    pub removed: u64,
    /// Where the next step goes on; `None` after the last one.
    pub next: Option<PruneCursor>,
}

/// What is old, and its removal. Any number of processes may prune at once.
#[async_trait]
pub trait RetentionStore: Send + Sync + std::fmt::Debug {
    /// Notes how many jobs are stored at `now`, at most once an hour: this is how [`Prunable::Jobs`] knows their age,
    /// and jobs that were stored before the first note are as old as that. Notes that are not needed to tell what was
    /// stored at `before` or later are removed.
    async fn note_stored_jobs(&self, now: Timestamp, before: Timestamp) -> Result<(), StoreError>;

    /// One atomic step: removes up to `limit` rows of a kind, of those from `from` on that are as old as `before` or
    /// older. The age is counted
    ///
    /// - of letters and deliveries from their end,
    /// - of Activity entries from their moment,
    /// - of matches from their `createdAt`. They leave the old end of their list: the others keep their order, and the
    ///   list's total is exact at each moment. Lists that a backfill is due for stay as they are;
    /// - of jobs from when their content was stored. None is removed while a backfill is due;
    /// - of sessions from when they have been idle for too long, of one-time links and of tries to sign in from their end;
    /// - of counts from the beginning of their step.
    ///
    /// A removed job that comes again is matched and listed as a new one, and no campaign acts on it as long as its
    /// posting time is `before` or earlier, whatever the page says. A later backfill lists none of the jobs that were
    /// stored by `before`, unless the list has them or they are leads of the campaign.
    async fn prune(
        &self,
        kind: Prunable,
        before: Timestamp,
        from: &PruneCursor,
        limit: u32,
    ) -> Result<PruneStep, StoreError>;

    /// How many rows a pass would remove, counted up to `at_most`. Changes nothing.
    async fn count_prunable(
        &self,
        kind: Prunable,
        before: Timestamp,
        at_most: u32,
    ) -> Result<u64, StoreError>;
}
