//! What the console shows of an organization on its own pages, read without secrets and without a look at the record.

use async_trait::async_trait;

use super::{AccountReading, StoreError};
use crate::bidding::BillingPeriod;
use crate::model::{
    AccountId, CampaignId, CampaignMode, CampaignParts, CampaignState, OrganizationId, Subscription,
    Timestamp, WebhookEndpoint,
};

/// A campaign's name and whether it acts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CampaignSign {
    /// The campaign.
    pub id: CampaignId,
    /// Its name.
    pub name: String,
    /// Who decides on its leads.
    pub mode: CampaignMode,
    /// Whether it acts.
    pub state: CampaignState,
}

/// What stands on every page.
#[derive(Debug, Clone, PartialEq)]
pub struct ShellFacts {
    /// By name.
    pub campaigns: Vec<CampaignSign>,
    /// The subscription as it is now.
    pub subscription: Subscription,
    /// The period in force.
    pub period: BillingPeriod,
    /// Proposals counted in it (decision B3).
    pub used: u64,
    /// When the feed was last read, to within some seconds; `None` if it never was.
    pub feed_read_at: Option<Timestamp>,
}

/// A campaign with what it has.
#[derive(Debug, Clone, PartialEq)]
pub struct CampaignFacts {
    /// Name, mode and state.
    pub sign: CampaignSign,
    /// The account that it bids with.
    pub account_id: Option<AccountId>,
    /// How many saved filters it has.
    pub filters: u64,
    /// What it has to do its work.
    pub parts: CampaignParts,
}

/// An endpoint with how its last deliveries ended.
#[derive(Debug, Clone, PartialEq)]
pub struct EndpointFacts {
    /// The endpoint.
    pub endpoint: WebhookEndpoint,
    /// Until when its former secret signs too (decision C3); it may have passed.
    pub previous_secret_until: Option<Timestamp>,
    /// Whether each of the last 20 ended deliveries was delivered, newest first. Tests are not among them.
    pub last: Vec<bool>,
}

/// A bidder account without its token.
#[derive(Debug, Clone, PartialEq)]
pub struct AccountFacts {
    /// The account.
    pub id: AccountId,
    /// Its name.
    pub name: String,
    /// False once the marketplace refused its token.
    pub connected: bool,
    /// What the marketplace last said of it.
    pub reading: Option<AccountReading>,
    /// Its queued bids.
    pub queued: u64,
    /// The earliest deadline of those whose answer is not outstanding.
    pub first_deadline: Option<Timestamp>,
}

/// An organization with what belongs to it.
#[derive(Debug, Clone, PartialEq)]
pub struct OrganizationFacts {
    /// What stands on every page.
    pub shell: ShellFacts,
    /// By name.
    pub campaigns: Vec<CampaignFacts>,
    /// The organization's before the campaigns', then by age.
    pub endpoints: Vec<EndpointFacts>,
    /// By name.
    pub accounts: Vec<AccountFacts>,
    /// The counted periods before the one in force, newest first, with the proposals counted in each.
    pub past_periods: Vec<(BillingPeriod, u64)>,
}

/// An organization's id and name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrganizationName {
    /// The organization.
    pub id: OrganizationId,
    /// Its name.
    pub name: String,
}

/// An organization in the list of all.
#[derive(Debug, Clone, PartialEq)]
pub struct OrganizationSummary {
    /// Id and name.
    pub name: OrganizationName,
    /// The subscription and what is used of it; `None` if it cannot be read.
    pub usage: Option<SubscriptionUsage>,
    /// How many campaigns it has.
    pub campaigns: u64,
}

/// A subscription and what is used of it.
#[derive(Debug, Clone, PartialEq)]
pub struct SubscriptionUsage {
    /// The subscription as it is now.
    pub subscription: Subscription,
    /// The period in force.
    pub period: BillingPeriod,
    /// Proposals counted in it (decision B3).
    pub used: u64,
}

/// What in the whole installation waits, or keeps campaigns from bidding: for those who watch over it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InstallationState {
    /// When the queued bid with the earliest deadline was queued, of those whose answer is not outstanding.
    pub oldest_bid: Option<Timestamp>,
    /// When the oldest delivery that is not being sent yet was queued.
    pub oldest_delivery: Option<Timestamp>,
    /// Queued bids whose answer is outstanding, beyond their deadline or without an account (decision B4).
    pub unsettled_bids: u64,
    /// Disconnected accounts with which active campaigns bid.
    pub disconnected_accounts: u64,
    /// Organizations with an active campaign and no active subscription (decision D6).
    pub lapsed_organizations: u64,
    /// Organizations with an active campaign whose period has no proposal left.
    pub organizations_without_quota: u64,
    /// Organizations with an active campaign whose period has less than a tenth of its proposals left, and at least one.
    pub organizations_low_on_quota: u64,
}

/// By what an open page notices that something happened in an organization.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrganizationSigns {
    /// The organization.
    pub organization_id: OrganizationId,
    /// For each campaign, by id, how many matches it has.
    pub matches: Vec<(CampaignId, u64)>,
    /// When the newest entry of the Activity record happened.
    pub newest_activity: Option<Timestamp>,
}

/// Pages of an organization. What cannot be read of it is left out and set aside.
#[async_trait]
pub trait OverviewStore: Send + Sync + std::fmt::Debug {
    /// Up to `limit` organizations behind `after`, by id. One that cannot be read is left out.
    async fn organizations(
        &self,
        after: Option<&OrganizationId>,
        limit: u32,
    ) -> Result<Vec<OrganizationName>, StoreError>;

    /// Up to `limit` organizations behind `after`, by id, each with what is used of its subscription. One whose id or name
    /// cannot be read is left out.
    async fn summaries(
        &self,
        after: Option<&OrganizationId>,
        limit: u32,
        now: Timestamp,
    ) -> Result<Vec<OrganizationSummary>, StoreError>;

    /// What waits, and what keeps campaigns from bidding. It may miss what was used of a period that began or was changed
    /// since the organization's last bid.
    async fn installation_state(&self, now: Timestamp) -> Result<InstallationState, StoreError>;

    /// What stands on every page: a few indexed reads. `None` if there is no such organization.
    async fn shell(
        &self,
        organization: &OrganizationId,
        now: Timestamp,
    ) -> Result<Option<ShellFacts>, StoreError>;

    /// The organization with what belongs to it; `None` if there is none.
    async fn facts(
        &self,
        organization: &OrganizationId,
        now: Timestamp,
    ) -> Result<Option<OrganizationFacts>, StoreError>;

    /// The signs of those of the organizations that exist, by id: two queries for some hundreds of them.
    async fn signs(&self, organizations: &[OrganizationId]) -> Result<Vec<OrganizationSigns>, StoreError>;
}
