//! [`ToolServer`]: the parts of the tool server.

use std::sync::Arc;

use bidloop_domain::port::Entropy;
use bidloop_domain::use_case::{
    AuthenticatePersonalToken, DescribeLead, ExplainMatch, FindLead, ListCampaigns, ListLeads,
    ListLeadsOfStatus, ManageApiKeys, RejectLead, SearchActivity, SubmitBid, TryFilter,
};
use bidloop_http_server::UseCaseRuntime;

use crate::{ApiBodies, FilterTests};

/// The use cases and the ports of the tools. All calls share one value.
#[derive(Debug, Clone)]
pub struct ToolServer {
    /// Turns a personal token into its person, anew at every call.
    pub authenticate: Arc<AuthenticatePersonalToken>,
    /// `list_campaigns`.
    pub list_campaigns: Arc<ListCampaigns>,
    /// `list_leads`.
    pub list_leads: Arc<ListLeads>,
    /// `list_leads` with a status.
    pub list_leads_of_status: Arc<ListLeadsOfStatus>,
    /// `get_lead`.
    pub describe_lead: Arc<DescribeLead>,
    /// `explain_match`.
    pub explain_match: Arc<ExplainMatch>,
    /// `test_filter`.
    pub try_filter: Arc<TryFilter>,
    /// How many filters are tested at once.
    pub filter_tests: Arc<FilterTests>,
    /// `list_activity`.
    pub search_activity: Arc<SearchActivity>,
    /// Finds matches that are acted on before they are leads.
    pub find_lead: Arc<FindLead>,
    /// `submit_bid`.
    pub submit_bid: Arc<SubmitBid>,
    /// `reject_lead`.
    pub reject_lead: Arc<RejectLead>,
    /// `create_api_key`, `list_api_keys` and `revoke_api_key`.
    pub manage_api_keys: Arc<ManageApiKeys>,
    /// The HTTP API's requests and errors.
    pub api: ApiBodies,
    /// Makes the boundaries around other people's words.
    pub entropy: Arc<dyn Entropy>,
    /// Runs the use cases.
    pub runtime: UseCaseRuntime,
}
