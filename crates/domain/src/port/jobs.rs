//! Jobs, filters and the feed's position: what ingesting needs. `matches.rs` has what backfilling needs.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::{ClaimedDelivery, Clock, FeedCursor, LeaseOwner, StoreError, UnreadableRow};
use crate::matching::{JobSignature, SavedFilter};
use crate::model::{CampaignId, EndpointId, FilterId, JobId, OrganizationId, Timestamp};

/// A number that grows with every change of filters, campaigns or organizations. A result that was computed with an
/// older revision is not recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Revision(pub i64);

/// A saved filter as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredFilter {
    /// The campaign's organization.
    pub organization_id: OrganizationId,
    /// The filter's campaign.
    pub campaign_id: CampaignId,
    /// Unique within the organization.
    pub id: FilterId,
    /// The filter's JSON text (contract section 4), without `id` and `name`, as it was stored after its check:
    /// what [`SavedFilter::parse`](SavedFilter::parse) takes.
    pub body: String,
}

impl StoredFilter {
    /// The filter, ready for matching.
    ///
    /// # Errors
    /// What is wrong with the filter, although it was checked before it was stored.
    pub fn compile(&self) -> Result<SavedFilter, UnreadableRow> {
        SavedFilter::parse(&self.body).map_err(|faults| {
            let why = format_args!("body is no filter: {faults:?}");
            UnreadableRow::of_organization("filters", &self.organization_id, &self.id, why)
        })
    }
}

/// The changes of filters since a revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FilterChanges {
    /// All changes. A filter that changed several times is in its newest form.
    Known {
        /// The revision that the changes lead to.
        revision: Revision,
        /// The filters that were added, changed or moved to another campaign. Some may be unchanged.
        put: Vec<StoredFilter>,
        /// The filters that were removed. Some may have been added after the revision.
        removed: Vec<(OrganizationId, FilterId)>,
    },
    /// The store no longer knows all changes: read all filters again.
    Forgotten,
}

/// A job of the feed with the campaigns it matches.
#[derive(Debug, Clone, PartialEq)]
pub struct MatchedJob {
    /// The job's id.
    pub id: JobId,
    /// When it was posted.
    pub posted_at: Timestamp,
    /// The JSON as served.
    pub json: String,
    /// The job's signature, stored for backfills.
    pub signature: JobSignature,
    /// The campaigns with at least one filter that it matches.
    pub campaigns: Vec<(OrganizationId, CampaignId)>,
}

/// A page of the feed, matched and ready to be recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct MatchedPage {
    /// The position the page was read from.
    pub read_from: Option<FeedCursor>,
    /// The position after it.
    pub cursor: Option<FeedCursor>,
    /// The revision of the filters it was matched with.
    pub revision: Revision,
    /// When it was matched.
    pub at: Timestamp,
    /// Age of a post up to which active campaigns act on it; `None`: any (decision D2).
    pub act_within: Option<Duration>,
    /// In the feed's order. An id may occur twice: the later one counts.
    pub jobs: Vec<MatchedJob>,
}

/// The outcome of [`JobStore::record_page`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordPage {
    /// All of it is stored.
    Recorded(PageCounts),
    /// Filters, campaigns or organizations changed since the page was matched: match it again. Nothing changed.
    RevisionMoved,
    /// Another process moved the position: read from there. Nothing changed.
    PositionMoved,
}

/// What a recorded page brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PageCounts {
    /// Jobs never seen before.
    pub new_jobs: u64,
    /// Known jobs whose content changed.
    pub changed_jobs: u64,
    /// New matches.
    pub matches: u64,
    /// Deliveries of `job.new` queued.
    pub deliveries: u64,
    /// Intents to bid by template queued.
    pub automatic_bids: u64,
}

/// The process that records a page and sends the deliveries that it queues.
#[derive(Debug, Clone)]
pub struct SendAtOnce {
    /// Its name.
    pub owner: LeaseOwner,
    /// The time. The store asks for it when it stores the deliveries.
    pub clock: Arc<dyn Clock>,
    /// How long the marks last from then on.
    pub lasts: Duration,
    /// Where deliveries are sent.
    pub places: Arc<dyn SendingPlaces>,
}

