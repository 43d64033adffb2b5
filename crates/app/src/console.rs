//! Wires the console: its pages' use cases, on the stores and ports of the service.

use std::sync::Arc;

use bidloop_console::{Console, ConsoleAddress, Previews, Streams};
use bidloop_domain::model::Links;
use bidloop_domain::port::{Clock, Entropy, LeaseOwner, LinkMailer, WorkSignal};
use bidloop_domain::use_case::{
    ApplyProvisioning, ConnectAccount, DeliverWebhooks, InFlight, Invitations, ListCampaigns, MAX_IN_FLIGHT,
    ManageApiKeys, ManageLead, ManageOrganization, PreviewBid, SearchActivity, SettleBids, ShowAccounts,
    ShowBidding, ShowBilling, ShowDeliveries, ShowFeed, ShowIntegrations, ShowLead, ShowOverview,
    ShowReadiness, ShowShell, TryEndpoints, TryFilter,
};
use bidloop_http_server::UseCaseRuntime;
use bidloop_mail::SmtpLinkMailer;
use bidloop_templates::JinjaProposalWriter;

use crate::service::{Service, webhook_sender};
use crate::settings::Settings;
use crate::system::{SystemClock, SystemEntropy};

/// The console of a service that is reached under `base_url`.
pub(crate) fn console(service: &Service, settings: &Settings, base_url: &str) -> Console {
    let stores = &service.stores;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let entropy: Arc<dyn Entropy> = Arc::new(SystemEntropy);
    let links = Links::new(base_url, settings.marketplace_url());
    let provisioning = ApplyProvisioning {
        store: Arc::clone(&stores.provisioning),
        blobs: Arc::clone(&service.blobs),
        templates: Arc::new(JinjaProposalWriter::new()),
        passwords: Arc::clone(&service.people.sign_in.throttle.passwords),
        clock: Arc::clone(&clock),
        entropy: Arc::clone(&entropy),
        signal: Arc::clone(&service.notifiers) as Arc<dyn WorkSignal>,
        pause: Arc::new(SystemClock),
    };
    Console {
        address: ConsoleAddress::of(base_url),
        proxies: settings.server.trusted_proxies.clone(),
        sign_in: Arc::clone(&service.people.sign_in),
        sessions: Arc::clone(&service.people.sessions),
        first_run: Arc::clone(&service.people.first_run),
        change_password: Arc::clone(&service.people.change_password),
        manage_members: Arc::clone(&service.people.manage_members),
        invitations: Arc::new(Invitations {
            commits: service.people.manage_members.commits.clone(),
            mailer: settings.mail.clone().map(|mail| {
                let mailer: Arc<dyn LinkMailer> = Arc::new(SmtpLinkMailer::new(mail, base_url));
                mailer
            }),
        }),
        use_link: Arc::clone(&service.people.use_link),
        manage_tokens: Arc::clone(&service.people.manage_tokens),
        show_shell: Arc::new(ShowShell {
            store: Arc::clone(&stores.overview),
            clock: Arc::clone(&clock),
        }),
        show_overview: Arc::new(ShowOverview {
            store: Arc::clone(&stores.overview),
            statistics: Arc::clone(&stores.statistics),
            clock: Arc::clone(&clock),
        }),
        list_campaigns: Arc::new(ListCampaigns {
            store: Arc::clone(&stores.overview),
            statistics: Arc::clone(&stores.statistics),
            clock: Arc::clone(&clock),
        }),
        show_readiness: Arc::new(ShowReadiness {
            store: Arc::clone(&stores.overview),
            clock: Arc::clone(&clock),
        }),
        search_activity: Arc::new(SearchActivity {
            activities: Arc::clone(&stores.activities),
            feed: Arc::clone(&stores.campaign_feed),
        }),
        manage_api_keys: Arc::new(ManageApiKeys {
            keys: Arc::clone(&stores.api_keys),
            organizations: Arc::clone(&stores.provisioning),
            clock: Arc::clone(&clock),
            entropy: Arc::clone(&entropy),
            pause: Arc::new(SystemClock),
        }),
        manage_organization: Arc::new(ManageOrganization {
            provisioning,
            sender: Arc::new(webhook_sender(settings)),
            matches: Arc::clone(&stores.matches),
            pause: Arc::new(SystemClock),
        }),
        show_feed: Arc::new(ShowFeed {
            feed: Arc::clone(&stores.campaign_feed),
            links: links.clone(),
            quarantine: service.quarantine.clone(),
        }),
        try_filter: Arc::new(TryFilter {
            matches: Arc::clone(&stores.matches),
            feed: Arc::clone(&stores.campaign_feed),
            links: links.clone(),
            quarantine: service.quarantine.clone(),
        }),
        show_lead: Arc::new(ShowLead {
            find: stores.find_lead(),
            activities: Arc::clone(&stores.activities),
            links: links.clone(),
        }),
        upload_attachments: Arc::clone(&service.upload_attachments),
        manage_lead: Arc::new(ManageLead {
            requests: service.reject_lead.requests.clone(),
            settle_bids: Arc::new(SettleBids {
                store: Arc::clone(&stores.submissions),
                clock: Arc::clone(&clock),
                entropy: Arc::clone(&entropy),
                links: links.clone(),
            }),
        }),
        connect_account: Arc::new(ConnectAccount {
            marketplace: service.marketplace(),
        }),
        show_accounts: Arc::new(ShowAccounts {
            store: Arc::clone(&stores.overview),
            clock: Arc::clone(&clock),
        }),
        show_billing: Arc::new(ShowBilling {
            store: Arc::clone(&stores.overview),
            statistics: Arc::clone(&stores.statistics),
            clock: Arc::clone(&clock),
        }),
        show_bidding: Arc::new(ShowBidding {
            provisioning: Arc::clone(&stores.provisioning),
            find: stores.find_lead(),
            statistics: Arc::clone(&stores.statistics),
            writer: Arc::new(JinjaProposalWriter::new()),
            links: links.clone(),
            clock: Arc::clone(&clock),
        }),
        show_integrations: Arc::new(ShowIntegrations {
            store: Arc::clone(&stores.overview),
            clock: Arc::clone(&clock),
        }),
        show_deliveries: Arc::new(ShowDeliveries {
            deliveries: Arc::clone(&stores.delivery_records),
            links: links.clone(),
        }),
        try_endpoints: Arc::new(TryEndpoints {
            deliver: DeliverWebhooks {
                store: Arc::clone(&stores.deliveries),
                sender: Arc::new(webhook_sender(settings)),
                clock: Arc::clone(&clock),
                links,
                owner: LeaseOwner::new(format!("console/{}", entropy.uuid())),
                max_in_flight: MAX_IN_FLIGHT,
                in_flight: InFlight::default(),
            },
            find: stores.find_lead(),
            records: Arc::clone(&stores.delivery_records),
            entropy: Arc::clone(&entropy),
            pause: Arc::new(SystemClock),
        }),
        previews: Arc::new(Previews::default()),
        streams: Streams::new(Arc::clone(&stores.overview)),
        find_lead: Arc::new(stores.find_lead()),
        preview_bid: Arc::new(PreviewBid {
            find: stores.find_lead(),
            marketplace: service.marketplace(),
            clock: Arc::clone(&clock),
            pause: Arc::new(SystemClock),
            looks: Arc::default(),
        }),
        submit_bid: Arc::clone(&service.submit_bid),
        reject_lead: Arc::clone(&service.reject_lead),
        entropy,
        clock,
        runtime: UseCaseRuntime::current(),
    }
}
