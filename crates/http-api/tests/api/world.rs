//! Two organizations with campaigns and leads, and a server over them.

use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bidloop_domain::matching::JobSignature;
use bidloop_domain::model::{
    AccountId, Activity, ActivityQuery, ApiKey, ApiKeyId, ApiKeyRecord, BiddingConfig, CampaignId,
    CampaignMode, CampaignState, JobId, LeadId, Links, MarketplaceToken, OrganizationId, ProposalTemplate,
    Renewal, Subscription, SubscriptionStatus, Timestamp,
};
use bidloop_domain::port::{
    AccountRecord, ActivityStore, BlobStore, CampaignRecord, ClaimedDelivery, Clock, CommitProvisioning,
    DeliveryStore, FeedCursor, JobStore, LeadStore, LeaseOwner, MatchedJob, MatchedPage, ProvisioningChange,
    ProvisioningStore, Quarantine, RecordPage,
};
use bidloop_domain::use_case::{
    Authenticate, KeyLeases, KeyUses, ListLeads, LocateLead, RejectLead, SubmitBid, UploadAttachments,
};
use bidloop_fakes::{MemoryBlobStore, MemoryStore, RecordingWorkSignal, SequentialEntropy, SimulatedClock};
use bidloop_http_api::{
    AllowedOrigins, BodyLimits, Description, HeldReadiness, HttpApi, Offer, Readiness, RequestMetrics,
    application,
};
use bidloop_http_server::{ConnectionLimits, RunningServer, UseCaseRuntime, serve};
use serde_json::json;
use tokio::runtime::Runtime;

use crate::client::{Answer, Request};

pub(crate) const ORG: &str = "org_a";
pub(crate) const CAMPAIGN: &str = "camp";
/// A campaign without a bidder account.
pub(crate) const BARE_CAMPAIGN: &str = "camp_bare";
/// A campaign of another organization.
pub(crate) const FOREIGN_CAMPAIGN: &str = "camp_b";
pub(crate) const QUESTIONS: [&str; 2] = ["Why you?", "When can you start?"];
/// Jobs of [`CAMPAIGN`]; the first has no questions, the others have both.
pub(crate) const JOBS: usize = 5;
pub(crate) const QUOTA: u32 = 2;

pub(crate) fn key() -> String {
    format!("lk_{}", "a1".repeat(32))
}

/// How the tests serve the API.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ServerSettings {
    pub(crate) offer: Offer,
    pub(crate) bodies: BodyLimits,
    pub(crate) connections: ConnectionLimits,
}

/// What the program sets, but with one thread.
pub(crate) const SETTINGS: ServerSettings = ServerSettings {
    offer: Offer::All,
    bodies: BodyLimits::DEFAULT,
    connections: ConnectionLimits::DEFAULT,
};

pub(crate) struct World {
    runtime: Runtime,
    /// What the server serves.
    pub(crate) api: HttpApi,
    server: Option<RunningServer>,
    pub(crate) address: SocketAddr,
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) blobs: MemoryBlobStore,
    pub(crate) clock: Arc<SimulatedClock>,
    pub(crate) metrics: Arc<RecordedMetrics>,
    readiness: Arc<StoreReadiness>,
}

#[derive(Debug)]
struct StoreReadiness {
    store: Arc<MemoryStore>,
    asked: AtomicUsize,
}

#[async_trait]
impl Readiness for StoreReadiness {
    async fn is_ready(&self) -> bool {
        self.asked.fetch_add(1, Ordering::SeqCst);
        self.store.feed_position().await.is_ok()
    }
}

