//! [`LeadStore`] in memory: the bidding loop's reads and commands.

use async_trait::async_trait;
use bidloop_domain::attachment_rules::MAX_FILES;
use bidloop_domain::bidding::{BillingPeriod, QuotaUsage, current_period};
use bidloop_domain::model::{
    AccountSummary, Activity, Authorization, BidOutcome, BidRecord, BiddingConfig, Campaign, CampaignId,
    Connects, JobId, Lead, LeadAttachment, LeadId, LeadStatus, ListedLead, NewBid, NewEvent, OrganizationId,
    ProposalFile, QueuedBid, Tally,
};
use bidloop_domain::port::{
    AcceptBid, AddAttachments, ConfigureLead, DRY_RUN_BACKLOG, JobContent, LeadContext, LeadLookup, LeadPage,
    LeadStore, NewAttachment, RecordDryRun, RejectLead, ReopenLead, StoreError,
};

use super::{Bid, LeadEntry, MemoryStore, State, count, length};

#[async_trait]
impl LeadStore for MemoryStore {
    async fn page(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
        offset: u64,
        limit: u32,
    ) -> Result<Option<LeadPage>, StoreError> {
        let mut state = self.state()?;
        let Some(entry) = state.campaign(organization, campaign) else {
            return Ok(None);
        };
        let total = count(entry.matches.len());
        let campaign_name = entry.record.name.clone();
        let skipped = usize::try_from(offset).unwrap_or(usize::MAX);
        let page: Vec<_> = entry
            .matches
            .iter()
            .rev()
            .skip(skipped)
            .take(length(limit))
            .cloned()
            .collect();
        let mut leads = Vec::with_capacity(page.len());
        for known in page {
            let id = state.materialize(organization, campaign, &known.job_id, known.created_at);
            if let (Some(LeadEntry { lead, .. }), Some(job)) =
                (state.leads.get(&id), state.jobs.get(&known.job_id))
            {
                leads.push(ListedLead {
                    id,
                    job_id: known.job_id,
                    job_seq: job.seq,
                    created_at: lead.created_at,
                    status: lead.status,
                    reason: lead.reason.clone(),
                    proposal_id: lead.proposal_id.clone(),
                });
            }
        }
        Ok(Some(LeadPage {
            total,
            campaign_name,
            leads,
            unreadable: 0,
        }))
    }

    async fn job_contents(&self, jobs: &[JobId]) -> Result<Vec<JobContent>, StoreError> {
        let state = self.state()?;
        let stored = jobs.iter().filter_map(|id| state.jobs.get_key_value(id));
        let contents = stored.map(|(id, job)| JobContent {
            job_id: id.clone(),
            seq: job.seq,
            json: job.json.clone(),
        });
        Ok(contents.collect())
    }

    async fn campaign_exists(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
    ) -> Result<bool, StoreError> {
        Ok(self.state()?.campaign(organization, campaign).is_some())
    }

    async fn find(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
        lead: &LeadId,
    ) -> Result<LeadLookup, StoreError> {
        let state = self.state()?;
        if state.campaign(organization, campaign).is_none() {
            return Ok(LeadLookup::CampaignUnknown);
        }
        let found = state.leads.get(lead).filter(|entry| {
            &entry.lead.organization_id == organization && &entry.lead.campaign_id == campaign
        });
        match found {
            Some(entry) => Ok(LeadLookup::Found(Box::new(state.context(entry)?))),
            None => Ok(LeadLookup::LeadUnknown),
        }
    }

    async fn locate(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
        lead: &LeadId,
    ) -> Result<LeadLookup<Lead>, StoreError> {
        let found = self.find(organization, campaign, lead).await?;
        Ok(found.map(|context| context.lead.lead))
    }

    async fn find_anywhere(&self, lead: &LeadId) -> Result<Option<LeadContext>, StoreError> {
        let state = self.state()?;
        state
            .leads
            .get(lead)
            .filter(|entry| state.organizations.contains_key(&entry.lead.organization_id))
            .map(|entry| state.context(entry))
            .transpose()
    }

