//! [`MemoryStore`]: every store port over one state behind one lock.
//!
//! Owns the state and what several ports share of it. Each port has a file of its own. Does not own any rule:
//! those are the domain's, and the ports' contracts.

mod activities;
mod api_keys;
mod automatic_bids;
mod billing;
mod campaign_feed;
mod deliveries;
mod delivery_records;
mod erasure;
mod feed_lease;
mod held_records;
mod jobs;
mod leads;
mod matches;
mod overview;
mod people;
mod provisioning;
mod retention;
mod sessions;
mod sign_ins;
mod statistics;
mod submissions;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use bidloop_domain::matching::JobSignature;
use bidloop_domain::model::{
    AccountId, Activity, ActivityId, Actor, ApiKeyHash, BidId, BidOutcome, BilledSubscriptionId, CampaignId,
    Counted, DeliveryId, DeliveryState, EmailKey, EndpointId, EventPayload, FilterId, FirstRunCodeHash,
    JobId, Lead, LeadId, LeadStatus, LeadWithJob, LinkHash, LinkId, NewEvent, OneTimeLink, OrganizationId,
    PersonalTokenHash, PersonalTokenId, PersonalTokenRecord, QueuedBid, SessionHash, StatisticsStep,
    Timestamp, TraceParent, Tries, TrySubject, WebhookEndpoint, receivers,
};
use bidloop_domain::port::{
    AccountReading, AccountRecord, AutomaticBidIntent, BilledRecord, CampaignRecord, CampaignRevision,
    FeedCursor, LeaseOwner, NewAttachment, OrganizationRecord, StoreError, WebhookRecord,
};
use bidloop_domain::use_case::{FindLead, LeadRequests};

pub use self::held_records::HeldRecords;
use self::held_records::RecordGate;
use self::people::People;
use self::sessions::Session;
use crate::{SequentialEntropy, SimulatedClock};

/// All store ports in memory, held to the contracts that the databases are held to.
///
/// Every call is one atomic step under one lock. Nothing outlives the value.
///
/// ```
/// use bidloop_domain::port::{JobStore, StoreError};
/// use bidloop_fakes::MemoryStore;
///
/// let store = MemoryStore::new();
/// # futures::executor::block_on(async {
/// assert_eq!(store.feed_position().await, Ok(None));
///
/// store.set_available(false);
/// assert!(matches!(store.feed_position().await, Err(StoreError::Unavailable(_))));
/// # });
/// ```
#[derive(Debug)]
pub struct MemoryStore {
    state: Mutex<State>,
    available: AtomicBool,
    records: RecordGate,
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self {
            state: Mutex::default(),
            available: AtomicBool::new(true),
            records: RecordGate::default(),
        }
    }
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the store away (every call answers [`StoreError::Unavailable`] and changes nothing) or brings it
    /// back.
    pub fn set_available(&self, available: bool) {
        self.available.store(available, Ordering::SeqCst);
    }

    /// Lets refused requests wait from now on before they are recorded: a database that is slow.
    pub fn hold_records(&self) -> HeldRecords {
        self.records.close()
    }

    /// Finds leads in this store.
    pub fn find_lead(self: &Arc<Self>) -> FindLead {
        FindLead {
            leads: self.clone(),
            feed: self.clone(),
        }
    }

    /// Finds the leads of requests in this store and records how each request ended.
    pub fn lead_requests(
        self: &Arc<Self>,
        clock: &Arc<SimulatedClock>,
        entropy: &Arc<SequentialEntropy>,
    ) -> LeadRequests {
        LeadRequests {
            leads: self.clone(),
            feed: self.clone(),
            activities: self.clone(),
            clock: clock.clone(),
            entropy: entropy.clone(),
        }
    }

    fn state(&self) -> Result<MutexGuard<'_, State>, StoreError> {
        if self.available.load(Ordering::SeqCst) {
            Ok(crate::locked(&self.state))
        } else {
            Err(StoreError::Unavailable(
                "the memory store was taken away".to_owned(),
            ))
        }
    }
}

