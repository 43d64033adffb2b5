//! The `data` of a `bid_complete` event (decision C1).

use serde::Serialize;

use super::{
    BidOutcome, CampaignId, Connects, EventPayload, Lead, LeadId, LeadStatus, OrganizationId, Reason,
    TermsJson, Timestamp,
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
        outcome: &'a BidOutcome,
    ) -> Self {
        let spent = outcome.connects_spent();
        Self {
            organization_id,
            campaign_id,
            lead_id,
            dry_run: false,
            outcome: outcome.status(),
            reason: outcome.reason(),
            proposal_id: match outcome {
                BidOutcome::Submitted { proposal_id, .. } => Some(proposal_id),
                BidOutcome::NotSubmitted { .. } => None,
            },
            submitted_at: outcome.submitted_at(),
            terms: outcome.terms().map(TermsJson::from),
            boost_connects: Some(outcome.boost_connects()),
            connects_spent: spent,
            connects_cost_usd: spent.cost().to_number(),
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

    /// The event's payload.
    pub fn payload(&self) -> EventPayload {
        EventPayload::BidComplete {
            dry_run: self.dry_run,
            data: serde_json::json!(self).to_string(),
        }
    }
}
