//! Describe lead: one lead of a caller's campaign, with its configuration and its bid (contract section 7). Tests:
//! `tests/use_case/describe_lead.rs`.

use super::LeadError;
use super::lead_address::{FindLead, LeadAddress};
use super::operate_leads::ShownLead;
use crate::model::{CampaignId, Links, OrganizationId};

/// Describes a lead, or the one that a match would become, as `bidloop leads show` does. No match becomes a lead by it.
#[derive(Debug)]
pub struct DescribeLead {
    /// Leads and matches.
    pub find: FindLead,
    /// Addresses of operations and jobs.
    pub links: Links,
}

impl DescribeLead {
    /// The current state of the lead.
    pub async fn execute(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
        lead: &LeadAddress,
    ) -> Result<ShownLead, LeadError> {
        let found = self.find.known(organization, campaign, lead).await?;
        Ok(ShownLead::of(found, &self.links)?)
    }
}
