//! [`CampaignFeedStore`] in memory: everything is counted anew from the leads.

use std::collections::{HashMap, HashSet};

use async_trait::async_trait;
use bidloop_domain::matching::JobSignature;
use bidloop_domain::model::{
    ActivityKind, ActivityOutcome, BidOutcome, BiddingConfig, CampaignId, Connects, EmailKey, JobId, JobPost,
    Lead, LeadId, LeadStatus, OrganizationId, Timestamp,
};
use bidloop_domain::port::{
    BidLetter, BidMeans, BidSummary, BiddingAccount, CampaignFeedStore, FeedCounts, FeedNews, FeedQuery,
    FilterRecord, LeadContext, ListedMatch, ListedMatches, Newest, SignedMatch, SignedMatches, StoreError,
    StoredJob,
};

use super::{Bid, CampaignEntry, Match, MemoryStore, State, count, length};

#[async_trait]
impl CampaignFeedStore for MemoryStore {
    async fn feed_page(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
        query: &FeedQuery,
    ) -> Result<Option<ListedMatches>, StoreError> {
        let state = self.state()?;
        let Some(entry) = state.campaign(organization, campaign) else {
            return Ok(None);
        };
        let skipped = usize::try_from(query.offset).unwrap_or(usize::MAX);
        let of_status = |known: &&Match| {
            let status = state.match_status(organization, campaign, &known.job_id);
            query.status.is_none_or(|wanted| wanted == status)
        };
        let matches = entry.matches.iter().rev().filter(of_status);
        let matches = matches.skip(skipped).take(length(query.limit));
        state.listed(organization, entry, matches.collect()).map(Some)
    }

    async fn feed_entries(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
        jobs: &[JobId],
    ) -> Result<Option<Vec<ListedMatch>>, StoreError> {
        let state = self.state()?;
        let Some(entry) = state.campaign(organization, campaign) else {
            return Ok(None);
        };
        let wanted: HashSet<&JobId> = jobs.iter().collect();
        let matches = entry.matches.iter().rev();
        let matches = matches.filter(|known| wanted.contains(&known.job_id));
        let listed = state.listed(organization, entry, matches.collect())?;
        Ok(Some(listed.entries))
    }

    async fn signed_matches(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
        below: Option<u64>,
        limit: u32,
    ) -> Result<Option<SignedMatches>, StoreError> {
        let state = self.state()?;
        let Some(entry) = state.campaign(organization, campaign) else {
            return Ok(None);
        };
        let total = entry.matches.len();
        let newest = below
            .and_then(|below| usize::try_from(below.saturating_sub(1)).ok())
            .map_or(total, |below| below.min(total));
        let oldest = newest.saturating_sub(length(limit));
        let signed = |(number, known): (usize, &Match)| SignedMatch {
            place: count(newest - number),
            job_id: known.job_id.clone(),
            status: state.match_status(organization, campaign, &known.job_id),
            signature: state
                .jobs
                .get(&known.job_id)
                .map(|job| -> JobSignature { job.signature.clone() }),
        };
        Ok(Some(SignedMatches {
            matches: entry.matches[oldest..newest]
                .iter()
                .rev()
                .enumerate()
                .map(signed)
                .collect(),
            older_below: if oldest == 0 { 0 } else { count(oldest + 1) },
        }))
    }

    async fn find_match(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
        job: &JobId,
    ) -> Result<Option<LeadContext>, StoreError> {
        let state = self.state()?;
        let Some(entry) = state.campaign(organization, campaign) else {
            return Ok(None);
        };
        let id = LeadId::derive(organization, campaign, job);
        if let Some(stored) = state.leads.get(&id) {
            return state.context(stored).map(Some);
        }
        let known = entry.matches.iter().find(|known| &known.job_id == job);
        let Some(known) = known else {
            return Ok(None);
        };
        let lead = new_lead(organization, campaign, known);
        Ok(Some(LeadContext {
            lead: bidloop_domain::model::LeadWithJob {
                lead,
                job_json: state.job_json(job)?,
            },
            campaign: state.bidding_campaign(organization, campaign),
            attachments: Vec::new(),
            bid: None,
        }))
    }

    async fn job_of_lead(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
        lead: &LeadId,
        newest: u32,
    ) -> Result<Option<JobId>, StoreError> {
        let state = self.state()?;
        let matches = state
            .campaign(organization, campaign)
            .map_or(&[][..], |entry| &entry.matches);
        let mut newest = matches.iter().rev().take(length(newest));
        let found = newest.find(|known| LeadId::derive(organization, campaign, &known.job_id) == *lead);
        Ok(found.map(|known| known.job_id.clone()))
    }

