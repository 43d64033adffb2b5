//! An organization as the store holds it, and the changes that provisioning makes.

use serde_json::Value;

use crate::model::{
    AccountId, ApiKeyHash, ApiKeyId, ApiKeyRecord, BiddingConfig, CampaignId, CampaignMode, CampaignParts,
    CampaignState, EndpointId, FilterId, MarketplaceToken, MemberRole, OrganizationId, ProposalFile,
    ProposalTemplate, Secret, Subscription, Timestamp, WebhookEndpoint, WebhookSecret,
};

/// An organization with all its entities.
#[derive(Debug, Clone, PartialEq)]
pub struct OrganizationRecord {
    /// Unique in the installation.
    pub id: OrganizationId,
    /// The name that operators see.
    pub name: String,
    /// The organization's subscription.
    pub subscription: Subscription,
    /// People who may sign in.
    pub users: Vec<UserRecord>,
    /// API keys, revoked ones included.
    pub api_keys: Vec<(ApiKeyRecord, ApiKeyHash)>,
    /// Webhooks of the organization and of its campaigns, with their secrets.
    pub webhooks: Vec<WebhookRecord>,
    /// Bidder accounts, with their tokens.
    pub accounts: Vec<AccountRecord>,
    /// Campaigns, with their filters.
    pub campaigns: Vec<CampaignRecord>,
}

impl OrganizationRecord {
    /// The campaign of this id.
    pub fn campaign(&self, id: &CampaignId) -> Option<&CampaignRecord> {
        self.campaigns.iter().find(|campaign| campaign.id == *id)
    }

    /// What one of its campaigns has to do its work.
    pub fn parts_of(&self, campaign: &CampaignRecord) -> CampaignParts {
        let endpoints = self.webhooks.iter().map(|webhook| &webhook.endpoint);
        let mut its_endpoints = endpoints.filter(|endpoint| {
            let scope = endpoint.campaign_id.as_ref();
            scope.is_none_or(|scope| *scope == campaign.id)
        });
        let account = self
            .accounts
            .iter()
            .find(|account| Some(&account.id) == campaign.account_id.as_ref());
        CampaignParts {
            mode: campaign.mode,
            has_filter: !campaign.filters.is_empty(),
            has_job_new_endpoint: its_endpoints.any(WebhookEndpoint::receives_job_new),
            account_connected: account.map(|account| account.connected),
            has_cover_letter: campaign.proposal.cover_letter.is_some(),
        }
    }
}

/// A person who may sign in, as a member of the organization (decision E1). All but the role is the person's in every
/// organization.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserRecord {
    /// Unique in the installation, as [`EmailKey`](crate::model::EmailKey) compares it.
    pub email: String,
    /// The name that others see.
    pub name: String,
    /// A PHC string. A user without one cannot sign in.
    pub password_hash: Option<Secret<String>>,
    /// What the person may do in the organization.
    pub role: MemberRole,
}

/// A webhook endpoint with its secrets.
#[derive(Debug, Clone, PartialEq)]
pub struct WebhookRecord {
    /// The endpoint as deliveries see it.
    pub endpoint: WebhookEndpoint,
    /// The secret that signs every delivery.
    pub secret: WebhookSecret,
    /// The replaced secret, which also signs until this time (decision C3).
    pub previous_secret: Option<(WebhookSecret, Timestamp)>,
}

/// A bidder account with its token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountRecord {
    /// Unique within the organization.
    pub id: AccountId,
    /// The name that operators see.
    pub name: String,
    /// Authenticates the account to the marketplace.
    pub token: MarketplaceToken,
    /// False once the marketplace refused the token. Another token connects the account again.
    pub connected: bool,
}

