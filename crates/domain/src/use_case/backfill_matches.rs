//! Backfill matches: after a filter change, runs the campaign's filters over all stored jobs, newest first, while
//! the previous matches keep serving; then switches atomically (decision A5).

use std::collections::HashMap;
use std::sync::Arc;

use super::ingest_jobs::compile;
use crate::matching::PreparedJob;
use crate::matching::index::Frequencies;
use crate::model::{CampaignId, JobPost, OrganizationId};
use crate::port::{Clock, MatchStore, StoreError, SwitchMatches};

/// Stored jobs read in one short snapshot.
const READ_AT_ONCE: u32 = 500;

/// What a run did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BackfillReport {
    /// Stored jobs looked at.
    pub jobs: u64,
    /// Campaigns whose new result is served now, with their totals.
    pub switched: Vec<(OrganizationId, CampaignId, u64)>,
    /// Campaigns whose filters changed again meanwhile: they are due still.
    pub superseded: u64,
}

/// Computes matches anew.
#[derive(Debug)]
pub struct BackfillMatches {
    matches: Arc<dyn MatchStore>,
    clock: Arc<dyn Clock>,
}

impl BackfillMatches {
    /// Over its ports.
    pub fn new(matches: Arc<dyn MatchStore>, clock: Arc<dyn Clock>) -> Self {
        Self { matches, clock }
    }

    /// Carries out what is due: one pass over the stored jobs serves all campaigns. `progress` is told the
    /// number of jobs looked at and the highest sequence number, from time to time.
    pub async fn run(
        &self,
        progress: &(dyn Fn(u64, u64) + Send + Sync),
    ) -> Result<BackfillReport, StoreError> {
        let due = self.matches.due_backfills().await?;
        let mut report = BackfillReport::default();
        if due.campaigns.is_empty() {
            return Ok(report);
        }
        let total = u64::try_from(due.watermark).unwrap_or(0);
        let filters: Vec<_> = due
            .campaigns
            .iter()
            .flat_map(|backfill| backfill.filters.clone())
            .collect();
        let set = compile(&filters, Frequencies::new())?;
        let mut matched: Vec<Vec<i64>> = vec![Vec::new(); due.campaigns.len()];
        let places: HashMap<(&OrganizationId, &CampaignId), usize> = due
            .campaigns
            .iter()
            .enumerate()
            .map(|(place, backfill)| ((&backfill.organization_id, &backfill.campaign_id), place))
            .collect();
        let mut before = None;
        while !set.is_empty() {
            let jobs = self
                .matches
                .stored_jobs(due.watermark, before, READ_AT_ONCE)
                .await?;
            let Some(last) = jobs.last() else { break };
            before = Some(last.seq);
            for job in &jobs {
                let post = JobPost::parse(&job.json)
                    .map_err(|fault| StoreError::Corrupt(format!("job {}: {fault}", job.id)))?;
                for (organization, campaign, _) in set.matches(&PreparedJob::new(&post)) {
                    let place = places.get(&(&organization, &campaign));
                    if let Some(found) = place.and_then(|place| matched.get_mut(*place))
                        && found.last() != Some(&job.seq)
                    {
                        found.push(job.seq);
                    }
                }
            }
            report.jobs += jobs.len() as u64;
            progress(report.jobs, total);
        }
        for (backfill, found) in due.campaigns.iter().zip(&matched) {
            match self
                .matches
                .switch(backfill, due.watermark, found, self.clock.now())
                .await?
            {
                SwitchMatches::Switched { total } => {
                    report.switched.push((
                        backfill.organization_id.clone(),
                        backfill.campaign_id.clone(),
                        total,
                    ));
                }
                SwitchMatches::Superseded => report.superseded += 1,
            }
        }
        Ok(report)
    }
}
