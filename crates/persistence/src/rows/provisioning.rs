//! What operators provision, as rows with all that they may set.
//!
//! The other columns of the same tables belong to the stores that write them: they are neither read nor changed
//! through these rows.

use bidloop_domain::model::{
    AccountId, BiddingConfig, CampaignAttachment, CampaignId, FilterId, OrganizationId, ProposalTemplate,
    Subscription, Timestamp, WebhookSecret,
};
use bidloop_domain::port::{
    AccountRecord, CampaignRecord, FilterRecord, OrganizationRecord, UserRecord, WebhookRecord,
};
use diesel::prelude::*;
use serde_json::Value;

use crate::columns::{FreeText, Json, read, word};
use crate::failure::Failure;
use crate::rows::{EndpointRow, SubscriptionRow};
use crate::schema::{bidder_accounts, campaigns, filters, organizations, users, webhook_endpoints};

/// A row of `organizations`.
#[derive(Debug, Clone, Insertable, AsChangeset, Queryable, Selectable)]
#[diesel(table_name = organizations)]
pub(crate) struct OrganizationRow {
    pub(crate) id: String,
    name: FreeText,
    #[diesel(embed)]
    subscription: SubscriptionRow,
}

impl OrganizationRow {
    pub(crate) fn new(id: &OrganizationId, name: &str, subscription: &Subscription) -> Self {
        Self {
            id: id.to_string(),
            name: FreeText::from(name),
            subscription: SubscriptionRow::new(subscription),
        }
    }

    /// The organization without what belongs to it.
    pub(crate) fn into_record(self) -> Result<OrganizationRecord, Failure> {
        Ok(OrganizationRecord {
            id: read("organizations.id", &self.id, OrganizationId::parse(&self.id))?,
            subscription: self.subscription.into_subscription()?,
            name: self.name.0,
            users: Vec::new(),
            api_keys: Vec::new(),
            webhooks: Vec::new(),
            accounts: Vec::new(),
            campaigns: Vec::new(),
        })
    }
}

/// A row of `users`.
#[derive(Debug, Clone, Insertable, AsChangeset, Queryable, Selectable)]
#[diesel(table_name = users, primary_key(organization_id, email_key), treat_none_as_null = true)]
pub(crate) struct UserRow {
    pub(crate) organization_id: String,
    email_key: FreeText,
    email: FreeText,
    name: FreeText,
    password_hash: Option<FreeText>,
}

impl UserRow {
    pub(crate) fn new(organization: &OrganizationId, user: &UserRecord) -> Self {
        Self {
            organization_id: organization.to_string(),
            email_key: Self::email_key(&user.email),
            email: FreeText::from(user.email.as_str()),
            name: FreeText::from(user.name.as_str()),
            password_hash: user.password_hash.as_deref().map(FreeText::from),
        }
    }

    /// The same for two spellings of one address: emails are compared without regard to case.
    pub(crate) fn email_key(email: &str) -> FreeText {
        FreeText::from(email.to_lowercase())
    }

    pub(crate) fn into_record(self) -> UserRecord {
        UserRecord {
            email: self.email.0,
            name: self.name.0,
            password_hash: self.password_hash.map(|hash| hash.0),
        }
    }
}

/// A row of `webhook_endpoints`.
#[derive(Debug, Clone, Insertable, AsChangeset, Queryable, Selectable)]
#[diesel(table_name = webhook_endpoints, primary_key(organization_id, id), treat_none_as_null = true)]
pub(crate) struct WebhookRow {
    pub(crate) organization_id: String,
    #[diesel(embed)]
    endpoint: EndpointRow,
    secret: String,
    previous_secret: Option<String>,
    previous_secret_until: Option<i64>,
}

impl WebhookRow {
    pub(crate) fn new(organization: &OrganizationId, webhook: &WebhookRecord) -> Self {
        let previous = webhook.previous_secret.as_ref();
        Self {
            organization_id: organization.to_string(),
            endpoint: EndpointRow::new(&webhook.endpoint),
            secret: webhook.secret.expose(),
            previous_secret: previous.map(|(secret, _)| secret.expose()),
            previous_secret_until: previous.map(|(_, until)| until.as_millis()),
        }
    }

    pub(crate) fn into_record(self) -> Result<WebhookRecord, Failure> {
        let previous_secret = match (&self.previous_secret, self.previous_secret_until) {
            (Some(secret), Some(until)) => Some((
                signing_secret("webhook_endpoints.previous_secret", secret)?,
                Timestamp::from_millis(until),
            )),
            _ => None,
        };
        Ok(WebhookRecord {
            endpoint: self.endpoint.into_endpoint()?,
            secret: signing_secret("webhook_endpoints.secret", &self.secret)?,
            previous_secret,
        })
    }
}

