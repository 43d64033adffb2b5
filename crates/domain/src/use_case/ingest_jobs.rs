//! Ingest jobs: reads the marketplace's feed from the durable position on, matches each job against every saved
//! filter and records page by page (decisions D2 and D4). Tests: `tests/use_case/ingest_jobs.rs`.

use std::sync::Arc;
use std::time::Duration;

use super::current_filters::CurrentFilters;
use super::deliver_webhooks::DeliverWebhooks;
use crate::matching::{JobSignature, PreparedJob};
use crate::model::Timestamp;
use crate::port::{
    ClaimedDelivery, Clock, FeedCursor, FeedEntry, FeedPage, JobStore, Marketplace, MarketplaceError,
    MatchedJob, MatchedPage, PageCounts, RecordPage, Revision, StoreError, Threads, WorkKind, WorkSignal,
};

/// How often it is noted that a feed without news is read: each time is a write.
const BETWEEN_NOTES: Duration = Duration::from_secs(15);

/// The largest page of the feed that the protocol allows.
const MAX_PAGE: u32 = 500;

/// The result of one page.
#[derive(Debug, Clone, Default)]
pub struct IngestedPage {
    /// What was stored.
    pub counts: PageCounts,
    /// Deliveries that must now be [sent](DeliverWebhooks::send) by the [sender](IngestJobs::sender).
    pub claimed: Vec<ClaimedDelivery>,
    /// Skipped entries that violate the protocol: their ids, if known, and their faults.
    pub malformed: Vec<(Option<String>, String)>,
    /// The marketplace refused the stored position, so reading restarted at the oldest job that it keeps.
    pub position_refused: bool,
    /// There is more to read right now.
    pub has_more: bool,
    /// The feed lag: the age of the page's newest post while the feed has more. `None` at the feed's end, and for a page
    /// without a post.
    pub behind: Option<Duration>,
}

