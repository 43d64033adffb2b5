//! An HTTP API over in-memory stores: one organization, one campaign, and leads with and without questions.

use std::sync::Arc;
use std::time::Duration;

use actix_web::rt::Runtime;
use actix_web::{App, test};
use async_trait::async_trait;
use bidloop_domain::matching::JobSignature;
use bidloop_domain::model::{
    AccountId, ActivityQuery, ApiKey, ApiKeyId, ApiKeyRecord, BiddingConfig, CampaignId, CampaignMode,
    CampaignState, JobId, LeadId, Links, MarketplaceToken, OrganizationId, ProposalTemplate, Renewal,
    Subscription, SubscriptionStatus, Timestamp,
};
use bidloop_domain::port::{
    AccountRecord, ActivityStore, CampaignRecord, CommitProvisioning, FeedCursor, JobStore, LeadStore,
    MatchedJob, MatchedPage, ProvisioningChange, ProvisioningStore, Quarantine, RecordPage,
};
use bidloop_domain::use_case::{
    Authenticate, KeyLeases, KeyUses, ListLeads, LocateLead, RejectLead, SubmitBid, UploadAttachments,
};
use bidloop_fakes::{MemoryBlobStore, MemoryStore, RecordingWorkSignal, SequentialEntropy, SimulatedClock};
use bidloop_http_api::{
    AllowedOrigins, BodyLimits, Description, HeldReadiness, HttpApi, Offer, Readiness, RequestMetrics,
    application,
};
use serde_json::json;

pub(crate) const KEY: &str = "lk_a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1";

#[derive(Debug)]
struct Ready;

#[async_trait]
impl Readiness for Ready {
    async fn is_ready(&self) -> bool {
        true
    }
}

#[derive(Debug)]
struct NoMetrics;

