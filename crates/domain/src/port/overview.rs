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
