//! Where the console finds a lead: by its id and, for a match without a record, its job.

use std::sync::Arc;

use crate::model::{CampaignId, JobId, LeadId, OrganizationId};
use crate::port::{CampaignFeedStore, LeadContext, LeadLookup, LeadStore, StoreError};

/// How many of a campaign's newest matches are searched for a lead id that has no record and comes without its job.
const SEARCHED: u32 = 50_000;

/// A lead, or the match that would become it.
///
/// A lead's id is derived from organization, campaign and job, so it says nothing about the job. A page that links to a
/// match without a record names the job beside the id. An id alone finds every lead with a record, and matches without one
/// among the newest 50,000 of the campaign.
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
    fn fitting_job(&self, organization: &OrganizationId, campaign: &CampaignId) -> Option<&JobId> {
        let fits = |job: &&JobId| LeadId::derive(organization, campaign, job) == self.lead;
        self.job.as_ref().filter(fits)
    }
}

/// Finds leads and matches, and makes a match a lead.
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

    /// Makes the match a lead, so that it can be acted on (decision E5). Returns whether there is such a lead now.
    pub async fn materialize(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
        address: &LeadAddress,
    ) -> Result<bool, StoreError> {
        match self.find(organization, campaign, address).await? {
            Some(found) => {
                let job = &found.lead.lead.job_id;
                self.leads.materialize(organization, campaign, job).await
            }
            None => Ok(false),
        }
    }
}