/// A campaign with its filters.
#[derive(Debug, Clone, PartialEq)]
pub struct CampaignRecord {
    /// Unique within the organization.
    pub id: CampaignId,
    /// The name that operators see.
    pub name: String,
    /// Who decides on its leads.
    pub mode: CampaignMode,
    /// Whether it acts on new matches.
    pub state: CampaignState,
    /// The account that it bids with.
    pub account_id: Option<AccountId>,
    /// Its layer of the bidding configuration.
    pub bidding_config: BiddingConfig,
    /// The templates of its proposals.
    pub proposal: ProposalTemplate,
    /// Files sent with each of its proposals.
    pub attachments: Vec<ProposalFile>,
    /// Saved filters: a job that matches one of them matches the campaign.
    pub filters: Vec<FilterRecord>,
}

/// A saved filter.
#[derive(Debug, Clone, PartialEq)]
pub struct FilterRecord {
    /// Unique within the organization.
    pub id: FilterId,
    /// The name that operators see.
    pub name: String,
    /// The conditions as JSON (contract section 4).
    pub body: Value,
}

/// One change to the store. A `Put` creates the entity or replaces its own fields; it does not touch the entities
/// that belong to it.
#[derive(Debug, Clone, PartialEq)]
pub enum ProvisioningChange {
    /// Creates an organization or replaces its name and subscription.
    PutOrganization {
        /// The organization.
        id: OrganizationId,
        /// Its new name.
        name: String,
        /// Its new subscription. A different period restarts the count of used bids (decision B3).
        subscription: Subscription,
    },
    /// Removes an organization with everything that this file's entities describe. The digests of its keys are kept. What
    /// else it had is [erased](crate::use_case::EraseOrganizations) afterwards, and until then no organization can have
    /// its id.
    RemoveOrganization(OrganizationId),
    /// Creates or replaces a person and the person's membership. Another password ends the person's sessions, another role
    /// those that show the organization.
    PutUser(OrganizationId, UserRecord),
    /// Removes the membership of the person with this email address, with what the person has of the organization:
    /// sessions that show it, personal tokens and one-time links. A person without a membership is removed.
    RemoveUser(OrganizationId, String),
    /// Creates or replaces an API key. Replacing keeps `last_used_at`, and removes the former key.
    PutApiKey(OrganizationId, ApiKeyRecord, ApiKeyHash),
    /// Removes an API key. Its digest is kept, so that the key is never provisioned again (decision D5).
    RemoveApiKey(OrganizationId, ApiKeyId),
    /// Creates or replaces a webhook.
    PutWebhook(OrganizationId, WebhookRecord),
    /// Removes a webhook.
    RemoveWebhook(OrganizationId, EndpointId),
    /// Creates or replaces a bidder account. Another token connects it again.
    PutAccount(OrganizationId, AccountRecord),
    /// Removes a bidder account. Campaigns that bid with it no longer have one.
    RemoveAccount(OrganizationId, AccountId),
    /// Creates a campaign or replaces its own fields. Its `filters` are ignored.
    PutCampaign(OrganizationId, Box<CampaignRecord>),
    /// Removes a campaign with its filters, webhooks, matches and waiting automatic bids. Its leads and bids stay.
    RemoveCampaign(OrganizationId, CampaignId),
    /// Creates or replaces a filter of the campaign. Another body makes a backfill due.
    PutFilter(OrganizationId, CampaignId, FilterRecord),
    /// Removes a filter of the campaign and makes a backfill due.
    RemoveFilter(OrganizationId, CampaignId, FilterId),
}

impl ProvisioningChange {
    /// The organization that is changed.
    pub fn organization(&self) -> &OrganizationId {
        match self {
            Self::PutOrganization { id, .. }
            | Self::RemoveOrganization(id)
            | Self::PutUser(id, _)
            | Self::RemoveUser(id, _)
            | Self::PutApiKey(id, _, _)
            | Self::RemoveApiKey(id, _)
            | Self::PutWebhook(id, _)
            | Self::RemoveWebhook(id, _)
            | Self::PutAccount(id, _)
            | Self::RemoveAccount(id, _)
            | Self::PutCampaign(id, _)
            | Self::RemoveCampaign(id, _)
            | Self::PutFilter(id, _, _)
            | Self::RemoveFilter(id, _, _) => id,
        }
    }
}
