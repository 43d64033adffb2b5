//! Ingest jobs: reads the marketplace's feed from the durable position on, matches each job against every saved
//! filter and records page by page (decisions D2 and D4).

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::matching::index::{Frequencies, IndexFull, LoadError};
use crate::matching::{FilterIndex, JobSignature, MatchScratch, PreparedJob};
use crate::model::{CampaignId, FilterId, JobPost, OrganizationId, SavedFilter};
use crate::port::{
    Clock, FeedEntry, FeedPage, JobStore, Marketplace, MarketplaceError, MatchedJob, MatchedPage, PageCounts,
    RecordPage, Revision, StoreError, StoredFilter, WorkKind, WorkSignal,
};

/// Entries asked for at once; the protocol's maximum.
const PAGE_LIMIT: u32 = 500;
/// Filters whose indexing takes about a second.
const PROGRESS_EVERY: usize = 100_000;

/// A filter of a campaign of an organization.
pub type FilterKey = (OrganizationId, CampaignId, FilterId);

/// What one page brought.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IngestedPage {
    /// What was stored.
    pub counts: PageCounts,
    /// Entries that depart from the protocol, passed over: their ids, where known, and their faults.
    pub malformed: Vec<(Option<String>, String)>,
    /// The marketplace refused the stored position: reading started again at the oldest job kept.
    pub position_refused: bool,
    /// There is more to read right now.
    pub has_more: bool,
    /// How old the newest post of the page is, while there is more: how far behind the feed the reading is.
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

/// Reads the feed. One instance keeps the compiled filters between pages.
#[derive(Debug)]
pub struct IngestJobs {
    marketplace: Arc<dyn Marketplace>,
    jobs: Arc<dyn JobStore>,
    clock: Arc<dyn Clock>,
    signal: Arc<dyn WorkSignal>,
    act_within: Option<Duration>,
    filters: Option<(Revision, FilterIndex<FilterKey>)>,
    scratch: MatchScratch,
}

impl IngestJobs {
    /// Over its ports; `act_within` is `watch.act_within_minutes`, `None` for any age.
    pub fn new(
        marketplace: Arc<dyn Marketplace>,
        jobs: Arc<dyn JobStore>,
        clock: Arc<dyn Clock>,
        signal: Arc<dyn WorkSignal>,
        act_within: Option<Duration>,
    ) -> Self {
        Self {
            marketplace,
            jobs,
            clock,
            signal,
            act_within,
            filters: None,
            scratch: MatchScratch::default(),
        }
    }

    /// Reads, matches and records the next page.
    pub async fn next_page(&mut self) -> Result<IngestedPage, IngestError> {
        let position = self.jobs.feed_position().await?;
        let (page, position_refused) = self.read(position.as_deref()).await?;
        let mut outcome = IngestedPage {
            position_refused,
            has_more: page.has_more,
            ..IngestedPage::default()
        };
        let mut posts: Vec<(Box<JobPost>, String)> = Vec::with_capacity(page.entries.len());
        for entry in page.entries {
            match entry {
                FeedEntry::Job { post, json } => posts.push((post, json)),
                FeedEntry::Malformed { id, fault } => outcome.malformed.push((id, fault)),
            }
        }
        if page.has_more {
            let newest = posts.iter().map(|(post, _)| post.posted_at).max();
            outcome.behind = newest.map(|posted_at| self.clock.now().since(posted_at));
        }
        if posts.is_empty() && position.as_deref() == Some(page.cursor.as_str()) {
            return Ok(outcome);
        }
        let prepared: Vec<PreparedJob> = posts.iter().map(|(post, _)| PreparedJob::new(post)).collect();
        let mut revision = self.jobs.revision().await?;
        loop {
            let (revision_used, campaigns) = self.match_all(revision, &prepared).await?;
            let jobs =
                posts
                    .iter()
                    .zip(&prepared)
                    .zip(campaigns)
                    .map(|(((post, json), prepared), campaigns)| MatchedJob {
                        id: post.id.clone(),
                        posted_at: post.posted_at,
                        json: json.clone(),
                        signature: JobSignature::of(prepared),
                        campaigns,
                    });
            let matched = MatchedPage {
                read_from: position.clone(),
                cursor: Some(page.cursor.clone()),
                revision: revision_used,
                at: self.clock.now(),
                act_within: self.act_within,
                jobs: jobs.collect(),
            };
            match self.jobs.record_page(&matched).await? {
                RecordPage::Recorded(counts) => {
                    outcome.counts = counts;
                    break;
                }
                RecordPage::RevisionMoved => revision = self.jobs.revision().await?,
                RecordPage::PositionMoved => {
                    outcome.has_more = true;
                    break;
                }
            }
        }
        if outcome.counts.deliveries > 0 {
            self.signal.wake(WorkKind::Deliveries);
        }
        if outcome.counts.automatic_bids > 0 {
            self.signal.wake(WorkKind::AutomaticBids);
        }
        Ok(outcome)
    }

