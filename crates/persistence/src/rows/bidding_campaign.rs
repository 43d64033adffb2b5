//! Campaigns and accounts, as far as bidding needs to know them.

use bidloop_domain::model::{
    AccountId, AccountSummary, BiddingConfig, Campaign, CampaignId, OrganizationId, ProposalTemplate,
    Subscription,
};
use diesel::prelude::*;

use crate::columns::{FreeText, Json, read, word};
use crate::failure::Failure;
use crate::schema::{bidder_accounts, campaigns};

/// Some columns of `campaigns`.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = campaigns)]
pub(crate) struct BiddingCampaignRow {
    organization_id: String,
    id: String,
    name: FreeText,
    mode: String,
    state: String,
    bidding_config: Json<BiddingConfig>,
    proposal: Json<ProposalTemplate>,
}

impl BiddingCampaignRow {
    pub(crate) fn into_campaign(
        self,
        account: Option<AccountSummary>,
        subscription: Subscription,
    ) -> Result<Campaign, Failure> {
        Ok(Campaign {
            organization_id: read(
                "campaigns.organization_id",
                &self.organization_id,
                OrganizationId::parse(&self.organization_id),
            )?,
            id: read("campaigns.id", &self.id, CampaignId::parse(&self.id))?,
            name: self.name.0,
            mode: word("campaigns.mode", &self.mode)?,
            state: word("campaigns.state", &self.state)?,
            bidding_config: self.bidding_config.0,
            proposal: self.proposal.0,
            account,
            subscription,
        })
    }
}

/// Some columns of `bidder_accounts`.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = bidder_accounts)]
pub(crate) struct AccountSummaryRow {
    id: String,
    connected: bool,
    profile_hourly_rate: Option<f64>,
}

impl AccountSummaryRow {
    pub(crate) fn into_summary(self) -> Result<AccountSummary, Failure> {
        Ok(AccountSummary {
            id: read("bidder_accounts.id", &self.id, AccountId::parse(&self.id))?,
            connected: self.connected,
            profile_hourly_rate: self.profile_hourly_rate,
        })
    }
}