    async fn campaign_filters(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
    ) -> Result<Option<Vec<FilterRecord>>, StoreError> {
        let state = self.state()?;
        let entry = state.campaign(organization, campaign);
        Ok(entry.map(|entry| {
            let mut filters = entry.record.filters.clone();
            filters.sort_by(|a, b| a.id.cmp(&b.id));
            filters
        }))
    }

    async fn latest_bid(
        &self,
        organization: &OrganizationId,
        lead: &LeadId,
    ) -> Result<Option<(BidSummary, BidLetter)>, StoreError> {
        let state = self.state()?;
        let entry = state
            .leads
            .get(lead)
            .filter(|entry| &entry.lead.organization_id == organization);
        let bid = entry.and_then(|entry| state.bid(entry.latest_bid?));
        Ok(bid.map(|bid| {
            let letter = BidLetter {
                cover_letter: (!bid.is_without_letter).then(|| bid.queued.cover_letter.clone()),
                answers: if bid.is_without_letter {
                    Vec::new()
                } else {
                    bid.queued.answers.clone()
                },
            };
            (summary(bid), letter)
        }))
    }

    async fn bid_means(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
    ) -> Result<Option<BidMeans>, StoreError> {
        let state = self.state()?;
        let Some(entry) = state.campaign(organization, campaign) else {
            return Ok(None);
        };
        let account = entry.record.account_id.as_ref();
        let account = account.and_then(|account| state.account(organization, account));
        Ok(Some(BidMeans {
            account: account.map(|account| BiddingAccount {
                record: account.record.clone(),
                reading: account.reading.clone(),
            }),
            attachments: entry.record.attachments.clone(),
        }))
    }

    async fn lead_titles(
        &self,
        organization: &OrganizationId,
        leads: &[LeadId],
    ) -> Result<HashMap<LeadId, String>, StoreError> {
        let state = self.state()?;
        let titles = leads.iter().filter_map(|id| {
            let entry = state.leads.get(id)?;
            let lead = Some(&entry.lead).filter(|lead| lead.organization_id == *organization)?;
            let job = state.jobs.get(&lead.job_id)?;
            Some((id.clone(), JobPost::parse(&job.json).ok()?.title))
        });
        Ok(titles.collect())
    }

    async fn stored_job(&self, id: &JobId) -> Result<Option<StoredJob>, StoreError> {
        let state = self.state()?;
        Ok(state.jobs.get(id).map(|job| StoredJob {
            seq: job.seq,
            id: id.clone(),
            json: job.json.clone(),
        }))
    }

    async fn newest(
        &self,
        organization: &OrganizationId,
        campaign: Option<&CampaignId>,
    ) -> Result<Newest, StoreError> {
        let state = self.state()?;
        let organizations = state.organizations.get(organization).into_iter();
        let campaigns = organizations.flat_map(|organization| &organization.campaigns);
        let campaigns: Vec<_> = campaigns
            .filter(|(id, _)| campaign.is_none_or(|campaign| campaign == *id))
            .collect();
        let of_these = |lead: &&Lead| {
            let mut campaigns = campaigns.iter();
            &lead.organization_id == organization && campaigns.any(|(id, _)| **id == lead.campaign_id)
        };
        let leads = state.leads.values().map(|entry| &entry.lead);
        let lead = leads.filter(of_these).max_by_key(|lead| lead.created_at);
        if let Some(lead) = lead {
            return Ok(Newest {
                lead: Some((lead.campaign_id.clone(), lead.id.clone())),
                matched: None,
            });
        }
        let matched = campaigns
            .iter()
            .filter_map(|(id, entry)| Some((*id, entry.matches.last()?)))
            .max_by_key(|(_, known)| known.created_at);
        Ok(Newest {
            lead: None,
            matched: matched.map(|(id, known)| (id.clone(), known.job_id.clone())),
        })
    }

    async fn feed_news(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
        since: Option<Timestamp>,
        shown: &[LeadId],
        at_most: u32,
    ) -> Result<Option<FeedNews>, StoreError> {
        let state = self.state()?;
        let Some(entry) = state.campaign(organization, campaign) else {
            return Ok(None);
        };
        let newer = |known: &&Match| since.is_none_or(|since| known.created_at > since);
        let newer = entry.matches.iter().rev().filter(newer).take(length(at_most));
        let decided = shown.iter().filter_map(|id| {
            let lead = &state.leads.get(id)?.lead;
            let is_its = &lead.organization_id == organization && &lead.campaign_id == campaign;
            (is_its && lead.status != LeadStatus::New).then(|| (id.clone(), lead.status))
        });
        Ok(Some(FeedNews {
            newer: count(newer.count()),
            decided: decided.collect(),
        }))
    }