    async fn accept_bid(
        &self,
        authorization: &Authorization,
        bid: &NewBid,
        activity: &Activity,
    ) -> Result<AcceptBid, StoreError> {
        let mut state = self.state()?;
        if let Err(why) = state.active(authorization, &bid.organization_id, activity.at) {
            return Ok(AcceptBid::NotAuthorized(why));
        }
        let key = (&bid.organization_id, &bid.campaign_id);
        let is_fresh = state.make_listed(key, &bid.lead_id, &bid.job_id);
        let accepted = state.accept_bid(bid, activity);
        state.forget(&bid.lead_id, is_fresh && accepted != AcceptBid::Accepted);
        Ok(accepted)
    }

    async fn reject(
        &self,
        authorization: &Authorization,
        lead: &Lead,
        reason: Option<&str>,
        activity: &Activity,
    ) -> Result<RejectLead, StoreError> {
        let mut state = self.state()?;
        if let Err(why) = state.active(authorization, &lead.organization_id, activity.at) {
            return Ok(RejectLead::NotAuthorized(why));
        }
        state.make_lead(lead);
        let Some(entry) = state.lead_of(&lead.organization_id, &lead.id) else {
            return Ok(RejectLead::LeadUnknown);
        };
        if !entry.lead.status.is_open() {
            return Ok(RejectLead::LeadNotNew(entry.lead.status));
        }
        entry.lead.status = LeadStatus::Rejected;
        entry.lead.rejection_reason = reason.map(str::to_owned);
        state.record_activity(activity);
        Ok(RejectLead::Rejected)
    }

    async fn add_attachments(
        &self,
        authorization: &Authorization,
        lead: &Lead,
        files: &[NewAttachment],
        activity: &Activity,
    ) -> Result<AddAttachments, StoreError> {
        let mut state = self.state()?;
        if let Err(why) = state.active(authorization, &lead.organization_id, activity.at) {
            return Ok(AddAttachments::NotAuthorized(why));
        }
        let is_fresh = state.make_lead(lead);
        let added = state.add_attachments(lead, files, activity);
        state.forget(&lead.id, is_fresh && !matches!(added, AddAttachments::Added(_)));
        Ok(added)
    }

    async fn record_dry_run(
        &self,
        authorization: &Authorization,
        activity: &Activity,
        event: &NewEvent,
    ) -> Result<RecordDryRun, StoreError> {
        let mut state = self.state()?;
        if let Err(why) = state.active(authorization, &event.organization_id, activity.at) {
            return Ok(RecordDryRun::NotAuthorized(why));
        }
        let receivers = state.receivers_of(event);
        let is_full = |endpoint| state.pending_of(&event.organization_id, endpoint) > length(DRY_RUN_BACKLOG);
        if receivers.iter().any(is_full) {
            return Ok(RecordDryRun::TooManyPending);
        }
        state.record_activity(activity);
        state.queue_event(event, activity.at);
        Ok(RecordDryRun::Recorded)
    }

    async fn configure(&self, lead: &LeadId, config: &BiddingConfig) -> Result<bool, StoreError> {
        let mut state = self.state()?;
        let entry = state.leads.get_mut(lead);
        Ok(entry
            .map(|entry| entry.lead.bidding_config = config.clone())
            .is_some())
    }

    async fn configure_as(
        &self,
        authorization: &Authorization,
        lead: &Lead,
        config: &BiddingConfig,
        activity: &Activity,
    ) -> Result<ConfigureLead, StoreError> {
        let mut state = self.state()?;
        if let Err(why) = state.active(authorization, &lead.organization_id, activity.at) {
            return Ok(ConfigureLead::NotAuthorized(why));
        }
        state.make_lead(lead);
        let Some(entry) = state.lead_of(&lead.organization_id, &lead.id) else {
            return Ok(ConfigureLead::LeadUnknown);
        };
        entry.lead.bidding_config = config.clone();
        state.record_activity(activity);
        Ok(ConfigureLead::Configured)
    }

    async fn reopen(&self, lead: &LeadId, activity: &Activity) -> Result<ReopenLead, StoreError> {
        Ok(self.state()?.reopen(lead, activity))
    }

    async fn reopen_as(
        &self,
        authorization: &Authorization,
        organization: &OrganizationId,
        lead: &LeadId,
        activity: &Activity,
    ) -> Result<ReopenLead, StoreError> {
        let mut state = self.state()?;
        if let Err(why) = state.active(authorization, organization, activity.at) {
            return Ok(ReopenLead::NotAuthorized(why));
        }
        if state.lead_of(organization, lead).is_none() {
            return Ok(ReopenLead::LeadUnknown);
        }
        Ok(state.reopen(lead, activity))
    }
}