/// The places in which a process sends deliveries at the same time.
pub trait SendingPlaces: Debug + Send + Sync {
    /// Takes a place for a delivery to the endpoint. Returns false if there is none for it, or if other deliveries to the
    /// endpoint may wait for one.
    fn take(&self, organization: &OrganizationId, endpoint: &EndpointId) -> bool;
}

/// The feed's side of the store.
#[async_trait]
pub trait JobStore: Send + Sync + Debug {
    /// The durable position in the feed; `None` before the first page, and if it cannot be read.
    async fn feed_position(&self) -> Result<Option<FeedCursor>, StoreError>;

    /// The current revision: one small read.
    async fn revision(&self) -> Result<Revision, StoreError>;

    /// Up to `limit` filters after `after`, in the order of organization and id, of all campaigns in any state (decision
    /// D2). `None` starts at the first filter. A page of fewer than `limit` is the last one.
    ///
    /// A filter that cannot be read is passed over, here and among the [changes](Self::filters_since), where it counts as
    /// removed.
    ///
    /// Each call sees what is stored at that moment. To read all filters, ask for the [`revision`](Self::revision) before
    /// the first call and for the changes [since](Self::filters_since) it after the last. So a million filters are read
    /// without a snapshot that lasts for seconds.
    async fn filters(
        &self,
        after: Option<&(OrganizationId, FilterId)>,
        limit: u32,
    ) -> Result<Vec<StoredFilter>, StoreError>;

    /// How the filters changed since `revision`, by any process, in one snapshot with the revision that the changes lead
    /// to. The store remembers the latest tens of thousands of changes.
    async fn filters_since(&self, revision: Revision) -> Result<FilterChanges, StoreError>;

    /// The JSON of up to `limit` of the jobs whose content was stored last, newest first.
    async fn latest_jobs(&self, limit: u32) -> Result<Vec<String>, StoreError>;

    /// Notes that the feed was read at `at` and had nothing new. Recording a page notes it, too. Never moves back.
    async fn note_feed_read(&self, at: Timestamp) -> Result<(), StoreError>;

    /// The best number of jobs in a page: recording a larger page would block other commands for long.
    fn page_size(&self) -> u32;

    /// Records a page in one transaction, or nothing of it: jobs, matches with their sequence numbers, leads and
    /// queued work of campaigns that act, and the new position.
    ///
    /// - A new job becomes a match of each campaign at `page.at`, or a millisecond after the campaign's last
    ///   match if that is later, so that `createdAt` never falls; within the page the order is by posting time,
    ///   then the feed's.
    /// - What a campaign does is [`action_on_match`](crate::model::action_on_match) on its state in this very
    ///   transaction: `PushJobNew` materializes the lead and queues one delivery a
    ///   [receiver](crate::model::receivers), `BidByTemplate` materializes the lead and queues an intent.
    /// - A known job with the same JSON changes nothing. One with other JSON replaces the stored post; campaigns
    ///   that it matches no longer lose the match, campaigns that it newly matches gain it with the lead's
    ///   `createdAt` if there is a lead, else `page.at`, and the list stays ordered; nothing is sent or bid
    ///   (decision D4).
    async fn record_page(&self, page: &MatchedPage) -> Result<RecordPage, StoreError> {
        let (recorded, _) = self.record_and_claim(page, None).await?;
        Ok(recorded)
    }

    /// The same as [`record_page`](Self::record_page). The new deliveries for which `by` has places are stored as already
    /// marked as sending, and returned in the order in which they would wait: each must be sent at once. So they need no
    /// [claim](super::DeliveryStore::claim).
    ///
    /// A delivery that cannot be read as a whole is stored as pending.
    async fn record_and_claim(
        &self,
        page: &MatchedPage,
        by: Option<&SendAtOnce>,
    ) -> Result<(RecordPage, Vec<ClaimedDelivery>), StoreError>;
}
