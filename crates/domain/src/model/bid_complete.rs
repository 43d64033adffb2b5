//! The `data` of a `bid_complete` event (decision C1).

use serde::Serialize;

use super::{
    BidEnd, CampaignId, Connects, Lead, LeadId, LeadStatus, OrganizationId, Reason, TermsJson, Timestamp,
};

/// The outcome of a bid or a dry run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BidCompleteData<'a> {
    organization_id: &'a OrganizationId,
    campaign_id: &'a CampaignId,
    lead_id: &'a LeadId,
    dry_run: bool,
    outcome: LeadStatus,
    reason: Option<&'a Reason>,
    proposal_id: Option<&'a str>,
    submitted_at: Option<Timestamp>,
    terms: Option<TermsJson>,
    boost_connects: Option<Connects>,
    connects_spent: Connects,
    connects_cost_usd: serde_json::Number,
    job_url: &'a str,
    title: &'a str,
}

impl<'a> BidCompleteData<'a> {
    /// The end of a real bid. Only a submitted bid reports a proposal id; the id of a proposal that the account
    /// already had stays on the lead.
    pub fn ended(
        organization_id: &'a OrganizationId,
        campaign_id: &'a CampaignId,
        lead_id: &'a LeadId,
        job_url: &'a str,
        title: &'a str,
        end: &'a BidEnd,
    ) -> Self {
        let submitted = end.status == LeadStatus::Submitted;
        Self {
            organization_id,
            campaign_id,
            lead_id,
            dry_run: false,
            outcome: end.status,
            reason: end.reason.as_ref(),
            proposal_id: end.proposal_id.as_deref().filter(|_| submitted),
            submitted_at: end.submitted_at.filter(|_| submitted),
            terms: end.terms.map(TermsJson::from),
            boost_connects: Some(end.boost_connects),
            connects_spent: end.connects_spent,
            connects_cost_usd: end.connects_spent.cost().to_number(),
            job_url,
            title,
        }
    }

    /// A dry run; what it cannot know is null.
    pub fn simulated(
        lead: &'a Lead,
        job_url: &'a str,
        title: &'a str,
        terms: TermsJson,
        boost_connects: Option<Connects>,
    ) -> Self {
        Self {
            organization_id: &lead.organization_id,
            campaign_id: &lead.campaign_id,
            lead_id: &lead.id,
            dry_run: true,
            outcome: LeadStatus::Submitted,
            reason: None,
            proposal_id: None,
            submitted_at: None,
            terms: Some(terms),
            boost_connects,
            connects_spent: Connects::default(),
            connects_cost_usd: Connects::default().cost().to_number(),
            job_url,
            title,
        }
    }

    /// The JSON object.
    pub fn to_json(&self) -> String {
        serde_json::json!(self).to_string()
    }
}
