//! [`JobStore`] in memory: recording pages of the feed.

use std::collections::{HashMap, HashSet};

use async_trait::async_trait;
use bidloop_domain::model::{
    CampaignAction, CampaignId, CampaignState, EventId, EventPayload, FilterId, JobId, LeadId, NewEvent,
    OrganizationId, Tally, Timestamp, action_on_match,
};
use bidloop_domain::port::{
    AutomaticBidIntent, ClaimedDelivery, FeedCursor, FilterChanges, JobStore, MatchedJob, MatchedPage,
    PageCounts, RecordPage, Revision, SendAtOnce, StoreError, StoredFilter,
};

use super::{CampaignEntry, Intent, Job, Match, MemoryStore, State, length};

#[async_trait]
impl JobStore for MemoryStore {
    async fn feed_position(&self) -> Result<Option<FeedCursor>, StoreError> {
        Ok(self.state()?.feed_position.clone())
    }

    async fn revision(&self) -> Result<Revision, StoreError> {
        Ok(Revision(self.state()?.revision))
    }

    async fn filters(
        &self,
        after: Option<&(OrganizationId, FilterId)>,
        limit: u32,
    ) -> Result<Vec<StoredFilter>, StoreError> {
        let state = self.state()?;
        let mut filters = state.all_filters();
        filters.sort_unstable_by(|one, other| key(one).cmp(&key(other)));
        filters.retain(|filter| after.is_none_or(|(organization, id)| key(filter) > (organization, id)));
        filters.truncate(length(limit));
        Ok(filters)
    }

    async fn filters_since(&self, revision: Revision) -> Result<FilterChanges, StoreError> {
        let state = self.state()?;
        let is_forgotten = revision.0 < state.filters_logged_since && revision.0 != state.revision;
        if revision.0 > state.revision || is_forgotten {
            return Ok(FilterChanges::Forgotten);
        }
        let changed = |key: (&OrganizationId, &FilterId)| {
            let last = state.filter_changes.get(&(key.0.clone(), key.1.clone()));
            last.is_some_and(|last| *last > revision.0)
        };
        let stored = state.all_filters();
        let stored_keys: HashSet<_> = stored.iter().map(key).collect();
        let gone = state.filter_changes.keys().filter(|(organization, id)| {
            changed((organization, id)) && !stored_keys.contains(&(organization, id))
        });
        Ok(FilterChanges::Known {
            revision: Revision(state.revision),
            removed: gone.cloned().collect(),
            put: stored
                .iter()
                .filter(|filter| changed(key(filter)))
                .cloned()
                .collect(),
        })
    }

    async fn latest_jobs(&self, limit: u32) -> Result<Vec<String>, StoreError> {
        let state = self.state()?;
        let latest = state.jobs_by_seq.values().rev().take(length(limit));
        latest.map(|id| state.job_json(id)).collect()
    }

    async fn note_feed_read(&self, at: Timestamp) -> Result<(), StoreError> {
        let mut state = self.state()?;
        state.feed_read_at = state.feed_read_at.max(Some(at));
        Ok(())
    }

    fn page_size(&self) -> u32 {
        500
    }

    async fn record_and_claim(
        &self,
        page: &MatchedPage,
        by: Option<&SendAtOnce>,
    ) -> Result<(RecordPage, Vec<ClaimedDelivery>), StoreError> {
        let mut state = self.state()?;
        if state.feed_position != page.read_from {
            return Ok((RecordPage::PositionMoved, Vec::new()));
        }
        if state.revision != page.revision.0 {
            return Ok((RecordPage::RevisionMoved, Vec::new()));
        }
        let stored_before = state.deliveries.len();
        let counts = state.record_jobs(page);
        let claimed = match by {
            Some(by) => state.claim_new(stored_before, by)?,
            None => Vec::new(),
        };
        state.feed_position.clone_from(&page.cursor);
        state.feed_read_at = Some(page.at);
        Ok((RecordPage::Recorded(counts), claimed))
    }
}

