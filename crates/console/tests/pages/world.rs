//! An organization with a campaign, a lead and an owner who is signed in, and a console over it.

use std::sync::Arc;
use std::time::Duration;

use actix_web::http::header;
use actix_web::test::TestRequest;
use bidloop_console::{Console, ConsoleAddress, Previews, Streams};
use bidloop_domain::model::{ActivityOutcome, Links, MemberRole, SessionToken};
use bidloop_domain::port::{LeaseOwner, Quarantine, SessionStore as _};
use bidloop_domain::use_case::{
    ApplyProvisioning, ChangePassword, ConnectAccount, DeliverWebhooks, FirstRun, InFlight, Invitations,
    ListCampaigns, MAX_IN_FLIGHT, ManageApiKeys, ManageLead, ManageMembers, ManageOrganization,
    ManagePersonalTokens, PeopleCommits, PreviewBid, RejectLead, SearchActivity, Sessions, SettleBids,
    ShowAccounts, ShowBidding, ShowBilling, ShowDeliveries, ShowFeed, ShowIntegrations, ShowLead,
    ShowOverview, ShowReadiness, ShowShell, SignIn, SubmitBid, Throttle, TryEndpoints, TryFilter,
    UploadAttachments, UseLink,
};
use bidloop_fakes::{
    FakeWebhookSender, MemoryBlobStore, MemoryStore, PlaceholderProposalWriter, PlainPasswordHasher,
    RecordingWorkSignal, SequentialEntropy, SimulatedClock,
};
use bidloop_http_server::{TrustedProxies, UseCaseRuntime};
use bidloop_port_contracts::Stores;
use bidloop_port_contracts::fixture::{
    World as Fixture, activities, at, campaign, organization, password_hash, session,
};

const OWNER: &str = "ann@acme.test";

pub(crate) struct World {
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) console: Console,
    fixture: Fixture,
    session: SessionToken,
    /// The page of a new lead.
    pub(crate) lead: String,
}

impl World {
    /// Needs a multi-thread runtime.
    pub(crate) async fn new() -> Self {
        let store = Arc::new(MemoryStore::new());
        let acme = organization("org_acme")
            .user(OWNER, MemberRole::Owner)
            .campaign(campaign("camp"));
        let fixture = Fixture::bare(Stores::of(&store), acme).await;
        let lead = fixture.new_lead("1", at(0)).await;
        let (opened, verified) = (session(OWNER, 1, at(0)), password_hash(OWNER));
        assert_eq!(store.open_session(&opened, &verified).await, Ok(true));
        Self {
            console: console(&store),
            store,
            fixture,
            session: SessionToken::from_random([1; 32]),
            lead: format!("/campaigns/camp/leads/{}", lead.id),
        }
    }

    /// A request of the owner.
    pub(crate) fn by_owner(&self, request: TestRequest) -> TestRequest {
        let token = self.session.csrf(&self.fixture.organization);
        // Masked with zeros.
        let masked = format!("{}{}", "00".repeat(32), token.expose());
        request
            .insert_header((header::HOST, "bidloop.test"))
            .insert_header((header::ORIGIN, "http://bidloop.test"))
            .insert_header((header::COOKIE, format!("bidloop={}", self.session.expose())))
            .insert_header(("x-csrf-token", masked))
    }

    /// How many refused requests are recorded.
    pub(crate) async fn refused(&self) -> usize {
        let recorded = activities(&self.fixture.stores, &self.fixture.organization).await;
        let refused = recorded
            .iter()
            .filter(|entry| entry.outcome == ActivityOutcome::Refused);
        refused.count()
    }
}

