//! [`RetentionStore`] in memory.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use async_trait::async_trait;
use bidloop_domain::model::{JobId, LeadId, SESSION_IDLE, Timestamp};
use bidloop_domain::port::{Prunable, PruneCursor, PruneStep, RetentionStore, StoreError};

use super::{MemoryStore, State, count, length};

const BETWEEN_NOTES: Duration = Duration::from_secs(60 * 60);

#[async_trait]
impl RetentionStore for MemoryStore {
    async fn note_stored_jobs(&self, now: Timestamp, before: Timestamp) -> Result<(), StoreError> {
        let mut state = self.state()?;
        let latest = state.job_ages.last().map(|(at, _)| *at);
        if latest.is_none_or(|latest| latest <= now.minus(BETWEEN_NOTES)) {
            let last_seq = state.last_seq;
            state.job_ages.push((now, last_seq));
        }
        let needed = state.job_ages.iter().rposition(|(at, _)| *at <= before);
        state.job_ages.drain(..needed.unwrap_or(0));
        Ok(())
    }

    async fn prune(
        &self,
        kind: Prunable,
        before: Timestamp,
        _from: &PruneCursor,
        limit: u32,
    ) -> Result<PruneStep, StoreError> {
        let mut state = self.state()?;
        let removed = state.prune(kind, before, length(limit));
        Ok(PruneStep {
            removed: count(removed),
            next: (removed == length(limit)).then_some(PruneCursor::Start),
        })
    }

    async fn count_prunable(
        &self,
        kind: Prunable,
        before: Timestamp,
        at_most: u32,
    ) -> Result<u64, StoreError> {
        let mut as_if = self.state()?.clone();
        if kind == Prunable::Jobs {
            as_if.prune(Prunable::Matches, before, usize::MAX);
        }
        Ok(count(as_if.prune(kind, before, length(at_most))))
    }
}

impl State {
    fn prune(&mut self, kind: Prunable, before: Timestamp, limit: usize) -> usize {
        match kind {
            Prunable::Letters => self.prune_letters(before, limit),
            Prunable::Deliveries => self.prune_deliveries(before, limit),
            Prunable::Activity => self.prune_activity(before, limit),
            Prunable::Matches => self.prune_matches(before, limit),
            Prunable::Jobs => self.prune_jobs(before, limit),
            Prunable::SignIns => self.prune_sign_ins(before, limit),
            Prunable::Statistics => self.prune_statistics(before, limit),
        }
    }

    fn prune_letters(&mut self, before: Timestamp, limit: usize) -> usize {
        let is_old = |ended_at: Option<Timestamp>| ended_at.is_some_and(|at| at <= before);
        let bids = self.bids.iter_mut();
        let with_letters = bids.filter(|bid| is_old(bid.ended_at) && !bid.is_without_letter);
        let mut emptied = 0;
        for bid in with_letters.take(limit) {
            bid.is_without_letter = true;
            bid.queued.proposal = None;
            emptied += 1;
        }
        emptied
    }

    fn prune_deliveries(&mut self, before: Timestamp, limit: usize) -> usize {
        let mut removed = 0;
        self.deliveries.retain(|delivery| {
            let goes = removed < limit && delivery.ended_at.is_some_and(|at| at <= before);
            removed += usize::from(goes);
            !goes
        });
        let places = self.deliveries.iter().enumerate();
        self.delivery_index = places.map(|(place, delivery)| (delivery.id, place)).collect();
        removed
    }

    fn prune_activity(&mut self, before: Timestamp, limit: usize) -> usize {
        let mut old: Vec<_> = self
            .activities
            .iter()
            .filter(|entry| entry.at <= before)
            .collect();
        old.sort_by_key(|entry| entry.at);
        let old: HashSet<_> = old.into_iter().take(limit).map(|entry| entry.id).collect();
        self.activities.retain(|entry| !old.contains(&entry.id));
        self.activity_ids.retain(|id| !old.contains(id));
        old.len()
    }

    fn prune_matches(&mut self, before: Timestamp, limit: usize) -> usize {
        let leads = &self.leads;
        let mut removed = 0;
        for (organization_id, organization) in &mut self.organizations {
            for (campaign_id, campaign) in &mut organization.campaigns {
                if campaign.backfill_due {
                    continue;
                }
                campaign.matches.retain(|known| {
                    let lead = LeadId::derive(organization_id, campaign_id, &known.job_id);
                    let goes = removed < limit && known.created_at <= before && !leads.contains_key(&lead);
                    removed += usize::from(goes);
                    !goes
                });
            }
        }
        removed
    }

    fn prune_sign_ins(&mut self, before: Timestamp, limit: usize) -> usize {
        let mut removed = 0;
        let mut goes = |is_over: bool| {
            let goes = is_over && removed < limit;
            removed += usize::from(goes);
            goes
        };
        self.sessions
            .retain(|_, session| !goes(session.times.last_used_at.plus(SESSION_IDLE) <= before));
        self.links.retain(|_, (link, _)| !goes(link.expires_at <= before));
        self.tries
            .retain(|_, tries| !goes(tries.are_forgotten_at(before)));
        removed
    }

    fn prune_jobs(&mut self, before: Timestamp, limit: usize) -> usize {
        let campaigns = || {
            let organizations = self.organizations.values();
            organizations.flat_map(|organization| organization.campaigns.values())
        };
        if campaigns().any(|campaign| campaign.backfill_due) {
            return 0;
        }
        let noted = self.job_ages.iter().rfind(|(at, _)| *at <= before);
        let stored_by = noted.map_or(0, |(_, seq)| *seq);
        let leads = self.leads.values().map(|entry| &entry.lead.job_id);
        let matches = campaigns().flat_map(|campaign| &campaign.matches);
        let held: HashSet<&JobId> = leads.chain(matches.map(|known| &known.job_id)).collect();
        let old = self.jobs_by_seq.range(..=stored_by);
        let free: HashMap<i64, JobId> = old
            .filter(|(_, id)| !held.contains(id))
            .take(limit)
            .map(|(seq, id)| (*seq, id.clone()))
            .collect();
        for (seq, id) in &free {
            self.jobs_by_seq.remove(seq);
            self.jobs.remove(id);
        }
        if stored_by > 0 {
            self.pruned_before = self.pruned_before.max(Some(before));
            self.pruned_to = self.pruned_to.max(stored_by);
        }
        free.len()
    }
}