#[derive(Debug, Clone, Default)]
struct State {
    revision: i64,
    feed_position: Option<FeedCursor>,
    feed_lease: Option<Lease>,
    last_seq: i64,
    jobs: HashMap<JobId, Job>,
    jobs_by_seq: BTreeMap<i64, JobId>,
    organizations: BTreeMap<OrganizationId, Organization>,
    /// The payment provider's subscriptions.
    billed: BTreeMap<BilledSubscriptionId, BilledRecord>,
    /// Keys that were removed or replaced.
    removed_keys: HashSet<ApiKeyHash>,
    /// Those that are not erased yet, in the order of their removal, each with the claim on its erasing.
    removed_organizations: Vec<(OrganizationId, Option<Lease>)>,
    /// The revision of each filter's last change, of those that were removed too.
    filter_changes: BTreeMap<(OrganizationId, FilterId), i64>,
    /// The changes of filters by this revision are not all known.
    filters_logged_since: i64,
    leads: HashMap<LeadId, LeadEntry>,
    /// In the order of acceptance.
    bids: Vec<Bid>,
    bid_index: HashMap<BidId, usize>,
    /// In the order of queueing.
    deliveries: Vec<Delivery>,
    delivery_index: HashMap<DeliveryId, usize>,
    /// When people tried endpoints.
    endpoint_tries: BTreeMap<(OrganizationId, EndpointId), Vec<Timestamp>>,
    /// In the order of recording.
    intents: Vec<Intent>,
    activities: Vec<Activity>,
    activity_ids: HashSet<ActivityId>,
    /// People's last looks at campaigns' Feeds.
    looks: BTreeMap<(OrganizationId, EmailKey, CampaignId), Timestamp>,
    people: People,
    links: BTreeMap<(OrganizationId, LinkId), (OneTimeLink, LinkHash)>,
    tokens: BTreeMap<(OrganizationId, PersonalTokenId), (PersonalTokenRecord, PersonalTokenHash)>,
    sessions: HashMap<SessionHash, Session>,
    tries: HashMap<TrySubject, Tries>,
    /// The newest last, each with when it was replaced.
    first_run_codes: Vec<(FirstRunCodeHash, Option<Timestamp>)>,
    /// By the beginning of the step.
    counted: BTreeMap<(Timestamp, StatisticsStep, Counted), u64>,
    /// Leads whose `job.new` was delivered.
    delivered_leads: HashSet<LeadId>,
    feed_read_at: Option<Timestamp>,
    /// How many jobs were stored at which moments, in their order.
    job_ages: Vec<(Timestamp, i64)>,
    /// Jobs that were posted by then may be gone.
    pruned_before: Option<Timestamp>,
    /// The highest number of those that pruning has passed.
    pruned_to: i64,
}

#[derive(Debug, Clone)]
struct Job {
    seq: i64,
    posted_at: Timestamp,
    json: String,
    signature: JobSignature,
}

/// An organization. Its webhooks, accounts and campaigns are kept by id, and neither they nor users in the record.
#[derive(Debug, Clone)]
struct Organization {
    record: OrganizationRecord,
    webhooks: BTreeMap<EndpointId, WebhookRecord>,
    accounts: BTreeMap<AccountId, Account>,
    campaigns: BTreeMap<CampaignId, CampaignEntry>,
}

#[derive(Debug, Clone)]
struct Account {
    record: AccountRecord,
    reading: Option<AccountReading>,
}

#[derive(Debug, Clone)]
struct CampaignEntry {
    record: CampaignRecord,
    /// Oldest first.
    matches: Vec<Match>,
    /// The store's revision at the last change of the campaign's filters.
    filters_revision: CampaignRevision,
    backfill_due: bool,
}

/// A job in a campaign's list, with what its place depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Match {
    created_at: Timestamp,
    posted_at: Timestamp,
    seq: i64,
    job_id: JobId,
}

impl Match {
    fn place(&self) -> (Timestamp, Timestamp, i64) {
        (self.created_at, self.posted_at, self.seq)
    }
}

#[derive(Debug, Clone)]
struct LeadEntry {
    lead: Lead,
    /// Oldest first.
    attachments: Vec<NewAttachment>,
    latest_bid: Option<BidId>,
}

#[derive(Debug, Clone)]
struct Bid {
    queued: QueuedBid,
    status: LeadStatus,
    /// The start of the period that the bid's unit of quota was taken from.
    period_start: Timestamp,
    next_attempt: Timestamp,
    lease: Option<Lease>,
    outcome: Option<BidOutcome>,
    ended_at: Option<Timestamp>,
    /// Pruned. Nothing reads the letter itself after the end.
    is_without_letter: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Lease {
    owner: LeaseOwner,
    until: Timestamp,
}

impl Lease {
    fn new(owner: &LeaseOwner, until: Timestamp) -> Self {
        Self {
            owner: owner.clone(),
            until,
        }
    }

