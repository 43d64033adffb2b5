//! What Bidloop does: one file for each use case.
//!
//! A use case is a struct of its ports. All fields are public, so a struct literal builds it. It decides with the pure
//! code of [`bidding`](crate::bidding) and [`provisioning`](crate::provisioning), and changes state through one command of
//! a port at a time. Its tests use the fakes. They are in `tests/use_case/` under the same name, or next to the file.
//!
//! | who | use case | does |
//! |---|---|---|
//! | an API caller | [`Authenticate`] | turns a key into a [`Caller`] |
//! | | [`ListLeads`] | returns a page of a campaign's matches |
//! | | [`SubmitBid`] | validates and queues a bid, or simulates it |
//! | | [`RejectLead`] | rejects a lead for good |
//! | | [`UploadAttachments`] | takes files for a lead's proposal |
//! | | [`LocateLead`] | checks whether a campaign or lead exists |
//! | a person's tool | [`AuthenticatePersonalToken`] | turns a personal token into a member with a scope |
//! | | [`ListLeadsOfStatus`] | lists a campaign's leads of one status |
//! | | [`DescribeLead`] | shows a lead of a campaign, with its configuration and bid |
//! | | [`ExplainMatch`] | tells what each filter of a campaign says to a lead's job |
//! | a person | [`SignIn`] | turns an address and a password into a session |
//! | | [`Sessions`] | says who is signed in, signs out, shows another organization |
//! | | [`FirstRun`] | creates the first organization and its owner |
//! | | [`UseLink`] | joins an organization, or sets another password, with a link |
//! | | [`ChangePassword`] | sets another password |
//! | a person in the console | [`ShowFeed`] | shows a campaign's matches, by status or by words |
//! | | [`ShowLead`] | shows one lead, with what happened to it |
//! | | [`PreviewBid`] | computes a bid without sending it |
//! | | [`TryFilter`] | tries a filter on stored jobs |
//! | | [`ShowDeliveries`] | shows what an endpoint was sent, and its answers |
//! | | [`SearchActivity`] | searches the Activity record, and writes it as CSV |
//! | | [`TryEndpoints`] | triggers a lead's event anew, tests an endpoint |
//! | | [`ManageLead`] | configures or reopens a lead, settles its bid |
//! | | [`NoticeChanges`] | tells which open pages are out of date |
//! | | [`FindLead`] | finds a lead or a match, and makes a match a lead |
//! | the workers | [`TakeTurns`] | lets one process read the feed at a time |
//! | | [`IngestJobs`] | reads the feed, matches jobs, records leads and queued work |
//! | | [`BackfillMatches`] | matches stored jobs again after a filter changed |
//! | | [`DeliverWebhooks`] | sends each event once |
//! | | [`WriteAutomaticBids`] | bids by template for automatic campaigns |
//! | | [`SubmitProposals`] | sends queued bids to the marketplace, exactly once |
//! | | [`Prune`] | removes what is older than the operator wants to keep |
//! | | [`EraseOrganizations`] | removes what removed organizations had |
//! | a person in the console | [`ManageOrganization`] | changes one thing of the settings, and records it |
//! | | [`CampaignUpload`] | takes files for a campaign's proposals |
//! | | [`ManageMembers`] | lists members, changes their roles, removes them |
//! | | [`Invitations`] | makes links by which people join or set another password |
//! | | [`ManagePersonalTokens`] | makes, lists and revokes a person's tokens |
//! | | [`ConnectAccount`] | asks the marketplace about a bidder account's token |
//! | | [`ShowShell`] | tells what stands on every page |
//! | | [`ShowOverview`] | tells what a period brought in, and what is in trouble |
//! | | [`ShowIntegrations`] | shows a campaign's or the organization's endpoints |
//! | | [`ShowAccounts`] | shows bidder accounts |
//! | | [`ShowBilling`] | shows the subscription and its use |
//! | | [`ShowBidding`] | shows what a campaign's bids do, and what its template writes |
//! | | [`ListCampaigns`] | lists campaigns with what they lack and brought in |
//! | | [`ShowReadiness`] | shows what a campaign bids with |
//! | an operator | [`ApplyProvisioning`] | makes the store agree with a provisioning file |
//! | | [`ManageApiKeys`] | creates, lists and revokes keys |
//! | | [`OperateLeads`] | shows, configures and reopens a lead |
//! | | [`SettleBids`] | lists queued bids, and ends those whose answer cannot be had |
//! | | [`ListActivity`] | lists the Activity record |
//! | | [`FollowActivity`] | tells what is added to it |
//! | | [`ListOrganizations`] | lists organizations |
//!
//! All requests on leads fail with one [`LeadError`], and leave one entry in the Activity record ([`LeadRequests`]).

