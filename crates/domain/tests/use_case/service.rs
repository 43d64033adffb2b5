//! The service's use cases over one set of fakes: an organization with an External campaign, until a test says
//! otherwise.

use std::sync::Arc;
use std::time::Duration;

use bidloop_domain::bidding::QuestionAnswerPair;
use bidloop_domain::model::{
    Activity, ActivityKind, BidId, BidRequest, BiddingConfig, CampaignId, CoverLetter, EventKind, FilterId,
    LeadId, LeadStatus, Links, MarketplaceToken, OrganizationId,
};
use bidloop_domain::port::{
    CallingThread, Clock, FilterRecord, LeadContext, LeadLookup, LeadStore, LeaseOwner, ProvisioningChange,
    Quarantine,
};
use bidloop_domain::use_case::{
    Authenticate, BackfillMatches, Caller, CurrentFilters, DeliverWebhooks, FindLead, InFlight, IngestJobs,
    IngestedPage, KeyLeases, KeyUses, LeadError, LeadRequests, ListLeads, MAX_IN_FLIGHT, OperateLeads,
    RejectLead, Requester, ShowFeed, ShowLead, SubmissionOutcome, SubmitBid, SubmitProposals,
    UploadAttachments, WriteAutomaticBids,
};
use bidloop_fakes::{
    FakeAccount, FakeMarketplace, FakeWebhookSender, MemoryBlobStore, MemoryStore, PlaceholderProposalWriter,
    RecordingWorkSignal, SequentialEntropy, SimulatedClock,
};
use bidloop_port_contracts::Stores;
use bidloop_port_contracts::fixture::{
    OrganizationBuilder, account, activities, at, campaign, campaign_id, commit, job_id, key, organization,
    organization_id, webhook,
};
use serde_json::{Value, json};

/// Where the organization's endpoint for both events is.
pub(crate) const HOOK: &str = "https://hooks.test/all";
/// The token of the account `acct_1`.
pub(crate) const TOKEN: &str = "token_acct_1";
/// `submission.deadline_ms`.
pub(crate) const DEADLINE: Duration = Duration::from_secs(900);
/// `watch.act_within_minutes`.
pub(crate) const ACT_WITHIN: Duration = Duration::from_secs(24 * 60 * 60);

/// The account's token.
pub(crate) fn token() -> MarketplaceToken {
    MarketplaceToken::parse(TOKEN).unwrap()
}

/// How the tests' driving side answers an error; `None` for a failure of the service.
pub(crate) trait Answered {
    fn http_status(&self) -> Option<u16>;
}

impl Answered for LeadError {
    fn http_status(&self) -> Option<u16> {
        match self {
            Self::NotAuthorized(_) => Some(401),
            Self::CampaignUnknown | Self::LeadUnknown => Some(404),
            Self::TooLarge { .. } => Some(413),
            Self::UnsupportedMediaType { .. } => Some(415),
            Self::BidTooLate(_) => Some(409),
            Self::QuotaUsedUp(_) => Some(402),
            Self::Store(_) | Self::Blob(_) => None,
            _ => Some(400),
        }
    }
}

pub(crate) struct Service {
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) stores: Stores,
    pub(crate) clock: Arc<SimulatedClock>,
    pub(crate) entropy: Arc<SequentialEntropy>,
    pub(crate) marketplace: Arc<FakeMarketplace>,
    pub(crate) sender: Arc<FakeWebhookSender>,
    pub(crate) blobs: Arc<MemoryBlobStore>,
    pub(crate) signal: Arc<RecordingWorkSignal>,
}

/// `org_acme` with the active External campaign `camp`, the key `key_ci` and an endpoint for both events.
pub(crate) fn acme() -> OrganizationBuilder {
    bare_acme().campaign(campaign("camp"))
}

/// As [`acme`], without a campaign.
pub(crate) fn bare_acme() -> OrganizationBuilder {
    let events = [EventKind::JobNew, EventKind::BidComplete];
    organization("org_acme")
        .webhook(webhook("wh_all", None, HOOK, &events))
        .key("key_ci", 1)
}

/// The marketplace's JSON of an hourly job for USD 40 to 60 that matches `rust`, posted at the tests' beginning.
pub(crate) fn job(id: &str) -> Value {
    json!({
        "id": id, "ciphertext": format!("~{id}"), "title": "Rust service", "description": "Build it.",
        "url": format!("/jobs/~{id}"), "postedAt": at(0).as_millis(),
        "metadata": {"paymentType": "Hourly", "hourlyRate": {"min": 40, "max": 60}},
    })
}