    fn is_live(lease: Option<&Self>, now: Timestamp) -> bool {
        lease.is_some_and(|lease| now < lease.until)
    }
}

#[derive(Debug, Clone)]
struct Delivery {
    organization_id: OrganizationId,
    id: DeliveryId,
    endpoint_id: EndpointId,
    campaign_id: CampaignId,
    lead_id: LeadId,
    payload: EventPayload,
    created_at: Timestamp,
    state: DeliveryState,
    ended_at: Option<Timestamp>,
    /// Who sends it, and until when; set while it is sending.
    sender: Option<Lease>,
    /// Whether a person tries the endpoint with it.
    is_test: bool,
    /// Who had it sent at once; `None` for the service.
    sent_by: Option<Actor>,
    trace_parent: Option<TraceParent>,
}

#[derive(Debug, Clone)]
struct Intent {
    intent: AutomaticBidIntent,
    lease: Option<Lease>,
}

impl State {
    fn campaign(&self, organization: &OrganizationId, campaign: &CampaignId) -> Option<&CampaignEntry> {
        self.organizations.get(organization)?.campaigns.get(campaign)
    }

    fn campaign_mut(
        &mut self,
        organization: &OrganizationId,
        campaign: &CampaignId,
    ) -> Option<&mut CampaignEntry> {
        self.organizations
            .get_mut(organization)?
            .campaigns
            .get_mut(campaign)
    }

    fn account(&self, organization: &OrganizationId, account: &AccountId) -> Option<&Account> {
        self.organizations.get(organization)?.accounts.get(account)
    }

    /// The lead, if it is the organization's.
    fn lead_of(&mut self, organization: &OrganizationId, lead: &LeadId) -> Option<&mut LeadEntry> {
        self.leads
            .get_mut(lead)
            .filter(|entry| &entry.lead.organization_id == organization)
    }

    fn job_json(&self, job: &JobId) -> Result<String, StoreError> {
        self.jobs
            .get(job)
            .map(|job| job.json.clone())
            .ok_or_else(|| StoreError::Corrupt(format!("job {job} is referred to and not stored")))
    }

    fn lead_with_job(&self, entry: &LeadEntry) -> Result<LeadWithJob, StoreError> {
        Ok(LeadWithJob {
            lead: entry.lead.clone(),
            job_json: self.job_json(&entry.lead.job_id)?,
        })
    }

    /// Makes the job a lead of the campaign, unless it is one.
    fn materialize(
        &mut self,
        organization: &OrganizationId,
        campaign: &CampaignId,
        job: &JobId,
        created_at: Timestamp,
    ) -> LeadId {
        let id = LeadId::derive(organization, campaign, job);
        self.leads.entry(id.clone()).or_insert_with(|| LeadEntry {
            lead: Lead {
                id: id.clone(),
                organization_id: organization.clone(),
                campaign_id: campaign.clone(),
                job_id: job.clone(),
                created_at,
                status: LeadStatus::New,
                reason: None,
                rejection_reason: None,
                proposal_id: None,
                bidding_config: bidloop_domain::model::BiddingConfig::default(),
            },
            attachments: Vec::new(),
            latest_bid: None,
        });
        id
    }

    fn record_activity(&mut self, activity: &Activity) {
        if self.activity_ids.insert(activity.id) {
            self.activities.push(activity.clone());
        }
    }

    fn receivers_of(&self, event: &NewEvent) -> Vec<EndpointId> {
        let organization = self.organizations.get(&event.organization_id);
        let webhooks = organization.into_iter().flat_map(|one| one.webhooks.values());
        let endpoints: Vec<WebhookEndpoint> = webhooks.map(|webhook| webhook.endpoint.clone()).collect();
        receivers(&endpoints, &event.campaign_id, event.payload.kind())
            .into_iter()
            .map(|endpoint| endpoint.id.clone())
            .collect()
    }

    /// How many deliveries are pending for an endpoint.
    fn pending_of(&self, organization: &OrganizationId, endpoint: &EndpointId) -> usize {
        let pending = self
            .deliveries
            .iter()
            .filter(|delivery| delivery.state == DeliveryState::Pending)
            .filter(|delivery| {
                &delivery.organization_id == organization && &delivery.endpoint_id == endpoint
            });
        pending.count()
    }

    /// Queues the event's deliveries, one a receiver; those that are known already are passed over. Returns how
    /// many are new.
    fn queue_event(&mut self, event: &NewEvent, at: Timestamp) -> u64 {
        let mut queued = 0;
        for endpoint in self.receivers_of(event) {
            let id = DeliveryId::derive(event.id, &event.organization_id, &endpoint);
            if self.delivery_index.contains_key(&id) {
                continue;
            }
            self.delivery_index.insert(id, self.deliveries.len());
            self.deliveries.push(Delivery {
                organization_id: event.organization_id.clone(),
                id,
                endpoint_id: endpoint,
                campaign_id: event.campaign_id.clone(),
                lead_id: event.lead_id.clone(),
                payload: event.payload.clone(),
                created_at: at,
                state: DeliveryState::Pending,
                ended_at: None,
                sender: None,
                is_test: false,
                sent_by: None,
                trace_parent: event.trace_parent,
            });
            queued += 1;
        }
        queued
    }
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

fn length(count: u32) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