mod acting_member;
pub(crate) mod apply_provisioning;
mod attachment_paths;
mod authenticate;
mod authenticate_token;
mod backfill_matches;
mod campaign_filters;
mod change_password;
mod connect_account;
mod current_filters;
mod deliver_webhooks;
mod describe_lead;
mod erase_organizations;
mod explain_match;
mod first_run;
mod follow_activity;
mod follow_billing;
mod ingest_jobs;
mod invitations;
mod key_leases;
mod lead_address;
mod lead_error;
mod lead_request;
mod list_activity;
mod list_campaigns;
mod list_leads;
mod list_leads_of_status;
mod list_organizations;
mod load_filters;
mod locate_lead;
mod manage_api_keys;
mod manage_lead;
mod manage_members;
mod manage_organization;
mod manage_tokens;
mod matched_filters;
mod new_ids;
mod notice_changes;
mod operate_leads;
mod people_commits;
mod post_cache;
mod preview_bid;
mod prune;
mod reject_lead;
mod scan_stored_jobs;
mod search_activity;
mod sessions;
mod settle_bids;
mod show_accounts;
mod show_bidding;
mod show_billing;
mod show_deliveries;
mod show_feed;
mod show_integrations;
mod show_lead;
mod show_overview;
mod show_readiness;
mod show_shell;
mod sign_in;
mod staged_files;
mod submit_bid;
mod submit_proposals;
mod take_turns;
mod throttle;
mod try_endpoints;
mod try_filter;
mod upload_attachments;
mod upload_campaign_files;
mod use_link;
mod webhook_body;
mod write_automatic_bids;
mod written_proposal;