#[derive(Debug, Default)]
pub(crate) struct RecordedMetrics(Mutex<Vec<(&'static str, u16)>>);

impl RecordedMetrics {
    pub(crate) fn seen(&self) -> Vec<(&'static str, u16)> {
        self.0.lock().unwrap().clone()
    }
}

impl RequestMetrics for RecordedMetrics {
    fn answered(&self, operation: &'static str, status: u16, _duration: Duration) {
        self.0.lock().unwrap().push((operation, status));
    }

    fn text(&self) -> String {
        format!("requests_total {}\n# EOF\n", self.seen().len())
    }
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with_settings(SETTINGS)
    }

    pub(crate) fn with_settings(settings: ServerSettings) -> Self {
        let blobs = MemoryBlobStore::new();
        Self::build(Arc::new(blobs.clone()), blobs, settings)
    }

    /// Uploads go to `target`; `blobs` is what the tests look into.
    pub(crate) fn with_blobs(target: Arc<dyn BlobStore>, blobs: MemoryBlobStore) -> Self {
        Self::build(target, blobs, SETTINGS)
    }

    pub(crate) fn build(
        target: Arc<dyn BlobStore>,
        blobs: MemoryBlobStore,
        settings: ServerSettings,
    ) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let store = Arc::new(MemoryStore::new());
        let clock = Arc::new(SimulatedClock::at(Timestamp::from_seconds(1_790_000_000)));
        let metrics = Arc::new(RecordedMetrics::default());
        runtime.block_on(populate(&store));
        let readiness = Arc::new(StoreReadiness {
            store: store.clone(),
            asked: AtomicUsize::new(0),
        });
        let api = api(&store, target, &clock, &metrics, readiness.clone(), &runtime);
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let server = runtime
            .block_on(async {
                let observer = Arc::new(api.clone());
                let routes = application(api.clone(), settings.offer, settings.bodies);
                let server = bidloop_http_server::ServerSettings {
                    workers: 1,
                    connections: settings.connections,
                };
                serve(observer, routes, listener, server)
            })
            .unwrap();
        Self {
            address: server.address(),
            runtime,
            api,
            server: Some(server),
            store,
            blobs,
            clock,
            metrics,
            readiness,
        }
    }

    pub(crate) fn send(&self, request: &Request) -> Answer {
        request.send(self.address)
    }

    /// With the organization's key.
    pub(crate) fn get(&self, path: &str) -> Answer {
        self.send(&Request::new("GET", path).key(&key()))
    }

    /// With the organization's key and a JSON body.
    pub(crate) fn post(&self, path: &str, body: &serde_json::Value) -> Answer {
        self.send(&Request::new("POST", path).key(&key()).json(body))
    }

    /// Newest first.
    pub(crate) fn activities(&self) -> Vec<Activity> {
        let query = ActivityQuery {
            limit: 100,
            ..ActivityQuery::default()
        };
        self.runtime.block_on(self.store.list(&query)).unwrap()
    }

    /// How often the database was asked whether it is ready.
    /// Claims what is to be sent.
    pub(crate) fn claim_deliveries(&self) -> Vec<ClaimedDelivery> {
        let (owner, clock) = (
            LeaseOwner::new("sender"),
            Arc::clone(&self.clock) as Arc<dyn Clock>,
        );
        self.runtime.block_on(async {
            let deliveries: &dyn DeliveryStore = &*self.store;
            let pending = deliveries.pending(&[], 100, 100).await.unwrap();
            let claimed = deliveries.claim(&pending, &owner, &clock, Duration::from_secs(14));
            claimed.await.unwrap()
        })
    }

    pub(crate) fn readiness_asked(&self) -> usize {
        self.readiness.asked.load(Ordering::SeqCst)
    }

    pub(crate) fn provision(&self, changes: &[ProvisioningChange]) {
        self.runtime.block_on(commit(&self.store, changes));
    }

    /// Stops the server; returns once every connection is closed.
    pub(crate) fn stop(&mut self) {
        if let Some(server) = self.server.take() {
            self.runtime.block_on(server.stop()).unwrap();
        }
    }
}

/// The lead of [`CAMPAIGN`]'s n-th job.
pub(crate) fn lead_of(job: usize) -> String {
    lead_id(ORG, CAMPAIGN, &format!("job{job}"))
}

/// The address of an operation on it.
pub(crate) fn address_of(job: usize, operation: &str) -> String {
    format!("/v1/campaigns/{CAMPAIGN}/leads/{}/{operation}", lead_of(job))
}

pub(crate) fn lead_id(organization: &str, campaign: &str, job: &str) -> String {
    LeadId::derive(
        &OrganizationId::parse(organization).unwrap(),
        &CampaignId::parse(campaign).unwrap(),
        &JobId::parse(job).unwrap(),
    )
    .to_string()
}

fn api(
    store: &Arc<MemoryStore>,
    blobs: Arc<dyn BlobStore>,
    clock: &Arc<SimulatedClock>,
    metrics: &Arc<RecordedMetrics>,
    readiness: Arc<StoreReadiness>,
    runtime: &Runtime,
) -> HttpApi {
    let entropy = Arc::new(SequentialEntropy::new());
    let links = Links::new("http://api.test", Some("http://market.test"));
    let (store, clock) = (store.clone(), clock.clone());
    let requests = store.lead_requests(&clock, &entropy);
    HttpApi {
        authenticate: Arc::new(Authenticate {
            keys: store.clone(),
            clock,
            uses: KeyUses::default(),
            leases: KeyLeases::default(),
        }),
        locate_lead: Arc::new(LocateLead { leads: store.clone() }),
        list_leads: Arc::new(ListLeads {
            leads: store.clone(),
            posts: Arc::default(),
            links: links.clone(),
            quarantine: Quarantine::default(),
        }),
        submit_bid: Arc::new(SubmitBid {
            requests: requests.clone(),
            signal: Arc::new(RecordingWorkSignal::new()),
            links,
            deadline: Duration::from_secs(900),
        }),
        reject_lead: Arc::new(RejectLead {
            requests: requests.clone(),
        }),
        upload_attachments: Arc::new(UploadAttachments { blobs, requests }),
        description: Arc::new(Description::of_service_at("http://api.test/")),
        origins: AllowedOrigins::parse(["https://app.test"]).unwrap(),
        entropy,
        readiness: Arc::new(HeldReadiness::new(readiness)),
        metrics: metrics.clone(),
        runtime: UseCaseRuntime::new(runtime.handle().clone()),
    }
}