/// Why no page was recorded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IngestError {
    /// The marketplace did not serve a page.
    #[error(transparent)]
    Marketplace(#[from] MarketplaceError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Reads the feed. One instance keeps the filters' index between pages.
///
/// Loading and using the index keeps a processor busy, for seconds if a million filters are loaded. On a runtime that
/// serves other tasks, run an instance on a thread of its own.
#[derive(Debug)]
pub struct IngestJobs {
    /// Serves the feed.
    pub marketplace: Arc<dyn Marketplace>,
    /// Jobs, filters and the feed's position.
    pub jobs: Arc<dyn JobStore>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Wakes the workers when a page queues work for them.
    pub signal: Arc<dyn WorkSignal>,
    /// Sends what a page queues, if this process sends webhooks.
    pub sender: Option<Arc<DeliverWebhooks>>,
    /// `watch.act_within_minutes`; `None` for any age.
    pub act_within: Option<Duration>,
    /// Compile filters.
    pub threads: Arc<dyn Threads>,
    /// The filters' index; empty at first.
    pub filters: CurrentFilters,
    /// When it was last noted that the feed has nothing new; `None` at first.
    pub noted: Option<Timestamp>,
}

impl IngestJobs {
    /// Whether the filters are loaded. If not, the next page waits until they are.
    pub fn has_filters(&self) -> bool {
        self.filters.are_loaded()
    }

    /// Applies changed filters without reading, so that reading can begin at once.
    pub async fn stand_by(&mut self) -> Result<(), StoreError> {
        self.catch_up(&[]).await.map(drop)
    }

    /// Reads, matches and records the next page. Loads changed filters even if the page is empty, so that the next job
    /// does not wait for that.
    pub async fn next_page(&mut self) -> Result<IngestedPage, IngestError> {
        let position = self.jobs.feed_position().await?;
        let (page, position_refused) = self.read(position.as_ref()).await?;
        let mut outcome = IngestedPage {
            position_refused,
            has_more: page.has_more,
            ..IngestedPage::default()
        };
        let mut prepared = Vec::with_capacity(page.entries.len());
        let mut jobs = Vec::with_capacity(page.entries.len());
        for entry in page.entries {
            match entry {
                FeedEntry::Job { post, json } => {
                    let job = PreparedJob::new(&post.facts());
                    jobs.push(MatchedJob {
                        id: post.id,
                        posted_at: post.posted_at,
                        json,
                        signature: JobSignature::of(&job),
                        campaigns: Vec::new(),
                    });
                    prepared.push(job);
                }
                FeedEntry::Malformed { id, fault } => outcome.malformed.push((id, fault)),
            }
        }
        if page.has_more {
            let newest = jobs.iter().map(|job| job.posted_at).max();
            outcome.behind = newest.map(|posted_at| self.clock.now().since(posted_at));
        }
        let (revision, _) = self.catch_up(&prepared).await?;
        if jobs.is_empty() && position.as_ref() == Some(&page.cursor) {
            self.note_read().await?;
            return Ok(outcome);
        }
        let mut matched = MatchedPage {
            read_from: position,
            cursor: Some(page.cursor),
            revision,
            at: self.clock.now(),
            act_within: self.act_within,
            jobs,
        };
        let Some((counts, claimed)) = self.record(&mut matched, &prepared).await? else {
            outcome.has_more = true;
            return Ok(outcome);
        };
        outcome.counts = counts;
        outcome.claimed = claimed;
        self.filters.observe(&prepared);
        if outcome.counts.deliveries > outcome.claimed.len() as u64 {
            self.signal.wake(WorkKind::Deliveries);
        }
        if outcome.counts.automatic_bids > 0 {
            self.signal.wake(WorkKind::AutomaticBids);
        }
        Ok(outcome)
    }

    /// Notes now and then that the feed was read, for those who look whether it is.
    async fn note_read(&mut self) -> Result<(), StoreError> {
        let now = self.clock.now();
        if self.noted.is_none_or(|noted| now.since(noted) >= BETWEEN_NOTES) {
            self.jobs.note_feed_read(now).await?;
            self.noted = Some(now);
        }
        Ok(())
    }

    /// Matches the page's jobs and records them; repeats that if something was provisioned meanwhile. `None` if another
    /// process moved the position.
    async fn record(
        &mut self,
        page: &mut MatchedPage,
        prepared: &[PreparedJob],
    ) -> Result<Option<(PageCounts, Vec<ClaimedDelivery>)>, StoreError> {
        let mut is_matched = false;
        loop {
            if !is_matched {
                let campaigns = self.filters.match_all(prepared);
                for (job, campaigns) in page.jobs.iter_mut().zip(campaigns) {
                    job.campaigns = campaigns;
                }
            }
            page.at = self.clock.now();
            let sender = self.sender.as_ref().map(|sender| sender.send_at_once());
            let (taken, by) = sender.unzip();
            let (recorded, claimed) = self.jobs.record_and_claim(page, by.as_ref()).await?;
            match recorded {
                RecordPage::Recorded(counts) => {
                    if let Some(taken) = taken {
                        taken.keep(&claimed);
                    }
                    return Ok(Some((counts, claimed)));
                }
                RecordPage::PositionMoved => return Ok(None),
                RecordPage::RevisionMoved => {
                    let (revision, changed) = self.catch_up(prepared).await?;
                    page.revision = revision;
                    // Other changes do not affect the matches.
                    is_matched = !changed;
                }
            }
        }
    }

    async fn catch_up(&mut self, typical: &[PreparedJob]) -> Result<(Revision, bool), StoreError> {
        self.filters
            .catch_up(&*self.jobs, &*self.clock, &*self.threads, typical)
            .await
    }

    /// The page after `position`. If the marketplace refuses the position, the page of the oldest jobs that it keeps.
    async fn read(&self, position: Option<&FeedCursor>) -> Result<(FeedPage, bool), MarketplaceError> {
        let limit = self.jobs.page_size().min(MAX_PAGE);
        match self.marketplace.feed(position, limit).await {
            Err(MarketplaceError::Refused { .. }) if position.is_some() => {
                Ok((self.marketplace.feed(None, limit).await?, true))
            }
            page => Ok((page?, false)),
        }
    }
}
