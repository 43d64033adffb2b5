//! [`StatisticsStore`] in memory: every tally is kept, and added up when it is asked for.

use std::collections::BTreeMap;

use async_trait::async_trait;
use bidloop_domain::model::{JobId, LeadId, StatisticsStep, Tally, Timestamp, VariantArray};
use bidloop_domain::port::{CountedSum, CountsQuery, StatisticsStore, StoreError};

use super::{MemoryStore, State};

#[async_trait]
impl StatisticsStore for MemoryStore {
    async fn sums(&self, query: &CountsQuery) -> Result<Vec<CountedSum>, StoreError> {
        let state = self.state()?;
        let mut sums: BTreeMap<CountedSum, u64> = BTreeMap::new();
        for ((start, step, counted), count) in &state.counted {
            let is_asked_for = *step == query.step
                && *start >= query.from
                && *start < query.until
                && counted.organization_id == query.organization_id
                && query.measures.contains(&counted.measure);
            if is_asked_for {
                let group = CountedSum {
                    at: query.by_time.map(|steps| {
                        let width = query.step.millis() * i64::from(steps.max(1));
                        Timestamp::from_millis(start.as_millis() - start.as_millis() % width)
                    }),
                    campaign_id: counted.campaign_id.clone().filter(|_| query.by_campaign),
                    measure: counted.measure,
                    subject: counted.subject.clone(),
                    bucket: counted.bucket,
                    count: 0,
                };
                *sums.entry(group).or_default() += count;
            }
        }
        let sums = sums.into_iter();
        Ok(sums.map(|(group, count)| CountedSum { count, ..group }).collect())
    }

    /// Tallies are added up at once.
    async fn gather(&self) -> Result<bool, StoreError> {
        Ok(false)
    }

    async fn add_up(&self) -> Result<bool, StoreError> {
        Ok(false)
    }
}

impl State {
    pub(super) fn count(&mut self, at: Timestamp, tally: &Tally) {
        for (counted, count) in tally.counts() {
            for step in StatisticsStep::VARIANTS {
                let key = (step.start(at), *step, counted.clone());
                *self.counted.entry(key).or_default() += count;
            }
        }
    }

    pub(super) fn prune_statistics(&mut self, before: Timestamp, limit: usize) -> usize {
        let old = self.counted.keys().filter(|(start, ..)| *start <= before);
        let old: Vec<_> = old.take(limit).cloned().collect();
        for key in &old {
            self.counted.remove(key);
        }
        old.len()
    }

    /// When the lead's job was posted.
    pub(super) fn posted_at(&self, lead: &LeadId) -> Option<Timestamp> {
        let job: &JobId = &self.leads.get(lead)?.lead.job_id;
        Some(self.jobs.get(job)?.posted_at)
    }
}
