//! [`MatchStore`] in memory: backfills and their switch.

use std::collections::{HashMap, HashSet};

use async_trait::async_trait;
use bidloop_domain::model::{CampaignId, JobId, LeadId, OrganizationId, Timestamp};
use bidloop_domain::port::{
    Backfill, DueBackfills, MatchStore, StoreError, StoredJob, StoredSignature, SwitchMatches,
};

use super::jobs::stored_filters;
use super::{Match, MemoryStore, count, length};

#[async_trait]
impl MatchStore for MemoryStore {
    async fn due_backfills(&self) -> Result<DueBackfills, StoreError> {
        let state = self.state()?;
        let campaigns = state
            .organizations
            .iter()
            .flat_map(|(organization_id, organization)| {
                organization
                    .campaigns
                    .values()
                    .filter(|campaign| campaign.backfill_due)
                    .map(|campaign| Backfill {
                        organization_id: organization_id.clone(),
                        campaign_id: campaign.record.id.clone(),
                        campaign_revision: campaign.filters_revision,
                        filters: stored_filters(organization_id, campaign),
                    })
            })
            .collect();
        Ok(DueBackfills {
            watermark: state.last_seq,
            campaigns,
        })
    }

    async fn stored_jobs(
        &self,
        watermark: i64,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<StoredJob>, StoreError> {
        let state = self.state()?;
        let newest = before.map_or(watermark, |before| watermark.min(before.saturating_sub(1)));
        state
            .jobs_by_seq
            .range(..=newest)
            .rev()
            .take(length(limit))
            .map(|(seq, id)| {
                Ok(StoredJob {
                    seq: *seq,
                    id: id.clone(),
                    json: state.job_json(id)?,
                })
            })
            .collect()
    }

    async fn signatures(&self, first: i64, last: i64) -> Result<Vec<StoredSignature>, StoreError> {
        let state = self.state()?;
        if first > last {
            return Ok(Vec::new());
        }
        let jobs = state.jobs_by_seq.range(first..=last);
        Ok(jobs
            .filter_map(|(seq, id)| {
                let signature = state.jobs.get(id)?.signature.clone();
                Some(StoredSignature { seq: *seq, signature })
            })
            .collect())
    }

    async fn job_seqs(&self, first: i64, last: i64) -> Result<Vec<i64>, StoreError> {
        let state = self.state()?;
        if first > last {
            return Ok(Vec::new());
        }
        Ok(state
            .jobs_by_seq
            .range(first..=last)
            .map(|(seq, _)| *seq)
            .collect())
    }

    async fn store_signatures(&self, signatures: &[StoredSignature]) -> Result<(), StoreError> {
        let mut guard = self.state()?;
        let state = &mut *guard;
        for stored in signatures {
            let id = state.jobs_by_seq.get(&stored.seq);
            if let Some(job) = id.and_then(|id| state.jobs.get_mut(id)) {
                job.signature = stored.signature.clone();
            }
        }
        Ok(())
    }

    async fn jobs_at(&self, seqs: &[i64]) -> Result<Vec<StoredJob>, StoreError> {
        let state = self.state()?;
        let known = seqs
            .iter()
            .filter_map(|seq| state.jobs_by_seq.get(seq).map(|id| (*seq, id)));
        known
            .map(|(seq, id)| {
                Ok(StoredJob {
                    seq,
                    id: id.clone(),
                    json: state.job_json(id)?,
                })
            })
            .collect()
    }

    async fn switch(
        &self,
        backfill: &Backfill,
        watermark: i64,
        matched: &[i64],
        at: Timestamp,
    ) -> Result<SwitchMatches, StoreError> {
        let mut guard = self.state()?;
        let state = &mut *guard;
        let Some(campaign) = state
            .organizations
            .get_mut(&backfill.organization_id)
            .and_then(|organization| organization.campaigns.get_mut(&backfill.campaign_id))
            .filter(|campaign| {
                campaign.backfill_due && campaign.filters_revision == backfill.campaign_revision
            })
        else {
            return Ok(SwitchMatches::Superseded);
        };
        let listed: HashMap<JobId, (usize, Timestamp)> = campaign
            .matches
            .iter()
            .enumerate()
            .map(|(place, known)| (known.job_id.clone(), (place, known.created_at)))
            .collect();
        let found: HashSet<i64> = matched.iter().copied().filter(|seq| *seq <= watermark).collect();
        let ingested = campaign
            .matches
            .iter()
            .map(|known| known.seq)
            .filter(|seq| *seq > watermark);
        let list: Vec<Match> = found
            .iter()
            .copied()
            .chain(ingested)
            .filter_map(|seq| {
                let job_id = state.jobs_by_seq.get(&seq)?;
                let lead = LeadId::derive(&backfill.organization_id, &backfill.campaign_id, job_id);
                let created_at = listed
                    .get(job_id)
                    .map(|(_, since)| *since)
                    .or_else(|| state.leads.get(&lead).map(|entry| entry.lead.created_at))
                    .or_else(|| (seq > state.pruned_to).then_some(at))?;
                let posted_at = state.jobs.get(job_id)?.posted_at;
                Some(Match {
                    created_at,
                    posted_at,
                    seq,
                    job_id: job_id.clone(),
                })
            })
            .collect();
        // What remains keeps its order; the others go to their places among it.
        let (mut kept, mut gained): (Vec<Match>, Vec<Match>) =
            list.into_iter().partition(|new| listed.contains_key(&new.job_id));
        kept.sort_by_key(|known| listed.get(&known.job_id));
        gained.sort_by_key(Match::place);
        let total = count(kept.len() + gained.len());
        campaign.matches = kept;
        for new in gained {
            campaign.insert_match(new);
        }
        campaign.backfill_due = false;
        Ok(SwitchMatches::Switched { total })
    }

    async fn is_backfill_due(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
    ) -> Result<bool, StoreError> {
        let state = self.state()?;
        let campaign = state.campaign(organization, campaign);
        Ok(campaign.is_some_and(|campaign| campaign.backfill_due))
    }

    async fn due_count(&self) -> Result<u64, StoreError> {
        let state = self.state()?;
        let campaigns = state
            .organizations
            .values()
            .flat_map(|organization| organization.campaigns.values());
        Ok(count(campaigns.filter(|campaign| campaign.backfill_due).count()))
    }
}
