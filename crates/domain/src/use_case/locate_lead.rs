//! Locate lead: whether a campaign or one of its leads exists for a caller. For requests with a wrong method, which are
//! answered 404 if there is no such lead (decision A1).

use std::sync::Arc;

use super::LeadError;
use crate::model::{CampaignId, LeadId, OrganizationId};
use crate::port::{LeadLookup, LeadStore};

/// Locates campaigns and leads within the caller's organization (specification, Authentication, rule 8).
#[derive(Debug)]
pub struct LocateLead {
    /// Leads.
    pub leads: Arc<dyn LeadStore>,
}

impl LocateLead {
    /// Looks the campaign up and, if `lead` is given, that lead of it.
    pub async fn execute(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
        lead: Option<&LeadId>,
    ) -> Result<(), LeadError> {
        let Some(lead) = lead else {
            let exists = self.leads.campaign_exists(organization, campaign).await?;
            return if exists {
                Ok(())
            } else {
                Err(LeadError::CampaignUnknown)
            };
        };
        match self.leads.locate(organization, campaign, lead).await? {
            LeadLookup::CampaignUnknown => Err(LeadError::CampaignUnknown),
            LeadLookup::LeadUnknown => Err(LeadError::LeadUnknown),
            LeadLookup::Found(_) => Ok(()),
        }
    }
}