impl RequestMetrics for NoMetrics {
    fn answered(&self, _operation: &'static str, _status: u16, _duration: Duration) {}

    fn text(&self) -> String {
        String::new()
    }
}

/// The API, its store, and the time.
pub(crate) struct World {
    pub(crate) api: HttpApi,
    pub(crate) store: Arc<MemoryStore>,
}

fn organization() -> OrganizationId {
    OrganizationId::parse("org").expect("a valid id")
}

fn campaign() -> CampaignId {
    CampaignId::parse("camp").expect("a valid id")
}

fn job(number: usize) -> JobId {
    JobId::parse(&format!("job{number}")).expect("a valid id")
}

/// The path of an operation on the lead of the n-th job.
pub(crate) fn path(number: usize, operation: &str) -> String {
    let lead = LeadId::derive(&organization(), &campaign(), &job(number));
    format!("/v1/campaigns/camp/leads/{lead}/{operation}")
}

impl World {
    pub(crate) async fn new() -> Self {
        let store = Arc::new(MemoryStore::new());
        populate(&store).await;
        let clock = Arc::new(SimulatedClock::at(Timestamp::from_seconds(1_790_000_000)));
        let entropy = Arc::new(SequentialEntropy::new());
        let links = Links::new("http://api.test", Some("http://market.test"));
        let requests = store.lead_requests(&clock, &entropy);
        let api = HttpApi {
            origins: AllowedOrigins::None,
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
            upload_attachments: Arc::new(UploadAttachments {
                blobs: Arc::new(MemoryBlobStore::new()),
                requests,
            }),
            description: Arc::new(Description::of_service_at("http://api.test")),
            entropy,
            readiness: Arc::new(HeldReadiness::new(Arc::new(Ready))),
            metrics: Arc::new(NoMetrics),
            runtime: bidloop_http_server::UseCaseRuntime::current(),
        };
        Self { api, store }
    }
}

async fn populate(store: &MemoryStore) {
    let key = ApiKeyRecord {
        id: ApiKeyId::parse("key").expect("a valid id"),
        organization_id: organization(),
        name: "key".to_owned(),
        created_at: Timestamp::default(),
        last_used_at: None,
        expires_at: None,
        revoked_at: None,
    };
    let changes = [
        ProvisioningChange::PutOrganization {
            id: organization(),
            name: "Organization".to_owned(),
            subscription: Subscription {
                status: SubscriptionStatus::Active,
                collection_paused: false,
                period_start: Timestamp::from_seconds(1_789_000_000),
                period_end: Timestamp::from_seconds(1_792_000_000),
                renewal: Renewal::SameLength,
                proposal_limit: Some(100),
                customer: None,
            },
        },
        ProvisioningChange::PutApiKey(
            organization(),
            key,
            ApiKey::parse(KEY).expect("a valid key").hash(),
        ),
        ProvisioningChange::PutAccount(
            organization(),
            AccountRecord {
                id: AccountId::parse("acct").expect("a valid id"),
                name: "Jane".to_owned(),
                token: MarketplaceToken::unchecked("token".to_owned()),
                connected: true,
            },
        ),
        ProvisioningChange::PutCampaign(
            organization(),
            Box::new(CampaignRecord {
                id: campaign(),
                name: "Campaign".to_owned(),
                mode: CampaignMode::External,
                state: CampaignState::Paused,
                account_id: AccountId::parse("acct").ok(),
                bidding_config: BiddingConfig::default(),
                proposal: ProposalTemplate::default(),
                attachments: Vec::new(),
                filters: Vec::new(),
            }),
        ),
    ];
    let revision = store.revision().await.expect("a store in memory");
    let committed = store.commit(revision, &changes, Timestamp::default()).await;
    assert_eq!(committed, Ok(CommitProvisioning::Committed));
    let jobs = (0..2)
        .map(|number| MatchedJob {
            id: job(number),
            posted_at: Timestamp::from_millis(1_789_999_000_000),
            json: json!({
                "id": job(number).as_str(), "ciphertext": "~1", "title": "Job", "description": "Text",
                "url": "/jobs/~1", "postedAt": 1_789_999_000_000_i64,
                "questions": (0..number).map(|_| "Why you?").collect::<Vec<_>>(),
                "metadata": {"paymentType": "Hourly", "hourlyRate": {"min": 20, "max": 40}},
            })
            .to_string(),
            signature: JobSignature::ALL_SET,
            campaigns: vec![(organization(), campaign())],
        })
        .collect();
    let page = MatchedPage {
        read_from: None,
        cursor: Some(FeedCursor("1".to_owned())),
        revision: store.revision().await.expect("a store in memory"),
        at: Timestamp::from_seconds(1_790_000_000),
        act_within: None,
        jobs,
    };
    let recorded = store.record_page(&page).await;
    assert!(matches!(recorded, Ok(RecordPage::Recorded(_))), "{recorded:?}");
    store
        .page(&organization(), &campaign(), 0, 100)
        .await
        .expect("a store in memory");
}

/// What a request led to.
pub(crate) struct Answered {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
    /// Bytes of JSON of the Activity record.
    pub(crate) recorded: usize,
}

/// Sends a POST to a new world.
pub(crate) fn post(path: &str, content_type: &str, key: &str, body: Vec<u8>) -> Answered {
    RUNTIME.with(|runtime| runtime.block_on(send(path, content_type, key, body)))
}

thread_local! {
    static RUNTIME: Runtime = Runtime::new().expect("a runtime on this thread");
}

async fn send(path: &str, content_type: &str, key: &str, body: Vec<u8>) -> Answered {
    let World { api, store } = World::new().await;
    let app = App::new().configure(application(api, Offer::OperationsOnly, BodyLimits::DEFAULT));
    let service = test::init_service(app).await;
    let request = test::TestRequest::post()
        .uri(path)
        .insert_header(("Authorization", format!("Bearer {key}")))
        .insert_header(("Content-Type", content_type))
        .set_payload(body)
        .to_request();
    let answer = test::call_service(&service, request).await;
    let status = answer.status().as_u16();
    let body = test::read_body(answer).await.to_vec();
    let query = ActivityQuery {
        limit: 10,
        ..ActivityQuery::default()
    };
    let activities = store.list(&query).await.expect("a store in memory");
    let recorded = serde_json::to_vec(&activities)
        .expect("Activity has a JSON form")
        .len();
    Answered {
        status,
        body,
        recorded,
    }
}
