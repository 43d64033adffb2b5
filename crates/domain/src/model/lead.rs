//! Leads and their statuses. [`lead_document`](super::lead_document) writes their JSON.

use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, IntoStaticStr, VariantArray};

use super::{BiddingConfig, CampaignId, EndStatus, JobId, LeadId, OrganizationId, Reason, Timestamp};

/// A lead's status (decision B1).
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize,
    Display,
    EnumString,
    IntoStaticStr,
    VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum LeadStatus {
    /// Neither bid on nor rejected.
    New,
    /// A bid is accepted and awaits submission.
    Queued,
    /// The marketplace has the proposal.
    Submitted,
    /// The configuration said not to bid.
    Skipped,
    /// The marketplace refused for good, or the deadline passed.
    Failed,
    /// The caller rejected it.
    Rejected,
}

impl LeadStatus {
    /// Whether a bid, a rejection or an upload is possible (decisions B1 and A10).
    pub const fn is_open(self) -> bool {
        matches!(self, Self::New)
    }

    /// Whether an operator may set the lead back to `new` (decision B1).
    pub const fn is_reopenable(self) -> bool {
        matches!(self, Self::Skipped | Self::Failed)
    }
}

impl From<EndStatus> for LeadStatus {
    fn from(end: EndStatus) -> Self {
        match end {
            EndStatus::Skipped => Self::Skipped,
            EndStatus::Failed => Self::Failed,
        }
    }
}

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