    async fn new_matches(
        &self,
        organization: &OrganizationId,
        person: &EmailKey,
        at_most: u32,
    ) -> Result<Vec<(CampaignId, u64)>, StoreError> {
        let state = self.state()?;
        let campaigns = state
            .organizations
            .get(organization)
            .into_iter()
            .flat_map(|organization| &organization.campaigns);
        Ok(campaigns
            .map(|(id, entry)| {
                let look = state
                    .looks
                    .get(&(organization.clone(), person.clone(), id.clone()));
                let newer = |known: &&Match| look.is_none_or(|look| known.created_at > *look);
                let new = entry.matches.iter().rev().filter(newer);
                (id.clone(), count(new.take(length(at_most)).count()))
            })
            .collect())
    }

    async fn looked_at(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
        person: &EmailKey,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let mut state = self.state()?;
        if state.campaign(organization, campaign).is_none() {
            return Ok(false);
        }
        let key = (organization.clone(), person.clone(), campaign.clone());
        let look = state.looks.entry(key).or_insert(at);
        *look = (*look).max(at);
        Ok(true)
    }
}

impl State {
    fn bid(&self, id: bidloop_domain::model::BidId) -> Option<&Bid> {
        self.bids.get(*self.bid_index.get(&id)?)
    }

    fn match_status(&self, organization: &OrganizationId, campaign: &CampaignId, job: &JobId) -> LeadStatus {
        let lead = LeadId::derive(organization, campaign, job);
        self.leads
            .get(&lead)
            .map_or(LeadStatus::New, |entry| entry.lead.status)
    }

    fn listed(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignEntry,
        matches: Vec<&Match>,
    ) -> Result<ListedMatches, StoreError> {
        let id = &campaign.record.id;
        let statuses = campaign
            .matches
            .iter()
            .map(|known| (self.match_status(organization, id, &known.job_id), 1));
        let counts = FeedCounts::from_decided(count(campaign.matches.len()), statuses);
        let entries: Result<Vec<ListedMatch>, StoreError> = matches
            .into_iter()
            .map(|known| {
                let stored = self.leads.get(&LeadId::derive(organization, id, &known.job_id));
                let lead =
                    stored.map_or_else(|| new_lead(organization, id, known), |entry| entry.lead.clone());
                let bid = stored.and_then(|entry| self.bid(entry.latest_bid?));
                let rejection = self.activities.iter().find(|entry| {
                    entry.kind == ActivityKind::Rejection
                        && entry.outcome == ActivityOutcome::Accepted
                        && entry.lead_id.as_ref() == Some(&lead.id)
                });
                Ok(ListedMatch {
                    is_stored: stored.is_some(),
                    job_json: self.job_json(&known.job_id)?,
                    bid: bid.map(summary),
                    rejected_by: rejection.map(|entry| entry.actor.clone()),
                    lead,
                })
            })
            .collect();
        Ok(ListedMatches {
            campaign_name: campaign.record.name.clone(),
            counts,
            newest_at: campaign.matches.last().map(|known| known.created_at),
            entries: entries?,
            unreadable: 0,
        })
    }
}

fn new_lead(organization: &OrganizationId, campaign: &CampaignId, known: &Match) -> Lead {
    Lead {
        id: LeadId::derive(organization, campaign, &known.job_id),
        organization_id: organization.clone(),
        campaign_id: campaign.clone(),
        job_id: known.job_id.clone(),
        created_at: known.created_at,
        status: LeadStatus::New,
        reason: None,
        rejection_reason: None,
        proposal_id: None,
        bidding_config: BiddingConfig::default(),
    }
}

fn summary(bid: &Bid) -> BidSummary {
    let outcome = bid.outcome.as_ref();
    BidSummary {
        id: bid.queued.id,
        status: bid.status,
        queued_at: bid.queued.queued_at,
        attempts: bid.queued.attempts,
        next_attempt_at: bid.next_attempt,
        answer_outstanding: bid.queued.answer_outstanding,
        terms: outcome.and_then(BidOutcome::terms),
        boost_connects: outcome.map_or(Connects::ZERO, BidOutcome::boost_connects),
        connects_spent: outcome.map_or(Connects::ZERO, BidOutcome::connects_spent),
        submitted_at: outcome.and_then(BidOutcome::submitted_at),
        ended_at: bid.ended_at,
    }
}
