//! The answer to an accepted bid or rejection.

use serde::{Deserialize, Serialize};

/// An accepted bid or rejection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Acknowledgement {
    /// Always true.
    pub success: bool,
    /// The lead.
    pub lead_id: String,
    /// Its campaign.
    pub campaign_id: String,
    /// Its organization.
    pub organization_id: String,
    /// Whether the request was a dry run.
    #[serde(default)]
    pub dry_run: bool,
}