/// The job with these members put in place.
pub(crate) fn job_with(id: &str, members: Value) -> Value {
    let mut job = job(id);
    merge(&mut job, members);
    job
}

fn merge(object: &mut Value, members: Value) {
    let Value::Object(members) = members else {
        panic!("members of an object")
    };
    for (name, value) in members {
        object[name] = value;
    }
}

pub(crate) fn config(json: Value) -> BiddingConfig {
    BiddingConfig::from_value(&json, &["biddingConfig"]).unwrap()
}

/// A bid without answers.
pub(crate) fn request() -> BidRequest {
    BidRequest {
        cover_letter: CoverLetter::parse("Dear client, …".to_owned()).unwrap(),
        question_answer_pairs: Vec::new(),
        dry_run: false,
        bidding_config: BiddingConfig::default(),
    }
}

/// As [`request`], with this configuration.
pub(crate) fn request_with(bidding_config: Value) -> BidRequest {
    BidRequest {
        bidding_config: config(bidding_config),
        ..request()
    }
}

pub(crate) fn dry_run(request: BidRequest) -> BidRequest {
    BidRequest {
        dry_run: true,
        ..request
    }
}

pub(crate) fn answer(question: &str, answer: &str) -> QuestionAnswerPair {
    QuestionAnswerPair {
        question: question.to_owned(),
        answer: answer.to_owned(),
    }
}

/// The change that gives the campaign `camp`'s filter another body.
pub(crate) fn changed_filter(body: Value) -> ProvisioningChange {
    let filter = FilterRecord {
        id: FilterId::parse("f_camp").unwrap(),
        name: "Changed".to_owned(),
        body,
    };
    ProvisioningChange::PutFilter(Service::organization(), Service::campaign(), filter)
}

pub(crate) fn links() -> Links {
    Links::new("https://bids.test", Some("https://market.test"))
}

impl Service {
    pub(crate) async fn new() -> Self {
        Self::with(acme()).await
    }

    /// With this organization; its account `acct_1` is known to the marketplace.
    pub(crate) async fn with(organization: OrganizationBuilder) -> Self {
        let clock = Arc::new(SimulatedClock::at(at(0)));
        let marketplace = Arc::new(FakeMarketplace::new(clock.clone()));
        marketplace.put_account(TOKEN, FakeAccount::new("jane"));
        let store = Arc::new(MemoryStore::new());
        let service = Self {
            stores: Stores::of(&store),
            store,
            clock,
            entropy: Arc::new(SequentialEntropy::new()),
            marketplace,
            sender: Arc::new(FakeWebhookSender::new()),
            blobs: Arc::new(MemoryBlobStore::new()),
            signal: Arc::new(RecordingWorkSignal::new()),
        };
        organization.provision(&service.stores).await;
        service
    }

    /// With one lead.
    pub(crate) async fn with_lead() -> (Self, LeadId) {
        let service = Self::new().await;
        let lead = service.lead(&job("1")).await;
        (service, lead)
    }

    /// With one queued bid, made with this request.
    pub(crate) async fn with_bid(request: BidRequest) -> (Self, LeadId) {
        let (service, lead) = Self::with_lead().await;
        service.bid(&lead, request).await;
        (service, lead)
    }

    pub(crate) fn organization() -> OrganizationId {
        organization_id("org_acme")
    }

    pub(crate) fn campaign() -> CampaignId {
        campaign_id("camp")
    }

    pub(crate) fn caller() -> Caller {
        Caller {
            organization_id: Self::organization(),
            key_id: bidloop_domain::model::ApiKeyId::parse("key_ci").unwrap(),
            key_name: "Key key_ci".to_owned(),
            key_hash: key("org_acme", "key_ci", 1, at(0)).1,
        }
    }

    /// The holder of the key, answered as [`Answered`] says.
    pub(crate) fn requester() -> Requester {
        Requester {
            organization_id: Self::organization(),
            actor: Self::caller().actor(),
            authorization: Self::caller().authorization(),
            http_status: Some(|outcome| match outcome {
                Ok(()) => 200,
                Err(error) => error.http_status().unwrap(),
            }),
            trace_parent: None,
        }
    }

    pub(crate) fn authenticate(&self) -> Authenticate {
        Authenticate {
            keys: self.store.clone(),
            clock: self.clock.clone(),
            uses: KeyUses::default(),
            leases: KeyLeases::default(),
        }
    }

    pub(crate) fn list_leads(&self) -> ListLeads {
        ListLeads {
            leads: self.store.clone(),
            posts: Arc::default(),
            links: links(),
            quarantine: Quarantine::default(),
        }
    }

