//! Explain match: what each of a campaign's saved filters says to a lead's job (contract section 7). Tests:
//! `tests/use_case/explain_match.rs`.

use super::LeadError;
use super::lead_address::{FindLead, LeadAddress};
use super::matched_filters::{MatchedFilter, MatchedFilters};
use crate::matching::PreparedJob;
use crate::model::{CampaignId, JobPost, OrganizationId};
use crate::port::StoreError;

/// Explains why a job is a match of its campaign, or why it is none any more. Changes nothing.
#[derive(Debug)]
pub struct ExplainMatch {
    /// Leads and matches, and the campaign's filters.
    pub find: FindLead,
}

impl ExplainMatch {
    /// All filters of the campaign, each with its verdict on the lead's job, by id. Filters that cannot be read are left
    /// out.
    pub async fn execute(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
        lead: &LeadAddress,
    ) -> Result<Vec<MatchedFilter>, LeadError> {
        let found = self.find.known(organization, campaign, lead).await?;
        let post = JobPost::parse(&found.lead.job_json)
            .map_err(|fault| StoreError::Corrupt(format!("job {}: {fault}", found.lead.lead.job_id)))?;
        let filters = self.find.feed.campaign_filters(organization, campaign).await?;
        let filters = filters.ok_or(LeadError::CampaignUnknown)?;
        Ok(MatchedFilters::of(filters).explained(&PreparedJob::new(&post.facts())))
    }
}