pub(super) fn stored_filters(organization: &OrganizationId, campaign: &CampaignEntry) -> Vec<StoredFilter> {
    campaign
        .record
        .filters
        .iter()
        .map(|filter| StoredFilter {
            organization_id: organization.clone(),
            campaign_id: campaign.record.id.clone(),
            id: filter.id.clone(),
            body: filter.body.to_string(),
        })
        .collect()
}

fn key(filter: &StoredFilter) -> (&OrganizationId, &FilterId) {
    (&filter.organization_id, &filter.id)
}

impl State {
    fn all_filters(&self) -> Vec<StoredFilter> {
        let campaigns = self.organizations.iter().flat_map(|(id, organization)| {
            let campaigns = organization.campaigns.values();
            campaigns.map(move |campaign| (id, campaign))
        });
        campaigns
            .flat_map(|(id, campaign)| stored_filters(id, campaign))
            .collect()
    }

    fn record_jobs(&mut self, page: &MatchedPage) -> PageCounts {
        let mut counts = PageCounts::default();
        let mut new_jobs: Vec<(&MatchedJob, i64)> = Vec::new();
        for job in later_of_each_id(&page.jobs) {
            match self.jobs.get(&job.id) {
                Some(known) if known.json == job.json => {}
                Some(_) => {
                    counts.changed_jobs += 1;
                    let seq = self.store_job(job);
                    counts.matches += self.match_changed_job(job, seq, page.at);
                }
                None => {
                    counts.new_jobs += 1;
                    new_jobs.push((job, self.store_job(job)));
                }
            }
        }
        new_jobs.sort_by_key(|(job, seq)| (job.posted_at, *seq));
        self.match_new_jobs(page, &new_jobs, &mut counts);
        let mut tally = self.tally_of(&new_jobs);
        tally.jobs_seen(counts.new_jobs);
        self.count(page.at, &tally);
        counts
    }

    /// Stores the job's content under the next sequence number, in place of what was known of it.
    fn store_job(&mut self, job: &MatchedJob) -> i64 {
        self.last_seq += 1;
        let stored = Job {
            seq: self.last_seq,
            posted_at: job.posted_at,
            json: job.json.clone(),
            signature: job.signature.clone(),
        };
        self.jobs_by_seq.insert(self.last_seq, job.id.clone());
        if let Some(before) = self.jobs.insert(job.id.clone(), stored) {
            self.jobs_by_seq.remove(&before.seq);
        }
        self.last_seq
    }

    fn match_new_jobs(&mut self, page: &MatchedPage, jobs: &[(&MatchedJob, i64)], counts: &mut PageCounts) {
        // One moment a campaign and page: what became a match together is ordered by posting time.
        let mut moments: HashMap<(OrganizationId, CampaignId), Timestamp> = HashMap::new();
        for (job, seq) in jobs {
            for (organization_id, campaign_id) in distinct(&job.campaigns) {
                let Some(campaign) = self.campaign_mut(organization_id, campaign_id) else {
                    continue;
                };
                let created_at = *moments
                    .entry((organization_id.clone(), campaign_id.clone()))
                    .or_insert_with(|| campaign.next_moment(page.at));
                campaign.matches.push(Match {
                    created_at,
                    posted_at: job.posted_at,
                    seq: *seq,
                    job_id: job.id.clone(),
                });
                counts.matches += 1;
                self.act(page, job, organization_id, campaign_id, created_at, counts);
            }
        }
    }

    /// The matches of new jobs, as far as their campaigns exist.
    fn tally_of(&self, jobs: &[(&MatchedJob, i64)]) -> Tally {
        let mut tally = Tally::default();
        for (job, _) in jobs {
            for (organization_id, campaign_id) in distinct(&job.campaigns) {
                let organization = self.organizations.get(organization_id);
                let campaign = organization.and_then(|one| Some((one, one.campaigns.get(campaign_id)?)));
                if let Some((organization, campaign)) = campaign {
                    let acts = campaign.record.state == CampaignState::Active
                        && organization.record.subscription.is_active();
                    tally.matched(organization_id, campaign_id, !acts);
                }
            }
        }
        tally
    }