    pub(crate) fn show_feed(&self) -> ShowFeed {
        ShowFeed {
            feed: self.store.clone(),
            links: links(),
            quarantine: Quarantine::default(),
        }
    }

    pub(crate) fn find_lead(&self) -> FindLead {
        self.store.find_lead()
    }

    pub(crate) fn show_lead(&self) -> ShowLead {
        ShowLead {
            find: self.find_lead(),
            activities: self.store.clone(),
            links: links(),
        }
    }

    pub(crate) fn lead_requests(&self) -> LeadRequests {
        self.store.lead_requests(&self.clock, &self.entropy)
    }

    pub(crate) fn submit_bid(&self) -> SubmitBid {
        SubmitBid {
            requests: self.lead_requests(),
            signal: self.signal.clone(),
            links: links(),
            deadline: DEADLINE,
        }
    }

    pub(crate) fn reject_lead(&self) -> RejectLead {
        RejectLead {
            requests: self.lead_requests(),
        }
    }

    pub(crate) fn upload_attachments(&self) -> UploadAttachments {
        UploadAttachments {
            blobs: self.blobs.clone(),
            requests: self.lead_requests(),
        }
    }

    pub(crate) fn operate_leads(&self) -> OperateLeads {
        OperateLeads {
            leads: self.store.clone(),
            clock: self.clock.clone(),
            entropy: self.entropy.clone(),
            links: links(),
        }
    }

    pub(crate) fn ingest_jobs(&self) -> IngestJobs {
        IngestJobs {
            marketplace: self.marketplace.clone(),
            jobs: self.store.clone(),
            clock: self.clock.clone(),
            signal: self.signal.clone(),
            sender: None,
            act_within: Some(ACT_WITHIN),
            threads: Arc::new(CallingThread),
            filters: CurrentFilters::default(),
            noted: None,
        }
    }

    pub(crate) fn backfill_matches(&self) -> BackfillMatches {
        BackfillMatches {
            matches: self.store.clone(),
            clock: self.clock.clone(),
            threads: Arc::new(CallingThread),
            quarantine: Quarantine::default(),
        }
    }

    pub(crate) fn deliver_webhooks(&self, max_in_flight: u32) -> DeliverWebhooks {
        DeliverWebhooks {
            store: self.store.clone(),
            sender: self.sender.clone(),
            clock: self.clock.clone(),
            links: links(),
            owner: LeaseOwner::new("dispatcher"),
            max_in_flight,
            in_flight: InFlight::default(),
        }
    }

    pub(crate) fn write_automatic_bids(&self) -> WriteAutomaticBids {
        WriteAutomaticBids {
            intents: self.store.clone(),
            leads: self.store.clone(),
            writer: Arc::new(PlaceholderProposalWriter),
            submit_bid: Arc::new(self.submit_bid()),
            clock: self.clock.clone(),
            entropy: self.entropy.clone(),
            links: links(),
            owner: LeaseOwner::new("writer"),
            quarantine: Quarantine::default(),
        }
    }

    pub(crate) fn submit_proposals(&self) -> SubmitProposals {
        SubmitProposals {
            store: self.store.clone(),
            marketplace: self.marketplace.clone(),
            blobs: self.blobs.clone(),
            clock: self.clock.clone(),
            entropy: self.entropy.clone(),
            signal: self.signal.clone(),
            links: links(),
            owner: LeaseOwner::new("submitter"),
        }
    }

    /// Reads the feed to its end.
    pub(crate) async fn ingest(&self) -> Vec<IngestedPage> {
        let mut ingest = self.ingest_jobs();
        let mut pages = vec![ingest.next_page().await.unwrap()];
        while pages.last().unwrap().has_more {
            pages.push(ingest.next_page().await.unwrap());
        }
        pages
    }

    pub(crate) fn publish(&self, job: &Value) {
        self.marketplace.publish(&job.to_string());
    }

    /// Publishes the job and answers the lead that it becomes.
    pub(crate) async fn lead(&self, job: &Value) -> LeadId {
        self.publish(job);
        self.ingest().await;
        Self::lead_of(job["id"].as_str().unwrap())
    }

    pub(crate) fn lead_of(job: &str) -> LeadId {
        LeadId::derive(&Self::organization(), &Self::campaign(), &job_id(job))
    }

    pub(crate) async fn context(&self, lead: &LeadId) -> LeadContext {
        let found = self
            .store
            .find(&Self::organization(), &Self::campaign(), lead)
            .await;
        match found.unwrap() {
            LeadLookup::Found(context) => *context,
            other => panic!("{lead} was not found: {other:?}"),
        }
    }

