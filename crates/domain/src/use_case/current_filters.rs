//! The current filters of all campaigns: loaded once, then kept up to date with committed changes.
//!
//! Owns the loading of the index and its updates. The index itself is in [`campaign_filters`](super::campaign_filters).

use std::time::Duration;

use super::campaign_filters::CampaignFilters;
use crate::matching::index::Frequencies;
use crate::matching::{MatchScratch, PreparedJob};
use crate::model::{CampaignId, JobPost, OrganizationId};
use crate::port::{Clock, JobStore, Quarantine, Revision, StoreError, Threads};

/// Filters that are read and indexed in one step of about 100 ms.
const AT_ONCE: u32 = 20_000;
/// Jobs from which the index learns the frequencies of words before filters are added.
const LEARN_FROM: u32 = 500;
/// Interval between progress logs.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);
/// Attempts to load. One fails if more filters change during the loading than the store remembers.
const LOAD_ATTEMPTS: u32 = 3;

/// All campaigns' filters at the newest revision known; nothing is loaded at first.
#[derive(Debug, Default)]
pub struct CurrentFilters {
    /// After a failure the old revision stays, because partly applied changes can be applied again.
    loaded: Option<(Revision, CampaignFilters)>,
    scratch: MatchScratch,
    quarantine: Quarantine,
}

impl CurrentFilters {
    /// No filters yet. Those that cannot be read are set aside in `quarantine`.
    pub fn new(quarantine: Quarantine) -> Self {
        Self {
            quarantine,
            ..Self::default()
        }
    }

    /// Whether the filters are loaded. If not, the next [`catch_up`](Self::catch_up) reads all of them.
    pub(super) fn are_loaded(&self) -> bool {
        self.loaded.is_some()
    }

    /// Applies what was committed since the last call; loads everything the first time, or if the store no longer
    /// knows what changed. Returns the revision of the filters, and whether one of them may have changed. `typical` are
    /// jobs to learn from if the store holds none.
    pub(super) async fn catch_up(
        &mut self,
        jobs: &dyn JobStore,
        clock: &dyn Clock,
        threads: &dyn Threads,
        typical: &[PreparedJob],
    ) -> Result<(Revision, bool), StoreError> {
        let Some((known, filters)) = &mut self.loaded else {
            let frequencies = learn(jobs, typical).await?;
            return Ok((self.load(jobs, clock, threads, frequencies).await?, true));
        };
        if jobs.revision().await? == *known {
            return Ok((*known, false));
        }
        let changes = jobs.filters_since(*known).await?;
        if let Some((revision, any)) = filters.apply(changes, threads)? {
            *known = revision;
            return Ok((revision, any));
        }
        tracing::info!("more filters changed than the store remembers: reading all filters again");
        let outdated = self.loaded.take();
        let frequencies = outdated.map(|(_, filters)| filters.into_frequencies());
        let frequencies = frequencies.unwrap_or_default();
        Ok((self.load(jobs, clock, threads, frequencies).await?, true))
    }

    /// The campaigns that each of the jobs matches, each once.
    pub(super) fn match_all(&mut self, jobs: &[PreparedJob]) -> Vec<Vec<(OrganizationId, CampaignId)>> {
        let Some((_, filters)) = &mut self.loaded else {
            return vec![Vec::new(); jobs.len()];
        };
        let mut campaigns = Vec::with_capacity(jobs.len());
        for job in jobs {
            campaigns.push(filters.matched_by(job, &mut self.scratch));
        }
        campaigns
    }

    /// Learns from jobs what is frequent, once a job.
    pub(super) fn observe(&mut self, jobs: &[PreparedJob]) {
        if let Some((_, filters)) = &mut self.loaded {
            for job in jobs {
                filters.observe(job, &mut self.scratch);
            }
        }
    }

    async fn load(
        &mut self,
        jobs: &dyn JobStore,
        clock: &dyn Clock,
        threads: &dyn Threads,
        mut frequencies: Frequencies,
    ) -> Result<Revision, StoreError> {
        for _ in 0..LOAD_ATTEMPTS {
            let (since, mut filters) = read_all(jobs, clock, threads, frequencies, &self.quarantine).await?;
            let meanwhile = jobs.filters_since(since).await?;
            if let Some((revision, _)) = filters.apply(meanwhile, threads)? {
                self.loaded = Some((revision, filters));
                return Ok(revision);
            }
            frequencies = filters.into_frequencies();
        }
        Err(StoreError::Unavailable(
            "the filters change faster than they can be read".to_owned(),
        ))
    }
}

/// The frequencies of words in the jobs stored last or, if there are none, in `typical` jobs.
async fn learn(jobs: &dyn JobStore, typical: &[PreparedJob]) -> Result<Frequencies, StoreError> {
    let mut frequencies = Frequencies::new();
    let stored = jobs.latest_jobs(LEARN_FROM).await?;
    for post in stored.iter().filter_map(|json| JobPost::parse(json).ok()) {
        frequencies.observe(&PreparedJob::new(&post.facts()));
    }
    if stored.is_empty() {
        for job in typical {
            frequencies.observe(job);
        }
    }
    Ok(frequencies)
}

/// Reads all filters in pages. Changes that are committed during the reads may be missing. Returns the revision before
/// the first read.
async fn read_all(
    jobs: &dyn JobStore,
    clock: &dyn Clock,
    threads: &dyn Threads,
    frequencies: Frequencies,
    quarantine: &Quarantine,
) -> Result<(Revision, CampaignFilters), StoreError> {
    let revision = jobs.revision().await?;
    let mut filters = CampaignFilters::new(frequencies, quarantine.clone());
    let begun = clock.now();
    let mut reported = begun;
    // The pages are read in one order, so no filter occurs twice.
    let mut last = None;
    loop {
        let read = jobs.filters(last.as_ref(), AT_ONCE).await?;
        filters.add(&read, threads)?;
        let now = clock.now();
        if now.since(reported) >= PROGRESS_INTERVAL {
            reported = now;
            tracing::info!(loaded = filters.len(), "loading the saved filters");
        }
        if read.len() < AT_ONCE as usize {
            break;
        }
        last = read
            .last()
            .map(|filter| (filter.organization_id.clone(), filter.id.clone()));
    }
    let took = clock.now().since(begun);
    tracing::info!(
        filters = filters.len(),
        took_ms = took.as_millis(),
        "the saved filters are loaded"
    );
    Ok((revision, filters))
}

#[cfg(test)]
mod tests;
