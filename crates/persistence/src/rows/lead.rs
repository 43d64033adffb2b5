//! Leads.

use bidloop_domain::bidding::Reason;
use bidloop_domain::model::{
    BiddingConfig, CampaignId, JobId, Lead, LeadId, LeadStatus, OrganizationId, Timestamp,
};
use diesel::prelude::*;

use crate::columns::{FreeText, Json, read, word};
use crate::failure::Failure;
use crate::schema::leads;

/// A row of `leads`.
#[derive(Debug, Clone, Insertable, Queryable, Selectable)]
#[diesel(table_name = leads)]
pub(crate) struct LeadRow {
    pub(crate) organization_id: String,
    pub(crate) id: String,
    pub(crate) campaign_id: String,
    pub(crate) job_id: String,
    pub(crate) created_at: i64,
    pub(crate) status: String,
    pub(crate) reason: Option<Json<Reason>>,
    pub(crate) rejection_reason: Option<FreeText>,
    pub(crate) proposal_id: Option<FreeText>,
    pub(crate) bidding_config: Json<BiddingConfig>,
    /// The lead's bid, the last one if it was reopened in between.
    pub(crate) bid_id: Option<String>,
}

impl LeadRow {
    /// The lead that `job` newly is in `campaign`.
    pub(crate) fn new(
        organization: &OrganizationId,
        campaign: &CampaignId,
        job: &JobId,
        created_at: Timestamp,
    ) -> Self {
        Self {
            organization_id: organization.to_string(),
            id: LeadId::derive(organization, campaign, job).to_string(),
            campaign_id: campaign.to_string(),
            job_id: job.to_string(),
            created_at: created_at.as_millis(),
            status: LeadStatus::New.as_str().to_owned(),
            reason: None,
            rejection_reason: None,
            proposal_id: None,
            bidding_config: Json(BiddingConfig::default()),
            bid_id: None,
        }
    }

    pub(crate) fn status(&self) -> Result<LeadStatus, Failure> {
        word("leads.status", &self.status)
    }

    pub(crate) fn into_lead(self) -> Result<Lead, Failure> {
        Ok(Lead {
            status: self.status()?,
            id: LeadId::from_caller(&self.id),
            organization_id: read(
                "leads.organization_id",
                &self.organization_id,
                OrganizationId::parse(&self.organization_id),
            )?,
            campaign_id: read(
                "leads.campaign_id",
                &self.campaign_id,
                CampaignId::parse(&self.campaign_id),
            )?,
            job_id: read("leads.job_id", &self.job_id, JobId::parse(&self.job_id))?,
            created_at: Timestamp::from_millis(self.created_at),
            reason: self.reason.map(|reason| reason.0),
            rejection_reason: self.rejection_reason.map(|reason| reason.0),
            proposal_id: self.proposal_id.map(|id| id.0),
            bidding_config: self.bidding_config.0,
        })
    }
}