    /// Whether a job's match has become a lead.
    pub(crate) async fn is_a_lead(&self, job: &str) -> bool {
        let found = self
            .store
            .find(&Self::organization(), &Self::campaign(), &Self::lead_of(job))
            .await;
        matches!(found.unwrap(), LeadLookup::Found(_))
    }

    pub(crate) async fn status(&self, lead: &LeadId) -> LeadStatus {
        self.context(lead).await.lead.lead.status
    }

    /// Rejects a lead, which must be accepted.
    pub(crate) async fn reject(&self, lead: &LeadId) {
        self.reject_lead()
            .execute(&Self::requester(), &Self::campaign(), lead, Ok(None))
            .await
            .unwrap();
    }

    /// Queues a bid, which must be accepted.
    pub(crate) async fn bid(&self, lead: &LeadId, request: BidRequest) -> BidId {
        self.submit_bid()
            .execute(&Self::requester(), &Self::campaign(), lead, Ok(request))
            .await
            .unwrap();
        self.context(lead).await.bid.unwrap().id
    }

    /// One pass over what is due now.
    pub(crate) async fn submit(&self) -> Vec<SubmissionOutcome> {
        let submit = self.submit_proposals();
        let mut outcomes = Vec::new();
        for claimed in submit.claim(100).await.unwrap() {
            outcomes.push(submit.work(&claimed).await.unwrap());
        }
        outcomes
    }

    /// Passes a second apart until nothing is queued any more, for twenty minutes at most.
    pub(crate) async fn submit_all(&self) {
        for _ in 0..1_200 {
            self.submit().await;
            if self.stores.submissions.queued_count().await.unwrap() == 0 {
                return;
            }
            self.clock.advance(Duration::from_secs(1));
        }
        panic!("bids are queued still");
    }

    /// Sends and records all that is pending.
    pub(crate) async fn deliver(&self) {
        let deliver = self.deliver_webhooks(MAX_IN_FLIGHT);
        loop {
            let begun = deliver.claim().await.unwrap();
            if begun.is_empty() {
                return;
            }
            for delivery in begun {
                let sent = deliver.send(delivery).await;
                assert!(deliver.record(&sent).await.unwrap());
            }
        }
    }

    /// Delivers, and answers the envelopes that [`HOOK`] got of this event, in order.
    pub(crate) async fn events(&self, event: &str) -> Vec<Value> {
        self.deliver().await;
        self.sender
            .sent_to(HOOK)
            .iter()
            .map(|webhook| serde_json::from_slice::<Value>(&webhook.body).unwrap())
            .filter(|envelope| envelope["event"] == event)
            .collect()
    }

    /// The `data` of the one `bid_complete` so far.
    pub(crate) async fn bid_complete(&self) -> Value {
        let mut events = self.events("bid_complete").await;
        assert_eq!(events.len(), 1, "one bid_complete: {events:?}");
        events.remove(0)["data"].take()
    }

    /// The Activity record's entries of this kind, newest first.
    pub(crate) async fn activities(&self, kind: ActivityKind) -> Vec<Activity> {
        let mut entries = activities(&self.stores, &Self::organization()).await;
        entries.retain(|entry| entry.kind == kind);
        entries
    }

    /// The words of the steps that the newest submission's entry explains.
    pub(crate) async fn steps(&self) -> Vec<String> {
        let entry = self.activities(ActivityKind::Submission).await.remove(0);
        entry.details["steps"]
            .as_array()
            .unwrap()
            .iter()
            .map(|step| step["step"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Gives the campaign's filter another body.
    pub(crate) async fn put_filter(&self, body: Value) {
        self.commit(changed_filter(body)).await;
    }

    pub(crate) async fn commit(&self, change: ProvisioningChange) {
        commit(&self.stores, &[change]).await;
    }

    /// Gives `acct_1` a token that the marketplace takes for the same account.
    pub(crate) async fn renew_token(&self, token: &str) {
        self.marketplace.put_account(token, FakeAccount::new("jane"));
        let mut renewed = account("acct_1");
        renewed.token = MarketplaceToken::unchecked(token.to_owned());
        self.commit(ProvisioningChange::PutAccount(Self::organization(), renewed))
            .await;
    }

    pub(crate) async fn account_is_connected(&self, lead: &LeadId) -> bool {
        let campaign = self.context(lead).await.campaign.unwrap();
        campaign.account.unwrap().connected
    }

    pub(crate) fn now(&self) -> bidloop_domain::model::Timestamp {
        self.clock.now()
    }
}