/// What is wrong with a secret goes to the log; the secret does not.
fn signing_secret(column: &str, stored: &str) -> Result<WebhookSecret, Failure> {
    read(column, "(a secret)", WebhookSecret::parse(stored))
}

/// Some columns of `bidder_accounts`.
#[derive(Debug, Clone, Insertable, AsChangeset, Queryable, Selectable)]
#[diesel(table_name = bidder_accounts, primary_key(organization_id, id))]
pub(crate) struct AccountRow {
    pub(crate) organization_id: String,
    id: String,
    name: FreeText,
    token: FreeText,
    connected: bool,
}

impl AccountRow {
    /// The account as it is to be stored; whether it is connected is for the store to say.
    pub(crate) fn new(organization: &OrganizationId, account: &AccountRecord, connected: bool) -> Self {
        Self {
            organization_id: organization.to_string(),
            id: account.id.to_string(),
            name: FreeText::from(account.name.as_str()),
            token: FreeText::from(account.token.as_str()),
            connected,
        }
    }

    pub(crate) fn into_record(self) -> Result<AccountRecord, Failure> {
        Ok(AccountRecord {
            id: read("bidder_accounts.id", &self.id, AccountId::parse(&self.id))?,
            name: self.name.0,
            token: self.token.0,
            connected: self.connected,
        })
    }
}

/// Some columns of `campaigns`.
#[derive(Debug, Clone, Insertable, AsChangeset, Queryable, Selectable)]
#[diesel(table_name = campaigns, primary_key(organization_id, id), treat_none_as_null = true)]
pub(crate) struct CampaignRow {
    pub(crate) organization_id: String,
    pub(crate) id: String,
    name: FreeText,
    mode: String,
    state: String,
    account_id: Option<String>,
    bidding_config: Json<BiddingConfig>,
    proposal: Json<ProposalTemplate>,
    attachments: Json<Vec<CampaignAttachment>>,
}

impl CampaignRow {
    pub(crate) fn new(organization: &OrganizationId, campaign: &CampaignRecord) -> Self {
        Self {
            organization_id: organization.to_string(),
            id: campaign.id.to_string(),
            name: FreeText::from(campaign.name.as_str()),
            mode: campaign.mode.as_str().to_owned(),
            state: campaign.state.as_str().to_owned(),
            account_id: campaign.account_id.as_ref().map(ToString::to_string),
            bidding_config: Json(campaign.bidding_config.clone()),
            proposal: Json(campaign.proposal.clone()),
            attachments: Json(campaign.attachments.clone()),
        }
    }

    pub(crate) fn into_record(self, filters: Vec<FilterRecord>) -> Result<CampaignRecord, Failure> {
        Ok(CampaignRecord {
            id: read("campaigns.id", &self.id, CampaignId::parse(&self.id))?,
            name: self.name.0,
            mode: word("campaigns.mode", &self.mode)?,
            state: word("campaigns.state", &self.state)?,
            account_id: match &self.account_id {
                Some(id) => Some(read("campaigns.account_id", id, AccountId::parse(id))?),
                None => None,
            },
            bidding_config: self.bidding_config.0,
            proposal: self.proposal.0,
            attachments: self.attachments.0,
            filters,
        })
    }
}

/// A row of `filters`.
#[derive(Debug, Clone, Insertable, AsChangeset, Queryable, Selectable)]
#[diesel(table_name = filters, primary_key(organization_id, id))]
pub(crate) struct FilterRow {
    pub(crate) organization_id: String,
    id: String,
    pub(crate) campaign_id: String,
    name: FreeText,
    pub(crate) body: Json<Value>,
}

impl FilterRow {
    pub(crate) fn new(organization: &OrganizationId, campaign: &CampaignId, filter: &FilterRecord) -> Self {
        Self {
            organization_id: organization.to_string(),
            id: filter.id.to_string(),
            campaign_id: campaign.to_string(),
            name: FreeText::from(filter.name.as_str()),
            body: Json(filter.body.clone()),
        }
    }

    pub(crate) fn into_record(self) -> Result<FilterRecord, Failure> {
        Ok(FilterRecord {
            id: read("filters.id", &self.id, FilterId::parse(&self.id))?,
            name: self.name.0,
            body: self.body.0,
        })
    }
}
