//! Where a lead is found: by its id and, for a match without a record, its job.

use std::sync::Arc;

use super::LeadError;
use crate::model::{CampaignId, JobId, LeadId, OrganizationId};
use crate::port::{CampaignFeedStore, LeadContext, LeadLookup, LeadStore, StoreError};

/// How many of a campaign's newest matches are searched for a lead id that has no record and comes without its job.
const SEARCHED: u32 = 50_000;

/// A lead, or the match that would become it.
///
/// A lead's id is derived from organization, campaign and job, so it says nothing about the job. A page that links to a
/// match without a record names the job beside the id. An id alone finds every lead with a record. Pages, which change
/// nothing, find with it also matches without a record among the newest 50,000 of the campaign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeadAddress {
    /// The lead's id.
    pub lead: LeadId,
    /// The job. One that does not fit the lead's id is ignored.
    pub job: Option<JobId>,
}

impl LeadAddress {
    /// The address of a lead with a record.
    pub const fn of(lead: LeadId) -> Self {
        Self { lead, job: None }
    }

    /// The job that the address names, if it is the lead's.
    pub(super) fn fitting_job(&self, organization: &OrganizationId, campaign: &CampaignId) -> Option<&JobId> {
        let fits = |job: &&JobId| LeadId::derive(organization, campaign, job) == self.lead;
        self.job.as_ref().filter(fits)
    }
}

impl From<LeadId> for LeadAddress {
    fn from(lead: LeadId) -> Self {
        Self::of(lead)
    }
}

impl From<&LeadId> for LeadAddress {
    fn from(lead: &LeadId) -> Self {
        Self::of(lead.clone())
    }
}

impl From<&Self> for LeadAddress {
    fn from(address: &Self) -> Self {
        address.clone()
    }
}

/// Finds leads and matches.
#[derive(Debug)]
pub struct FindLead {
    /// Leads.
    pub leads: Arc<dyn LeadStore>,
    /// Matches.
    pub feed: Arc<dyn CampaignFeedStore>,
}

impl FindLead {
    /// The lead, or the one that the match would become; `None` if the campaign has neither. Changes nothing
    /// (decision E5).
    pub async fn find(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
        address: &LeadAddress,
    ) -> Result<Option<LeadContext>, StoreError> {
        if let Some(job) = address.fitting_job(organization, campaign) {
            return self.feed.find_match(organization, campaign, job).await;
        }
        match self.leads.find(organization, campaign, &address.lead).await? {
            LeadLookup::Found(found) => return Ok(Some(*found)),
            LeadLookup::CampaignUnknown => return Ok(None),
            LeadLookup::LeadUnknown => {}
        }
        let lead = &address.lead;
        let job = self
            .feed
            .job_of_lead(organization, campaign, lead, SEARCHED)
            .await?;
        match job {
            Some(job) => self.feed.find_match(organization, campaign, &job).await,
            None => Ok(None),
        }
    }

    /// As [`find`](Self::find), for a caller who is told which of campaign and lead is unknown. A lead whose campaign was
    /// removed is unknown with it.
    pub(super) async fn known(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
        address: &LeadAddress,
    ) -> Result<LeadContext, LeadError> {
        let found = self.find(organization, campaign, address).await?;
        if let Some(found) = found.filter(|found| found.campaign.is_some()) {
            return Ok(found);
        }
        let exists = self.leads.campaign_exists(organization, campaign).await?;
        Err(if exists {
            LeadError::LeadUnknown
        } else {
            LeadError::CampaignUnknown
        })
    }

    /// The address with its job, by which an action finds a match without a record; `None` if the campaign has neither lead
    /// nor match. Changes nothing.
    pub async fn locate(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
        address: &LeadAddress,
    ) -> Result<Option<LeadAddress>, StoreError> {
        if address.fitting_job(organization, campaign).is_some() {
            return Ok(Some(address.clone()));
        }
        let found = self.find(organization, campaign, address).await?;
        Ok(found.map(|found| LeadAddress {
            lead: address.lead.clone(),
            job: Some(found.lead.lead.job_id),
        }))
    }
}
