//! [`Console`]: the use cases behind the pages.

use std::sync::Arc;

use bidloop_domain::port::{Clock, Entropy};
use bidloop_domain::use_case::{
    ChangePassword, ConnectAccount, FindLead, FirstRun, Invitations, ListCampaigns, ManageApiKeys,
    ManageLead, ManageMembers, ManageOrganization, ManagePersonalTokens, PreviewBid, RejectLead,
    SearchActivity, Sessions, ShowAccounts, ShowBidding, ShowBilling, ShowDeliveries, ShowFeed,
    ShowIntegrations, ShowLead, ShowOverview, ShowReadiness, ShowShell, SignIn, SubmitBid, TryEndpoints,
    TryFilter, UploadAttachments, UseLink,
};
use bidloop_http_server::{TrustedProxies, UseCaseRuntime};

use crate::guard::ConsoleAddress;
use crate::previews::Previews;
use crate::streams::Streams;

/// The use cases of the pages. All workers share one value.
#[derive(Debug, Clone)]
pub struct Console {
    /// Where the console is reached.
    pub address: ConsoleAddress,
    /// The proxies in front of it, which say where requests come from.
    pub proxies: TrustedProxies,
    /// Signs people in.
    pub sign_in: Arc<SignIn>,
    /// Finds and ends sessions.
    pub sessions: Arc<Sessions>,
    /// Sets up an installation without people.
    pub first_run: Arc<FirstRun>,
    /// Changes passwords.
    pub change_password: Arc<ChangePassword>,
    /// The organization's people.
    pub manage_members: Arc<ManageMembers>,
    /// Links by which people join or set another password.
    pub invitations: Arc<Invitations>,
    /// Uses such links.
    pub use_link: Arc<UseLink>,
    /// Personal tokens.
    pub manage_tokens: Arc<ManagePersonalTokens>,
    /// What stands on every page.
    pub show_shell: Arc<ShowShell>,
    /// The overview.
    pub show_overview: Arc<ShowOverview>,
    /// The campaigns.
    pub list_campaigns: Arc<ListCampaigns>,
    /// What a campaign bids with.
    pub show_readiness: Arc<ShowReadiness>,
    /// The Activity record.
    pub search_activity: Arc<SearchActivity>,
    /// API keys.
    pub manage_api_keys: Arc<ManageApiKeys>,
    /// Changes settings.
    pub manage_organization: Arc<ManageOrganization>,
    /// A campaign's Feed.
    pub show_feed: Arc<ShowFeed>,
    /// Filters, and what they would match.
    pub try_filter: Arc<TryFilter>,
    /// Places for previews of filters.
    pub previews: Arc<Previews>,
    /// A lead's page.
    pub show_lead: Arc<ShowLead>,
    /// Finds matches, and makes leads of them.
    pub find_lead: Arc<FindLead>,
    /// Computes bids.
    pub preview_bid: Arc<PreviewBid>,
    /// Takes files for bids.
    pub upload_attachments: Arc<UploadAttachments>,
    /// Takes bids.
    pub submit_bid: Arc<SubmitBid>,
    /// Rejects leads.
    pub reject_lead: Arc<RejectLead>,
    /// Tells open pages of changes.
    pub streams: Arc<Streams>,
    /// Reopens leads and settles their bids.
    pub manage_lead: Arc<ManageLead>,
    /// Triggers leads and tests endpoints.
    pub try_endpoints: Arc<TryEndpoints>,
    /// Asks the marketplace about tokens.
    pub connect_account: Arc<ConnectAccount>,
    /// Bidder accounts.
    pub show_accounts: Arc<ShowAccounts>,
    /// The subscription and its use.
    pub show_billing: Arc<ShowBilling>,
    /// What a campaign's bids do.
    pub show_bidding: Arc<ShowBidding>,
    /// Endpoints.
    pub show_integrations: Arc<ShowIntegrations>,
    /// What endpoints were sent.
    pub show_deliveries: Arc<ShowDeliveries>,
    /// Masks the tokens of forms.
    pub entropy: Arc<dyn Entropy>,
    /// The time that pages show ages at.
    pub clock: Arc<dyn Clock>,
    /// Runs the use cases. A page reads on the thread of its request, unless that computes for long.
    pub runtime: UseCaseRuntime,
}