pub use acting_member::ActingMember;
pub use apply_provisioning::{ApplyProvisioning, ApplyProvisioningError};
pub use authenticate::{Authenticate, AuthenticateError, Caller, KeyUses};
pub use authenticate_token::{AuthenticatePersonalToken, TokenCaller};
pub use backfill_matches::{BackfillMatches, BackfillReport, BackfillRun};
pub use change_password::ChangePassword;
pub use connect_account::{ConnectAccount, ConnectAccountError};
pub use current_filters::CurrentFilters;
pub use deliver_webhooks::{DeliverWebhooks, InFlight, MAX_IN_FLIGHT, SentDelivery};
pub use describe_lead::DescribeLead;
pub use erase_organizations::{EraseError, EraseFailure, EraseOrganizations, Erased, ErasureRun};
pub use explain_match::ExplainMatch;
pub use first_run::{FirstRun, FirstRunError, FirstRunField, FirstRunForm, MAX_NAME_CHARS};
pub use follow_activity::FollowActivity;
pub use follow_billing::{BillingEvent, FollowBilling, FollowBillingError, Followed};
pub use ingest_jobs::{IngestError, IngestJobs, IngestedPage};
pub use invitations::{Invitations, MAX_MEMBERS, MAX_OPEN_LINKS, MadeLink, NewInvitation};
pub use key_leases::KeyLeases;
pub use lead_address::{FindLead, LeadAddress};
pub use lead_error::LeadError;
pub use lead_request::{HttpStatusOf, LeadRequests, Requester};
pub use list_activity::{DEFAULT_ACTIVITY_LIMIT, ListActivity};
pub use list_campaigns::{ListCampaigns, ListedCampaign};
pub use list_leads::{ListLeads, ListedLeads, MAX_PAGE, Piece};
pub use list_leads_of_status::ListLeadsOfStatus;
pub use list_organizations::ListOrganizations;
pub use locate_lead::LocateLead;
pub use manage_api_keys::{CreatedApiKey, ManageApiKeys, ManageApiKeysError, NewApiKey};
pub use manage_lead::{ManageLead, ManageLeadError};
pub use manage_members::{ListedMembers, ManageMembers};
pub use manage_organization::{Changed, ManageOrganization, ManageOrganizationError, OrganizationChange};
pub use manage_tokens::{MAX_TOKENS, MadeToken, ManagePersonalTokens, NewPersonalToken, TokenHolder};
pub use matched_filters::MatchedFilter;
pub use notice_changes::{NoticeChanges, NoticedChange};
pub use operate_leads::{OperateLeads, OperateLeadsError, ShownLead};
pub use people_commits::{PeopleCommits, PeopleError};
pub use post_cache::PostCache;
pub use preview_bid::{
    AskMarketplace, BidPreview, LiveLooks, PreviewAccount, PreviewBasis, PreviewBid, PreviewedProposal,
};
pub use prune::{PrunableCount, Prune, PruneRun, Retention};
pub use reject_lead::{MAX_REASON_CHARS, RejectLead};
pub use scan_stored_jobs::JobScan;
pub use search_activity::{ACTIVITY_PAGE, ActivityPage, CsvPart, MAX_NEW_ENTRIES, SearchActivity};
pub use sessions::{Sessions, SignedIn};
pub use settle_bids::{SettleBids, SettleBidsError, Settlement};
pub use show_accounts::{ShowAccounts, ShownAccount};
pub use show_bidding::{CampaignAccount, CampaignBidding, ShowBidding, TemplatePreview};
pub use show_billing::{AccountConnects, Billing, ShowBilling};
pub use show_deliveries::{SHOWN_DELIVERIES, ShowDeliveries, ShownDelivery};
pub use show_feed::{FEED_PAGE, FeedCard, FeedPart, FeedRequest, MAX_NEW, MAX_NEWER, ShowFeed, ShownFeed};
pub use show_integrations::{Integrations, ShowIntegrations};
pub use show_lead::{LeadBid, LeadEvent, LeadPageView, ShowLead, TIMELINE, TimelineEntry};
pub use show_overview::{
    CampaignFigures, Ending, EndpointFigures, Funnel, Overview, OverviewPeriod, ShowOverview, Times, TimesAt,
    Totals, Trouble,
};
pub use show_readiness::{Readiness, ShowReadiness};
pub use show_shell::{MarketplaceReading, Shell, ShowShell};
pub use sign_in::SignIn;
pub use staged_files::PartHead;
pub use submit_bid::{BidAccepted, SubmitBid};
pub use submit_proposals::{LEASE, SubmissionOutcome, SubmitProposals};
pub use take_turns::{TakeTurns, Turn};
pub use throttle::{Throttle, TryError};
pub use try_endpoints::{TestWith, TriedDelivery, TryEndpoints, TryEndpointsError};
pub use try_filter::{
    ExpressionFault, FilterPreview, NEAR_MISSES_AMONG, PREVIEWED, PreviewedJob, TriedJob, TryFilter,
    check_expression,
};
pub use upload_attachments::{UploadAttachments, UploadSession};
pub use upload_campaign_files::CampaignUpload;
pub use use_link::{LinkAsks, LinkForm, OpenedLink, UseLink};
pub use write_automatic_bids::{AutomaticBidOutcome, WriteAutomaticBids};
