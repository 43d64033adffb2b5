//! What provisioning reads and changes.

use async_trait::async_trait;
use serde_json::Value;

use super::{Revision, StoreError};
use crate::model::{
    AccountId, ApiKeyHash, ApiKeyRecord, BiddingConfig, CampaignAttachment, CampaignId, CampaignMode,
    CampaignState, EndpointId, FilterId, OrganizationId, ProposalTemplate, Subscription, Timestamp,
    WebhookEndpoint, WebhookSecret,
};

/// An organization with all its entities.
#[derive(Debug, Clone, PartialEq)]
pub struct OrganizationRecord {
    /// Its id.
    pub id: OrganizationId,
    /// Its name.
    pub name: String,
    /// Its subscription.
    pub subscription: Subscription,
    /// Its users.
    pub users: Vec<UserRecord>,
    /// Its keys, revoked ones included.
    pub api_keys: Vec<(ApiKeyRecord, ApiKeyHash)>,
    /// Its endpoints of both scopes, each with its current secret.
    pub webhooks: Vec<WebhookRecord>,
    /// Its bidder accounts.
    pub accounts: Vec<AccountRecord>,
    /// Its campaigns.
    pub campaigns: Vec<CampaignRecord>,
}

/// A person who may sign in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserRecord {
    /// Unique within the organization, compared without regard to case.
    pub email: String,
    /// Shown in the Activity record.
    pub name: String,
    /// A PHC string; `None`: cannot sign in.
    pub password_hash: Option<String>,
}

/// An endpoint with its secret.
#[derive(Debug, Clone, PartialEq)]
pub struct WebhookRecord {
    /// The endpoint.
    pub endpoint: WebhookEndpoint,
    /// Signs its deliveries.
    pub secret: WebhookSecret,
    /// Signs beside it until that moment (decision C3).
    pub previous_secret: Option<(WebhookSecret, Timestamp)>,
}

/// A bidder account with its token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountRecord {
    /// Its id.
    pub id: AccountId,
    /// Its name.
    pub name: String,
    /// The marketplace token.
    pub token: String,
    /// False once the marketplace refused the token; setting another token connects it again.
    pub connected: bool,
}

/// A campaign with its filters.
#[derive(Debug, Clone, PartialEq)]
pub struct CampaignRecord {
    /// Its id.
    pub id: CampaignId,
    /// Its name.
    pub name: String,
    /// Who decides.
    pub mode: CampaignMode,
    /// Whether it acts by itself.
    pub state: CampaignState,
    /// The account it bids with.
    pub account_id: Option<AccountId>,
    /// Its bidding configuration.
    pub bidding_config: BiddingConfig,
    /// Its templates.
    pub proposal: ProposalTemplate,
    /// Its files.
    pub attachments: Vec<CampaignAttachment>,
    /// Its saved filters.
    pub filters: Vec<FilterRecord>,
}

/// A saved filter.
#[derive(Debug, Clone, PartialEq)]
pub struct FilterRecord {
    /// Its id.
    pub id: FilterId,
    /// Its name.
    pub name: String,
    /// Its JSON body (contract section 4).
    pub body: Value,
}

/// The state that a plan was made on.
#[derive(Debug, Clone, PartialEq)]
pub struct ProvisioningSnapshot {
    /// Committing fails if it has moved.
    pub revision: Revision,
    /// Those of the asked organizations that exist.
    pub organizations: Vec<OrganizationRecord>,
    /// Of the asked digests, those that keys of any organization have.
    pub taken_key_hashes: Vec<(ApiKeyHash, OrganizationId)>,
}

/// One change. `Put` creates or replaces the entity's own fields and leaves what hangs on it alone.
#[derive(Debug, Clone, PartialEq)]
pub enum ProvisioningChange {
    /// Creates or replaces the organization's name and subscription.
    PutOrganization {
        /// Its id.
        id: OrganizationId,
        /// Its name.
        name: String,
        /// Its subscription. Usage is counted anew where the period changed (decision B3).
        subscription: Subscription,
    },
    /// Creates or replaces a user.
    PutUser(OrganizationId, UserRecord),
    /// Removes a user by its email.
    RemoveUser(OrganizationId, String),
    /// Creates or replaces a key; replacing keeps `last_used_at`.
    PutApiKey(OrganizationId, ApiKeyRecord, ApiKeyHash),
    /// Removes a key.
    RemoveApiKey(OrganizationId, crate::model::ApiKeyId),
    /// Creates or replaces an endpoint.
    PutWebhook(OrganizationId, WebhookRecord),
    /// Removes an endpoint.
    RemoveWebhook(OrganizationId, EndpointId),
    /// Creates or replaces an account. One that had another token is connected again.
    PutAccount(OrganizationId, AccountRecord),
    /// Removes an account; campaigns that bid with it are then without one.
    RemoveAccount(OrganizationId, AccountId),
    /// Creates or replaces a campaign's own fields; `filters` is not looked at.
    PutCampaign(OrganizationId, Box<CampaignRecord>),
    /// Removes a campaign with its filters, endpoints, matches and intents. Its leads and bids stay.
    RemoveCampaign(OrganizationId, CampaignId),
    /// Creates or replaces a filter of the campaign, and makes a backfill due if its body changed.
    PutFilter(OrganizationId, CampaignId, FilterRecord),
    /// Removes a filter of the campaign and makes a backfill due.
    RemoveFilter(OrganizationId, CampaignId, FilterId),
}

/// What became of [`ProvisioningStore::commit`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitProvisioning {
    /// All changes are stored, and hold for every later request and job in every process (decision D7).
    Committed,
    /// Somebody else changed something since the snapshot: read and plan again. Nothing changed.
    RevisionMoved,
}

/// Organizations and what belongs to them, as operators provision them.
#[async_trait]
pub trait ProvisioningStore: Send + Sync + std::fmt::Debug {
    /// The named organizations, whole, and which of the digests are taken.
    async fn snapshot(
        &self,
        organizations: &[OrganizationId],
        key_hashes: &[ApiKeyHash],
    ) -> Result<ProvisioningSnapshot, StoreError>;

    /// Carries out all changes in their order, or none, and raises the revision.
    async fn commit(
        &self,
        expected: Revision,
        changes: &[ProvisioningChange],
        at: Timestamp,
    ) -> Result<CommitProvisioning, StoreError>;
}