pub(crate) fn organization(id: &str, status: SubscriptionStatus, proposal_limit: u32) -> ProvisioningChange {
    ProvisioningChange::PutOrganization {
        id: OrganizationId::parse(id).unwrap(),
        name: id.to_owned(),
        subscription: Subscription {
            status,
            collection_paused: false,
            period_start: Timestamp::from_seconds(1_789_000_000),
            period_end: Timestamp::from_seconds(1_792_000_000),
            renewal: Renewal::SameLength,
            proposal_limit: Some(proposal_limit),
            customer: None,
        },
    }
}

pub(crate) fn api_key(organization: &str, id: &str, key: &str, revoked: bool) -> ProvisioningChange {
    let organization_id = OrganizationId::parse(organization).unwrap();
    let record = ApiKeyRecord {
        id: ApiKeyId::parse(id).unwrap(),
        organization_id: organization_id.clone(),
        name: format!("{id}'s name"),
        created_at: Timestamp::default(),
        last_used_at: None,
        expires_at: None,
        revoked_at: revoked.then(Timestamp::default),
    };
    ProvisioningChange::PutApiKey(organization_id, record, ApiKey::parse(key).unwrap().hash())
}

fn campaign(organization: &str, id: &str, account: Option<&str>) -> ProvisioningChange {
    let record = CampaignRecord {
        id: CampaignId::parse(id).unwrap(),
        name: format!("{id}'s name"),
        mode: CampaignMode::External,
        state: CampaignState::Paused,
        account_id: account.map(|id| AccountId::parse(id).unwrap()),
        bidding_config: BiddingConfig::default(),
        proposal: ProposalTemplate::default(),
        attachments: Vec::new(),
        filters: Vec::new(),
    };
    ProvisioningChange::PutCampaign(OrganizationId::parse(organization).unwrap(), Box::new(record))
}

async fn commit(store: &MemoryStore, changes: &[ProvisioningChange]) {
    let revision = store.revision().await.unwrap();
    let committed = store.commit(revision, changes, Timestamp::default()).await;
    assert_eq!(committed, Ok(CommitProvisioning::Committed));
}

async fn populate(store: &MemoryStore) {
    let account = AccountRecord {
        id: AccountId::parse("acct").unwrap(),
        name: "Jane".to_owned(),
        token: MarketplaceToken::unchecked("token".to_owned()),
        connected: true,
    };
    let org_a = OrganizationId::parse(ORG).unwrap();
    commit(
        store,
        &[
            organization(ORG, SubscriptionStatus::Active, QUOTA),
            organization("org_b", SubscriptionStatus::Active, QUOTA),
            api_key(ORG, "key_a", &key(), false),
            ProvisioningChange::PutAccount(org_a, account),
            campaign(ORG, CAMPAIGN, Some("acct")),
            campaign(ORG, BARE_CAMPAIGN, None),
            campaign("org_b", FOREIGN_CAMPAIGN, None),
        ],
    )
    .await;
    let place = |organization: &str, campaign: &str| {
        (
            OrganizationId::parse(organization).unwrap(),
            CampaignId::parse(campaign).unwrap(),
        )
    };
    let jobs = (0..JOBS)
        .map(|index| {
            let posted_at = 1_789_999_000_000_i64 + i64::try_from(index).unwrap();
            let questions: &[&str] = if index == 0 { &[] } else { &QUESTIONS };
            MatchedJob {
                id: JobId::parse(&format!("job{index}")).unwrap(),
                posted_at: Timestamp::from_millis(posted_at),
                json: json!({
                    "id": format!("job{index}"), "ciphertext": "~1", "title": format!("Job {index}"),
                    "description": "Zürich \"quoted\"", "url": "/jobs/~1", "postedAt": posted_at,
                    "questions": questions, "metadata": {"paymentType": "Hourly"},
                })
                .to_string(),
                signature: JobSignature::ALL_SET,
                campaigns: vec![
                    place(ORG, CAMPAIGN),
                    place(ORG, BARE_CAMPAIGN),
                    place("org_b", FOREIGN_CAMPAIGN),
                ],
            }
        })
        .collect();
    let page = MatchedPage {
        read_from: None,
        cursor: Some(FeedCursor("1".to_owned())),
        revision: store.revision().await.unwrap(),
        at: Timestamp::from_seconds(1_790_000_000),
        act_within: None,
        jobs,
    };
    assert!(matches!(
        store.record_page(&page).await,
        Ok(RecordPage::Recorded(_))
    ));
    for (organization, campaign) in [
        place(ORG, CAMPAIGN),
        place(ORG, BARE_CAMPAIGN),
        place("org_b", FOREIGN_CAMPAIGN),
    ] {
        store.page(&organization, &campaign, 0, 100).await.unwrap();
    }
}