impl State {
    /// Makes the lead, if it is none and its campaign lists the job. Returns whether it was made.
    pub(super) fn make_listed(
        &mut self,
        (organization, campaign): (&OrganizationId, &CampaignId),
        lead: &LeadId,
        job: &JobId,
    ) -> bool {
        if self.leads.contains_key(lead) || LeadId::derive(organization, campaign, job) != *lead {
            return false;
        }
        let matches = self.campaign(organization, campaign).map(|entry| &entry.matches);
        let known = matches.into_iter().flatten().find(|known| &known.job_id == job);
        let Some(created_at) = known.map(|known| known.created_at) else {
            return false;
        };
        self.materialize(organization, campaign, job, created_at);
        true
    }

    /// Removes the lead that a command made and then refused.
    pub(super) fn forget(&mut self, lead: &LeadId, is_refused: bool) {
        if is_refused {
            self.leads.remove(lead);
        }
    }

    fn accept_bid(&mut self, bid: &NewBid, activity: &Activity) -> AcceptBid {
        let Some(entry) = self.lead_of(&bid.organization_id, &bid.lead_id) else {
            return AcceptBid::LeadUnknown;
        };
        let (status, job_id) = (entry.lead.status, entry.lead.job_id.clone());
        let uploads: Vec<ProposalFile> = uploads_of(entry).into_iter().map(ProposalFile::from).collect();
        if entry.lead.campaign_id != bid.campaign_id {
            return AcceptBid::LeadUnknown;
        }
        let Some(organization) = self.organizations.get(&bid.organization_id) else {
            return AcceptBid::LeadUnknown;
        };
        let Some(campaign) = organization.campaigns.get(&bid.campaign_id) else {
            return AcceptBid::LeadUnknown;
        };
        if !status.is_open() {
            return AcceptBid::LeadNotNew(status);
        }
        let account = campaign
            .record
            .account_id
            .as_ref()
            .and_then(|id| organization.accounts.get(id));
        let Some(account) = account.filter(|account| account.record.connected) else {
            return AcceptBid::NoConnectedAccount;
        };
        let period = current_period(&organization.record.subscription, bid.queued_at);
        let subscription = &organization.record.subscription;
        let usage = QuotaUsage::of(subscription, period, self.used_in(&bid.organization_id, period));
        if usage.is_used_up() {
            return AcceptBid::QuotaUsedUp(usage);
        }
        let accepted = Bid {
            queued: QueuedBid {
                id: bid.id,
                organization_id: bid.organization_id.clone(),
                campaign_id: bid.campaign_id.clone(),
                lead_id: bid.lead_id.clone(),
                job_id,
                account_id: account.record.id.clone(),
                cover_letter: bid.cover_letter.clone(),
                answers: bid.answers.clone(),
                config: bid.config.clone(),
                attachments: if uploads.is_empty() {
                    campaign.record.attachments.clone()
                } else {
                    uploads
                },
                queued_at: bid.queued_at,
                deadline: bid.deadline,
                attempts: 0,
                proposal: None,
                answer_outstanding: false,
                trace_parent: bid.trace_parent,
            },
            status: LeadStatus::Queued,
            period_start: period.start,
            next_attempt: bid.queued_at,
            lease: None,
            outcome: None,
            ended_at: None,
            is_without_letter: false,
        };
        let place = self.bids.len();
        self.bids.push(accepted);
        self.bid_index.insert(bid.id, place);
        if let Some(entry) = self.leads.get_mut(&bid.lead_id) {
            entry.lead.status = LeadStatus::Queued;
            entry.latest_bid = Some(bid.id);
        }
        self.record_activity(activity);
        let mut tally = Tally::default();
        tally.bid(bid);
        self.count(bid.queued_at, &tally);
        AcceptBid::Accepted
    }

    /// Makes the match a lead, if the command's lead has no record.
    fn make_lead(&mut self, lead: &Lead) -> bool {
        self.make_listed((&lead.organization_id, &lead.campaign_id), &lead.id, &lead.job_id)
    }

