//! The four operations: reading the request, calling the use case, writing the answer.

mod list_leads;
pub(crate) mod path_ids;
mod reject_lead;
mod submit_bid;
mod upload_attachments;

pub(crate) use list_leads::list_leads;
pub(crate) use reject_lead::reject_lead;
pub(crate) use submit_bid::submit_bid;
pub(crate) use upload_attachments::upload_attachments;

pub(crate) use list_leads::__path_list_leads;
pub(crate) use reject_lead::__path_reject_lead;
pub(crate) use submit_bid::__path_submit_bid;
pub(crate) use upload_attachments::__path_upload_attachments;

use bidloop_domain::model::{CampaignId, LeadId};
use bidloop_domain::use_case::Caller;
use serde::Serialize;

/// `LeadActionAck`: what a bid and a rejection are answered with.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LeadActionAck<'a> {
    success: bool,
    lead_id: &'a LeadId,
    campaign_id: &'a CampaignId,
    organization_id: &'a str,
    /// Present and true only for a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    dry_run: Option<bool>,
}

impl<'a> LeadActionAck<'a> {
    fn new(caller: &'a Caller, campaign: &'a CampaignId, lead: &'a LeadId) -> Self {
        Self {
            success: true,
            lead_id: lead,
            campaign_id: campaign,
            organization_id: caller.organization_id.as_str(),
            dry_run: None,
        }
    }
}
