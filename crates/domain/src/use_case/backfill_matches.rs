//! Backfill matches: after a filter change, matches all stored jobs with the campaign's filters, newest first, then
//! switches to the new matches atomically. Until then the previous matches are served (decision A5). Tests:
//! `tests/use_case/backfill_matches.rs`.
//!
//! A filter or job that cannot be read is passed over (decision D2): the campaign is switched to the matches of its other
//! filters. Mending the filter backfills the campaign again.
//!
//! [`JobScan`] reads and matches the jobs. A backfill that a crash interrupts is still due, and begins again.

use std::sync::Arc;

use futures::future::try_join_all;

use super::scan_stored_jobs::JobScan;
use crate::model::{CampaignId, OrganizationId};
use crate::port::{Backfill, Clock, MatchStore, Quarantine, StoreError, SwitchMatches, Threads};

/// Campaigns that are switched at the same time. Each switch ends with a transaction that waits for the disk. A store
/// that commits waiting transactions together waits once for several of them.
const SWITCHES_AT_ONCE: usize = 16;
/// The most matches of the campaigns that are switched at the same time. A campaign with more is switched alone, because
/// a store holds the new list in memory.
const MATCHES_AT_ONCE: usize = 5_000;

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BackfillReport {
    /// Stored jobs that were examined.
    pub jobs: u64,
    /// Campaigns whose new matches are served now, with their totals.
    pub switched: Vec<(OrganizationId, CampaignId, u64)>,
    /// Campaigns that were not switched, usually because their filters changed again. They are still due.
    pub superseded: u64,
}

/// Computes the matches of changed filters. Clones share their ports.
#[derive(Debug, Clone)]
pub struct BackfillMatches {
    /// Stored jobs and matches.
    pub matches: Arc<dyn MatchStore>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Compile filters.
    pub threads: Arc<dyn Threads>,
    /// Takes filters and jobs that cannot be read.
    pub quarantine: Quarantine,
}

impl BackfillMatches {
    /// Begins the due backfills; `None` if there are none. One pass over the stored jobs serves all campaigns.
    ///
    /// Compiles the changed filters, which takes seconds if there are many.
    pub async fn begin(&self) -> Result<Option<BackfillRun>, StoreError> {
        let due = self.matches.due_backfills().await?;
        if due.campaigns.is_empty() {
            return Ok(None);
        }
        let filters: Vec<_> = due
            .campaigns
            .iter()
            .map(|backfill| backfill.filters.as_slice())
            .collect();
        let matches = Arc::clone(&self.matches);
        let scan = JobScan::new(
            matches,
            due.watermark,
            &filters,
            self.quarantine.clone(),
            &*self.threads,
        )
        .await?;
        Ok(Some(BackfillRun {
            matches: Arc::clone(&self.matches),
            clock: Arc::clone(&self.clock),
            watermark: due.watermark,
            campaigns: due.campaigns,
            scan,
        }))
    }

    /// Carries out the due backfills, with the scan on the calling thread.
    pub async fn run(&self) -> Result<BackfillReport, StoreError> {
        let Some(run) = self.begin().await? else {
            return Ok(BackfillReport::default());
        };
        run.scan().work().await?;
        run.finish().await
    }
}

/// Running backfills: let threads work on the [`scan`](Self::scan), then call [`finish`](Self::finish).
#[derive(Debug)]
pub struct BackfillRun {
    matches: Arc<dyn MatchStore>,
    clock: Arc<dyn Clock>,
    watermark: i64,
    campaigns: Vec<Backfill>,
    scan: JobScan,
}

impl BackfillRun {
    /// The pass over the stored jobs.
    pub fn scan(&self) -> &JobScan {
        &self.scan
    }

    /// The number of campaigns.
    pub fn campaigns(&self) -> usize {
        self.campaigns.len()
    }

    /// Switches to the new matches. If the scan did not complete, nothing changes and all campaigns stay due.
    pub async fn finish(self) -> Result<BackfillReport, StoreError> {
        let (jobs, _) = self.scan.progress();
        let mut report = BackfillReport {
            jobs,
            ..BackfillReport::default()
        };
        let Some(found) = self.scan.into_found() else {
            return Ok(report);
        };
        let results: Vec<(&Backfill, Vec<i64>)> = self.campaigns.iter().zip(found).collect();
        let mut left = results.as_slice();
        while !left.is_empty() {
            let (some, others) = left.split_at(to_switch_at_once(left));
            left = others;
            let switches = some.iter().map(|(backfill, matched)| {
                self.matches
                    .switch(backfill, self.watermark, matched, self.clock.now())
            });
            for ((backfill, _), switched) in some.iter().zip(try_join_all(switches).await?) {
                match switched {
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
        }
        Ok(report)
    }
}

/// How many of the first results are switched at the same time: at least one.
fn to_switch_at_once(results: &[(&Backfill, Vec<i64>)]) -> usize {
    let mut matches = 0;
    let fitting = results.iter().take(SWITCHES_AT_ONCE).take_while(|(_, matched)| {
        matches += matched.len();
        matches <= MATCHES_AT_ONCE
    });
    fitting.count().max(1)
}