    fn add_attachments(
        &mut self,
        lead: &Lead,
        files: &[NewAttachment],
        activity: &Activity,
    ) -> AddAttachments {
        let Some(entry) = self.lead_of(&lead.organization_id, &lead.id) else {
            return AddAttachments::LeadUnknown;
        };
        if !entry.lead.status.is_open() {
            return AddAttachments::LeadNotNew(entry.lead.status);
        }
        let existing = entry.attachments.len();
        if existing + files.len() > MAX_FILES {
            return AddAttachments::TooMany { existing };
        }
        let mut all = entry.attachments.clone();
        for file in files {
            if all
                .iter()
                .any(|known| known.comparison_key == file.comparison_key)
            {
                return AddAttachments::DuplicateName(file.attachment.original_name.clone());
            }
            all.push(file.clone());
        }
        entry.attachments = all;
        let list = uploads_of(entry);
        self.record_activity(activity);
        AddAttachments::Added(list)
    }

    fn reopen(&mut self, lead: &LeadId, activity: &Activity) -> ReopenLead {
        let Some(entry) = self.leads.get_mut(lead) else {
            return ReopenLead::LeadUnknown;
        };
        if !entry.lead.status.is_reopenable() {
            return ReopenLead::NotReopenable(entry.lead.status);
        }
        entry.lead.status = LeadStatus::New;
        entry.lead.reason = None;
        self.record_activity(activity);
        ReopenLead::Reopened
    }

    pub(super) fn context(&self, entry: &LeadEntry) -> Result<LeadContext, StoreError> {
        Ok(LeadContext {
            lead: self.lead_with_job(entry)?,
            campaign: self.bidding_campaign(&entry.lead.organization_id, &entry.lead.campaign_id),
            attachments: uploads_of(entry),
            bid: entry
                .latest_bid
                .and_then(|id| self.bid_index.get(&id))
                .map(|place| bid_record(&self.bids[*place])),
        })
    }

    pub(super) fn bidding_campaign(
        &self,
        organization_id: &OrganizationId,
        id: &CampaignId,
    ) -> Option<Campaign> {
        let organization = self.organizations.get(organization_id)?;
        let record = &organization.campaigns.get(id)?.record;
        let account = record
            .account_id
            .as_ref()
            .and_then(|id| organization.accounts.get(id));
        Some(Campaign {
            organization_id: organization_id.clone(),
            id: id.clone(),
            name: record.name.clone(),
            mode: record.mode,
            state: record.state,
            bidding_config: record.bidding_config.clone(),
            proposal: record.proposal.clone(),
            account: account.map(|account| AccountSummary {
                id: account.record.id.clone(),
                connected: account.record.connected,
                profile_hourly_rate: account
                    .reading
                    .as_ref()
                    .and_then(|reading| reading.profile_hourly_rate),
            }),
            subscription: organization.record.subscription.clone(),
        })
    }

    /// Real bids of the period that are queued or submitted (decision B3): counted anew each time, so a bid
    /// that ends without a proposal gives its unit back by itself.
    pub(super) fn used_in(&self, organization: &OrganizationId, period: BillingPeriod) -> u64 {
        let taken = self
            .bids
            .iter()
            .filter(|bid| &bid.queued.organization_id == organization)
            .filter(|bid| matches!(bid.status, LeadStatus::Queued | LeadStatus::Submitted))
            .filter(|bid| {
                let within = period.start <= bid.queued.queued_at && bid.queued.queued_at < period.end;
                within || bid.period_start == period.start
            });
        count(taken.count())
    }
}

fn uploads_of(entry: &LeadEntry) -> Vec<LeadAttachment> {
    entry
        .attachments
        .iter()
        .map(|file| file.attachment.clone())
        .collect()
}

fn bid_record(bid: &Bid) -> BidRecord {
    let outcome = bid.outcome.as_ref();
    BidRecord {
        id: bid.queued.id,
        account_id: bid.queued.account_id.clone(),
        status: bid.status,
        queued_at: bid.queued.queued_at,
        deadline: bid.queued.deadline,
        attempts: bid.queued.attempts,
        answer_outstanding: bid.queued.answer_outstanding,
        proposal: bid.queued.proposal.clone(),
        config: bid.queued.config.clone(),
        attachments: bid.queued.attachments.clone(),
        reason: outcome.and_then(BidOutcome::reason).cloned(),
        proposal_id: outcome.and_then(BidOutcome::proposal_id).map(str::to_owned),
        submitted_at: outcome.and_then(BidOutcome::submitted_at),
        connects_spent: outcome.map_or(Connects::ZERO, BidOutcome::connects_spent),
    }
}