fn console(store: &Arc<MemoryStore>) -> Console {
    let (store, clock) = (store.clone(), Arc::new(SimulatedClock::at(at(0))));
    let entropy = Arc::new(SequentialEntropy::new());
    let (sender, signal) = (
        Arc::new(FakeWebhookSender::new()),
        Arc::new(RecordingWorkSignal::new()),
    );
    let (passwords, writer) = (
        Arc::new(PlainPasswordHasher::default()),
        Arc::new(PlaceholderProposalWriter),
    );
    let blobs = Arc::new(MemoryBlobStore::new());
    let links = Links::new("http://bidloop.test", Some("https://market.test"));
    let quarantine = Quarantine::default();
    let find = || store.find_lead();
    let requests = store.lead_requests(&clock, &entropy);
    let commits = PeopleCommits {
        people: store.clone(),
        clock: clock.clone(),
        entropy: entropy.clone(),
    };
    let throttle = Throttle {
        tries: store.clone(),
        passwords: passwords.clone(),
        clock: clock.clone(),
    };
    Console {
        address: ConsoleAddress::of("http://bidloop.test"),
        proxies: TrustedProxies::default(),
        sign_in: Arc::new(SignIn {
            people: store.clone(),
            sessions: store.clone(),
            throttle: throttle.clone(),
            entropy: entropy.clone(),
        }),
        sessions: Arc::new(Sessions {
            sessions: store.clone(),
            clock: clock.clone(),
        }),
        first_run: Arc::new(FirstRun {
            store: store.clone(),
            throttle: throttle.clone(),
            entropy: entropy.clone(),
        }),
        change_password: Arc::new(ChangePassword {
            commits: commits.clone(),
            throttle: throttle.clone(),
        }),
        manage_members: Arc::new(ManageMembers {
            commits: commits.clone(),
        }),
        invitations: Arc::new(Invitations {
            commits: commits.clone(),
            mailer: None,
        }),
        use_link: Arc::new(UseLink {
            commits: commits.clone(),
            throttle,
        }),
        manage_tokens: Arc::new(ManagePersonalTokens { commits }),
        show_shell: Arc::new(ShowShell {
            store: store.clone(),
            clock: clock.clone(),
        }),
        show_overview: Arc::new(ShowOverview {
            store: store.clone(),
            statistics: store.clone(),
            clock: clock.clone(),
        }),
        list_campaigns: Arc::new(ListCampaigns {
            store: store.clone(),
            statistics: store.clone(),
            clock: clock.clone(),
        }),
        show_readiness: Arc::new(ShowReadiness {
            store: store.clone(),
            clock: clock.clone(),
        }),
        search_activity: Arc::new(SearchActivity {
            activities: store.clone(),
            feed: store.clone(),
        }),
        manage_api_keys: Arc::new(ManageApiKeys {
            keys: store.clone(),
            organizations: store.clone(),
            clock: clock.clone(),
            entropy: entropy.clone(),
            pause: clock.clone(),
        }),
        manage_organization: Arc::new(ManageOrganization {
            provisioning: ApplyProvisioning {
                store: store.clone(),
                blobs: blobs.clone(),
                templates: writer.clone(),
                passwords,
                clock: clock.clone(),
                entropy: entropy.clone(),
                signal: signal.clone(),
                pause: clock.clone(),
            },
            sender: sender.clone(),
            matches: store.clone(),
            pause: clock.clone(),
        }),
        show_feed: Arc::new(ShowFeed {
            feed: store.clone(),
            links: links.clone(),
            quarantine: quarantine.clone(),
        }),
        try_filter: Arc::new(TryFilter {
            matches: store.clone(),
            feed: store.clone(),
            links: links.clone(),
            quarantine,
        }),
        previews: Arc::new(Previews::default()),
        show_lead: Arc::new(ShowLead {
            find: find(),
            activities: store.clone(),
            links: links.clone(),
        }),
        find_lead: Arc::new(find()),
        preview_bid: Arc::new(PreviewBid {
            find: find(),
            marketplace: None,
            clock: clock.clone(),
            pause: clock.clone(),
            looks: Arc::default(),
        }),
        upload_attachments: Arc::new(UploadAttachments {
            blobs,
            requests: requests.clone(),
        }),
        submit_bid: Arc::new(SubmitBid {
            requests: requests.clone(),
            signal,
            links: links.clone(),
            deadline: Duration::from_secs(900),
        }),
        reject_lead: Arc::new(RejectLead {
            requests: requests.clone(),
        }),
        streams: Streams::new(store.clone()),
        manage_lead: Arc::new(ManageLead {
            requests,
            settle_bids: Arc::new(SettleBids {
                store: store.clone(),
                clock: clock.clone(),
                entropy: entropy.clone(),
                links: links.clone(),
            }),
        }),
        try_endpoints: Arc::new(TryEndpoints {
            deliver: DeliverWebhooks {
                store: store.clone(),
                sender,
                clock: clock.clone(),
                links: links.clone(),
                owner: LeaseOwner::new("console"),
                max_in_flight: MAX_IN_FLIGHT,
                in_flight: InFlight::default(),
            },
            find: find(),
            records: store.clone(),
            entropy: entropy.clone(),
            pause: clock.clone(),
        }),
        connect_account: Arc::new(ConnectAccount { marketplace: None }),
        show_accounts: Arc::new(ShowAccounts {
            store: store.clone(),
            clock: clock.clone(),
        }),
        show_billing: Arc::new(ShowBilling {
            store: store.clone(),
            statistics: store.clone(),
            clock: clock.clone(),
        }),
        show_bidding: Arc::new(ShowBidding {
            provisioning: store.clone(),
            find: find(),
            statistics: store.clone(),
            writer,
            links: links.clone(),
            clock: clock.clone(),
        }),
        show_integrations: Arc::new(ShowIntegrations {
            store: store.clone(),
            clock: clock.clone(),
        }),
        show_deliveries: Arc::new(ShowDeliveries {
            deliveries: store,
            links,
        }),
        entropy,
        clock,
        runtime: UseCaseRuntime::current(),
    }
}