    fn act(
        &mut self,
        page: &MatchedPage,
        job: &MatchedJob,
        organization_id: &OrganizationId,
        campaign_id: &CampaignId,
        created_at: Timestamp,
        counts: &mut PageCounts,
    ) {
        let Some(organization) = self.organizations.get(organization_id) else {
            return;
        };
        let Some(campaign) = organization.campaigns.get(campaign_id) else {
            return;
        };
        let is_known_to_be_new = self.pruned_before < Some(job.posted_at);
        let fresh = is_known_to_be_new
            && page
                .act_within
                .is_none_or(|age| page.at.since(job.posted_at) <= age);
        let subscribed = organization.record.subscription.is_active();
        match action_on_match(campaign.record.mode, campaign.record.state, subscribed, fresh) {
            CampaignAction::ListOnly => {}
            CampaignAction::PushJobNew => {
                let lead_id = self.materialize(organization_id, campaign_id, &job.id, created_at);
                let event = NewEvent {
                    id: EventId::job_new(&lead_id),
                    organization_id: organization_id.clone(),
                    campaign_id: campaign_id.clone(),
                    lead_id,
                    payload: EventPayload::JobNew,
                    trace_parent: None,
                };
                counts.deliveries += self.queue_event(&event, page.at);
            }
            CampaignAction::BidByTemplate => {
                let lead_id = self.materialize(organization_id, campaign_id, &job.id, created_at);
                let intent = AutomaticBidIntent {
                    organization_id: organization_id.clone(),
                    campaign_id: campaign_id.clone(),
                    lead_id,
                };
                self.intents.push(Intent { intent, lease: None });
                counts.automatic_bids += 1;
            }
        }
    }

    /// Takes the changed job out of the campaigns that it no longer matches and into those that it newly does;
    /// answers how many gained it.
    fn match_changed_job(&mut self, job: &MatchedJob, seq: i64, at: Timestamp) -> u64 {
        let mut gained = 0;
        let wanted: HashSet<(OrganizationId, CampaignId)> = job.campaigns.iter().cloned().collect();
        let leads = &self.leads;
        for (organization_id, organization) in &mut self.organizations {
            for (campaign_id, campaign) in &mut organization.campaigns {
                let held = campaign.matches.iter().position(|known| known.job_id == job.id);
                let matches = wanted.contains(&(organization_id.clone(), campaign_id.clone()));
                match held {
                    Some(place) if matches => {
                        campaign.matches[place].seq = seq;
                        campaign.matches[place].posted_at = job.posted_at;
                    }
                    Some(place) => {
                        campaign.matches.remove(place);
                    }
                    None if matches => {
                        let lead = leads.get(&LeadId::derive(organization_id, campaign_id, &job.id));
                        campaign.insert_match(Match {
                            created_at: lead.map_or(at, |entry| entry.lead.created_at),
                            posted_at: job.posted_at,
                            seq,
                            job_id: job.id.clone(),
                        });
                        gained += 1;
                    }
                    None => {}
                }
            }
        }
        gained
    }
}

impl CampaignEntry {
    /// `at`, or a millisecond after the last match if that is later.
    fn next_moment(&self, at: Timestamp) -> Timestamp {
        self.matches.last().map_or(at, |last| {
            at.max(Timestamp::from_millis(
                last.created_at.as_millis().saturating_add(1),
            ))
        })
    }

    pub(super) fn insert_match(&mut self, new: Match) {
        let place = self
            .matches
            .iter()
            .rposition(|known| known.place() <= new.place())
            .map_or(0, |before| before + 1);
        self.matches.insert(place, new);
    }
}

/// The jobs in their order, of those with one id the last alone.
fn later_of_each_id(jobs: &[MatchedJob]) -> Vec<&MatchedJob> {
    let mut seen: HashSet<&JobId> = HashSet::new();
    let mut kept: Vec<&MatchedJob> = jobs.iter().rev().filter(|job| seen.insert(&job.id)).collect();
    kept.reverse();
    kept
}

fn distinct(campaigns: &[(OrganizationId, CampaignId)]) -> Vec<&(OrganizationId, CampaignId)> {
    let mut seen = HashSet::new();
    campaigns
        .iter()
        .filter(|campaign| seen.insert(*campaign))
        .collect()
}
