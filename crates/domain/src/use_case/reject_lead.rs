//! Reject lead: the service will not bid on it. Tests: `tests/use_case/reject_lead.rs`.

use serde_json::json;

use super::lead_request::details_on;
use super::{LeadAddress, LeadError, LeadRequests, Requester};
use crate::model::{ActivityKind, CampaignId};
use crate::port::RejectLead as Rejection;

/// The most characters of a reason (specification, Limits).
pub const MAX_REASON_CHARS: usize = 500;

/// Rejects leads (specification, POST …/reject).
#[derive(Debug)]
pub struct RejectLead {
    /// Finds leads and records requests.
    pub requests: LeadRequests,
}

impl RejectLead {
    /// Rejects a `new` lead. `reason` is at most [`MAX_REASON_CHARS`] long; an `Err` is why the driving adapter
    /// could not read the request.
    pub async fn execute(
        &self,
        requester: &Requester,
        campaign: &CampaignId,
        lead: impl Into<LeadAddress> + Send,
        reason: Result<Option<String>, LeadError>,
    ) -> Result<(), LeadError> {
        let lead = lead.into();
        let lead = &self.requests.locate(requester, campaign, &lead, &reason).await?;
        let kind = ActivityKind::Rejection;
        let mut entry = self.requests.accepted(requester, lead, kind, "Lead rejected.");
        let error = match reason {
            Err(fault) => fault,
            Ok(reason) => {
                entry.details = details_on(&requester.authorization, json!({ "reason": reason }));
                let leads = &self.requests.leads;
                match leads
                    .reject(&requester.authorization, lead, reason.as_deref(), &entry)
                    .await?
                {
                    Rejection::Rejected => return Ok(()),
                    Rejection::NotAuthorized(why) => LeadError::NotAuthorized(why),
                    Rejection::LeadUnknown => LeadError::LeadUnknown,
                    Rejection::LeadNotNew(status) => LeadError::RejectionTooLate(status),
                }
            }
        };
        // Rare and large: the other requests do without its room.
        Err(Box::pin(self.requests.refuse(requester, entry, error)).await)
    }
}
