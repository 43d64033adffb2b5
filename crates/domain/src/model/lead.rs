//! Leads. [`lead_document`](super::lead_document) writes their JSON.

use std::sync::Arc;

use super::{
    BiddingConfig, CampaignId, CorruptJob, JobId, LeadId, LeadStatus, OrganizationId, PostFields, Reason,
    Timestamp,
};

/// A job that matched a campaign, under a stable id.
#[derive(Debug, Clone, PartialEq)]
pub struct Lead {
    /// Derived from organization, campaign and job.
    pub id: LeadId,
    /// The organization that owns the campaign.
    pub organization_id: OrganizationId,
    /// The campaign whose filters the job matched.
    pub campaign_id: CampaignId,
    /// The job.
    pub job_id: JobId,
    /// When the job became a match of the campaign (decision A5).
    pub created_at: Timestamp,
    /// The lead's status.
    pub status: LeadStatus,
    /// Why the last bid was skipped or failed; `None` in any other status.
    pub reason: Option<Reason>,
    /// The reason that the caller gave for rejecting it, if any.
    pub rejection_reason: Option<String>,
    /// The marketplace's id of the account's proposal on the job, once it is known.
    pub proposal_id: Option<String>,
    /// The lead's layer of bidding configuration.
    pub bidding_config: BiddingConfig,
}

/// A lead with its job's JSON.
#[derive(Debug, Clone, PartialEq)]
pub struct LeadWithJob {
    /// The lead.
    pub lead: Lead,
    /// The `JobPost` JSON, byte for byte as the marketplace served it.
    pub job_json: String,
}

/// A lead with its job's post, as a `job.new` tells of them. Clones share them.
#[derive(Debug, Clone, PartialEq)]
pub struct NewLead {
    /// The lead.
    pub lead: Arc<Lead>,
    /// The job's post.
    pub post: PostFields,
}

impl NewLead {
    /// Reads the job's post.
    ///
    /// # Errors
    /// [`CorruptJob`] if the job's JSON is not a job post.
    pub fn read(LeadWithJob { lead, job_json }: LeadWithJob) -> Result<Self, CorruptJob> {
        Ok(Self {
            lead: Arc::new(lead),
            post: PostFields::of(&job_json)?,
        })
    }
}

/// A lead on a page of its campaign's list, apart from its job's post.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedLead {
    /// Derived from organization, campaign and job.
    pub id: LeadId,
    /// The job.
    pub job_id: JobId,
    /// The sequence number of the job's content. A job whose content changes gets a new one.
    pub job_seq: i64,
    /// When the job became a match of the campaign (decision A5).
    pub created_at: Timestamp,
    /// The lead's status.
    pub status: LeadStatus,
    /// Why the last bid was skipped or failed; `None` in any other status.
    pub reason: Option<Reason>,
    /// The marketplace's id of the account's proposal on the job, once it is known.
    pub proposal_id: Option<String>,
}