    /// The page after `position`; from the oldest kept, if the marketplace refuses the position for good.
    async fn read(&self, position: Option<&str>) -> Result<(FeedPage, bool), MarketplaceError> {
        match self.marketplace.feed(position, PAGE_LIMIT).await {
            Err(MarketplaceError::Refused { .. }) if position.is_some() => {
                Ok((self.marketplace.feed(None, PAGE_LIMIT).await?, true))
            }
            page => Ok((page?, false)),
        }
    }

    async fn match_all(
        &mut self,
        revision: Revision,
        prepared: &[PreparedJob],
    ) -> Result<(Revision, Vec<Vec<(OrganizationId, CampaignId)>>), StoreError> {
        let current = match self.filters.take() {
            Some((known, index)) if known == revision => (known, index),
            outdated => {
                let frequencies = outdated.map(|(_, index)| index.into_frequencies());
                let snapshot = self.jobs.filters().await?;
                let index = compile(&snapshot.filters, frequencies.unwrap_or_default())?;
                (snapshot.revision, index)
            }
        };
        let (revision, index) = self.filters.insert(current);
        let mut campaigns = Vec::with_capacity(prepared.len());
        for job in prepared {
            index.observe(job, &mut self.scratch);
            campaigns.push(campaigns_of(index, job, &mut self.scratch));
        }
        Ok((*revision, campaigns))
    }
}

/// The campaigns of the filters that match the job, each once.
fn campaigns_of(
    index: &FilterIndex<FilterKey>,
    job: &PreparedJob,
    scratch: &mut MatchScratch,
) -> Vec<(OrganizationId, CampaignId)> {
    let mut campaigns = BTreeSet::new();
    index.for_each_match(job, scratch, |(organization, campaign, _)| {
        campaigns.insert((organization.clone(), campaign.clone()));
    });
    campaigns.into_iter().collect()
}

/// Builds the index of stored filters, given what is known of jobs. The filters were checked before they were stored,
/// so a fault is corruption.
pub(super) fn compile(
    filters: &[StoredFilter],
    frequencies: Frequencies,
) -> Result<FilterIndex<FilterKey>, StoreError> {
    let compiled = |filter: &StoredFilter| {
        let compiled = SavedFilter::compile_stored(&filter.body)
            .map_err(|faults| StoreError::Corrupt(format!("filter {}: {faults:?}", filter.id)))?;
        let key = (
            filter.organization_id.clone(),
            filter.campaign_id.clone(),
            filter.id.clone(),
        );
        Ok((key, compiled))
    };
    let mut index = FilterIndex::with_frequencies(frequencies);
    let mut told = 0;
    let progress = |loaded: usize| {
        if loaded >= told + PROGRESS_EVERY {
            told = loaded;
            tracing::info!(loaded, of = filters.len(), "indexing the saved filters");
        }
    };
    index
        .load(filters, compiled, progress)
        .map_err(|error| match error {
            LoadError::Faulty(fault) => fault,
            LoadError::Full(IndexFull) => StoreError::Backend(IndexFull.to_string()),
        })?;
    Ok(index)
}
