//! Leads: their statuses, transitions and stored form. Their JSON is written by [`lead_document`](super::lead_document).

use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, IntoStaticStr, VariantArray};

use super::{BiddingConfig, CampaignId, EndStatus, JobId, LeadId, OrganizationId, Reason, Timestamp};

/// Where a lead stands (decision B1).
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
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum LeadStatus {
    /// Neither bid on nor rejected.
    New,
    /// A bid is accepted and on its way to the marketplace.
    Queued,
    /// The marketplace has the proposal.
    Submitted,
    /// The configuration said not to bid.
    Skipped,
    /// The marketplace refused for good, or the deadline passed.
    Failed,
    /// Rejected by the caller: never bid on.
    Rejected,
}

impl LeadStatus {
    /// Whether a bid, a rejection or an upload is still possible (decisions B1 and A10).
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

/// A job matched to a campaign and kept under a stable id.
#[derive(Debug, Clone, PartialEq)]
pub struct Lead {
    /// Its id.
    pub id: LeadId,
    /// Its organization.
    pub organization_id: OrganizationId,
    /// Its campaign.
    pub campaign_id: CampaignId,
    /// The job it was made of.
    pub job_id: JobId,
    /// When the job became a match of the campaign (decision A5).
    pub created_at: Timestamp,
    /// Where it stands.
    pub status: LeadStatus,
    /// Why it was skipped or failed.
    pub reason: Option<Reason>,
    /// What the caller said when rejecting it.
    pub rejection_reason: Option<String>,
    /// The marketplace's id of the account's proposal on the job, once there is one.
    pub proposal_id: Option<String>,
    /// The lead's own bidding configuration.
    pub bidding_config: BiddingConfig,
}

/// A lead beside its job's marketplace JSON, as served.
#[derive(Debug, Clone, PartialEq)]
pub struct LeadWithJob {
    /// The lead.
    pub lead: Lead,
    /// The `JobPost` JSON, byte for byte as the marketplace served it.
    pub job_json: String,
}
