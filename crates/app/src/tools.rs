//! Wires the tool server: its tools' use cases, on the stores and ports of the service.

use std::net::SocketAddr;
use std::sync::Arc;

use bidloop_domain::model::Links;
use bidloop_domain::port::{Clock, Entropy};
use bidloop_domain::use_case::{
    AuthenticatePersonalToken, DescribeLead, ExplainMatch, ListCampaigns, ListLeadsOfStatus, ManageApiKeys,
    SearchActivity, TryFilter,
};
use bidloop_http_api::bodies;
use bidloop_http_server::UseCaseRuntime;
use bidloop_mcp::http::{CallMetrics, McpServer, OwnHosts};
use bidloop_mcp::{ApiBodies, FilterTests, ToolServer};

use crate::service::Service;
use crate::settings::Settings;
use crate::system::{SystemClock, SystemEntropy};

/// The tools of a service whose API is reached under `base_url`.
pub(crate) fn tool_server(service: &Service, settings: &Settings, base_url: &str) -> ToolServer {
    let stores = &service.stores;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let entropy: Arc<dyn Entropy> = Arc::new(SystemEntropy);
    let links = Links::new(base_url, settings.marketplace_url());
    ToolServer {
        authenticate: Arc::new(AuthenticatePersonalToken {
            people: Arc::clone(&stores.people),
            clock: Arc::clone(&clock),
        }),
        list_campaigns: Arc::new(ListCampaigns {
            store: Arc::clone(&stores.overview),
            statistics: Arc::clone(&stores.statistics),
            clock: Arc::clone(&clock),
        }),
        list_leads: Arc::clone(&service.list_leads),
        list_leads_of_status: Arc::new(ListLeadsOfStatus {
            feed: Arc::clone(&stores.campaign_feed),
            links: links.clone(),
            quarantine: service.quarantine.clone(),
        }),
        describe_lead: Arc::new(DescribeLead {
            find: stores.find_lead(),
            links: links.clone(),
        }),
        explain_match: Arc::new(ExplainMatch {
            find: stores.find_lead(),
        }),
        try_filter: Arc::new(TryFilter {
            matches: Arc::clone(&stores.matches),
            feed: Arc::clone(&stores.campaign_feed),
            links,
            quarantine: service.quarantine.clone(),
        }),
        filter_tests: Arc::new(FilterTests::default()),
        search_activity: Arc::new(SearchActivity {
            activities: Arc::clone(&stores.activities),
            feed: Arc::clone(&stores.campaign_feed),
        }),
        find_lead: Arc::new(stores.find_lead()),
        submit_bid: Arc::clone(&service.submit_bid),
        reject_lead: Arc::clone(&service.reject_lead),
        manage_api_keys: Arc::new(ManageApiKeys {
            keys: Arc::clone(&stores.api_keys),
            organizations: Arc::clone(&stores.provisioning),
            clock,
            entropy: Arc::clone(&entropy),
            pause: Arc::new(SystemClock),
        }),
        api: ApiBodies {
            read_bid: bodies::read_bid,
            read_rejection: bodies::read_rejection,
            error_body: bodies::error_body,
        },
        entropy,
        runtime: UseCaseRuntime::current(),
    }
}

/// The tools over HTTP.
pub(crate) fn mcp_server(
    service: &Service,
    settings: &Settings,
    base_url: &str,
    hosts: OwnHosts,
) -> McpServer {
    McpServer {
        tools: tool_server(service, settings, base_url),
        hosts,
        metrics: Arc::clone(&service.metrics) as Arc<dyn CallMetrics>,
    }
}

/// The hosts under which clients reach the tool server that listens on `address`.
pub(crate) fn own_hosts(settings: &Settings, address: SocketAddr, base_url: &str) -> OwnHosts {
    let own = settings.mcp.as_ref().and_then(|mcp| mcp.base_url.as_deref());
    let urls: Vec<&str> = own.into_iter().chain([base_url]).collect();
    OwnHosts::new(address, &urls)
}
