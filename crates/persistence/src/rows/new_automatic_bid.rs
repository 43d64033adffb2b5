//! Intents to bid by template as they are queued.

use bidloop_domain::model::{CampaignId, LeadId, OrganizationId, Timestamp};
use diesel::prelude::*;

use crate::schema::automatic_bids;

/// The columns of `automatic_bids` that a new one has.
#[derive(Debug, Clone, Insertable)]
#[diesel(table_name = automatic_bids)]
pub(crate) struct NewAutomaticBidRow {
    pub(crate) organization_id: String,
    pub(crate) lead_id: String,
    pub(crate) campaign_id: String,
    pub(crate) queued_at: i64,
}

impl NewAutomaticBidRow {
    pub(crate) fn new(
        organization: &OrganizationId,
        campaign: &CampaignId,
        lead: &LeadId,
        at: Timestamp,
    ) -> Self {
        Self {
            organization_id: organization.to_string(),
            lead_id: lead.to_string(),
            campaign_id: campaign.to_string(),
            queued_at: at.as_millis(),
        }
    }
}
