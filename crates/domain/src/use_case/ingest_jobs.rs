//! Ingest jobs: reads the marketplace's feed from the durable position on, matches each job against every saved
//! filter and records page by page (decisions D2 and D4).

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use crate::matching::{FilterSet, PreparedJob};
use crate::model::{CampaignId, FilterId, JobPost, OrganizationId, SavedFilter};
use crate::port::{
    Clock, FeedEntry, FeedPage, JobStore, Marketplace, MarketplaceError, MatchedJob, MatchedPage, PageCounts,
    RecordPage, Revision, StoreError, StoredFilter, WorkKind, WorkSignal,
};

/// Entries asked for at once; the protocol's maximum.
const PAGE_LIMIT: u32 = 500;

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
    filters: Option<(Revision, FilterSet<FilterKey>)>,
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
        if posts.is_empty() && position.as_deref() == Some(page.cursor.as_str()) {
            return Ok(outcome);
        }
        let prepared: Vec<PreparedJob> = posts.iter().map(|(post, _)| PreparedJob::new(post)).collect();
        let mut revision = self.jobs.revision().await?;
        loop {
            let (revision_used, campaigns) = self.match_all(revision, &prepared).await?;
            let jobs = posts
                .iter()
                .zip(campaigns)
                .map(|((post, json), campaigns)| MatchedJob {
                    id: post.id.clone(),
                    posted_at: post.posted_at,
                    json: json.clone(),
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
            Some((known, set)) if known == revision => (known, set),
            _ => {
                let snapshot = self.jobs.filters().await?;
                (snapshot.revision, compile(&snapshot.filters)?)
            }
        };
        let (revision, set) = self.filters.insert(current);
        let campaigns = prepared
            .iter()
            .map(|job| campaigns_of(set.matches(job)))
            .collect();
        Ok((*revision, campaigns))
    }
}

fn campaigns_of(keys: Vec<FilterKey>) -> Vec<(OrganizationId, CampaignId)> {
    let mut seen = HashSet::new();
    keys.into_iter()
        .map(|(organization, campaign, _)| (organization, campaign))
        .filter(|campaign| seen.insert(campaign.clone()))
        .collect()
}

/// Compiles stored filters into a set. They were checked before they were stored, so a fault is corruption.
pub(super) fn compile(filters: &[StoredFilter]) -> Result<FilterSet<FilterKey>, StoreError> {
    let mut set = FilterSet::new();
    for filter in filters {
        let compiled = SavedFilter::from_value(&filter.body)
            .and_then(|filter| filter.check())
            .map_err(|faults| StoreError::Corrupt(format!("filter {}: {faults:?}", filter.id)))?;
        let key = (
            filter.organization_id.clone(),
            filter.campaign_id.clone(),
            filter.id.clone(),
        );
        set.insert(key, compiled);
    }
    Ok(set)
}
