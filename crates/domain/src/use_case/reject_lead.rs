//! Reject lead: the service never bids on it.

use std::sync::Arc;

use serde_json::{Map, json};

use super::submit_bid::{details, shape_details};
use super::{Caller, RequestFault};
use crate::model::{Activity, ActivityId, ActivityKind, CampaignId, LeadId, LeadStatus};
use crate::port::{ActivityStore, Clock, Ids, LeadLookup, LeadStore, RejectLead as Rejection, StoreError};

/// The most characters that a reason may have (specification, Limits).
pub const MAX_REASON_CHARS: usize = 500;

/// Why a rejection was refused. Nothing but the Activity record has changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RejectLeadError {
    /// The organization has no such campaign.
    #[error("campaign not found")]
    CampaignUnknown,
    /// The campaign has no such lead.
    #[error("lead not found")]
    LeadUnknown,
    /// The request's wrapping or shape.
    #[error(transparent)]
    Request(#[from] RequestFault),
    /// Rejected or processed before.
    #[error("the lead is already {0}: it cannot be rejected")]
    LeadNotNew(LeadStatus),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl RejectLeadError {
    /// The status it is answered with (specification, Errors); `None` for a failure of the service.
    pub const fn http_status(&self) -> Option<u16> {
        match self {
            Self::CampaignUnknown | Self::LeadUnknown => Some(404),
            Self::Request(fault) => Some(fault.http_status()),
            Self::LeadNotNew(_) => Some(400),
            Self::Store(_) => None,
        }
    }
}

/// Rejects leads (specification, POST …/reject).
#[derive(Debug)]
pub struct RejectLead {
    leads: Arc<dyn LeadStore>,
    activities: Arc<dyn ActivityStore>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn Ids>,
}

impl RejectLead {
    /// Over its ports.
    pub fn new(
        leads: Arc<dyn LeadStore>,
        activities: Arc<dyn ActivityStore>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn Ids>,
    ) -> Self {
        Self {
            leads,
            activities,
            clock,
            ids,
        }
    }

    /// Rejects a `new` lead; `reason` is at most [`MAX_REASON_CHARS`] long, which the adapter has checked.
    pub async fn execute(
        &self,
        caller: &Caller,
        campaign: &CampaignId,
        lead: &LeadId,
        reason: Result<Option<String>, RequestFault>,
    ) -> Result<(), RejectLeadError> {
        let lookup = self.leads.find(&caller.organization_id, campaign, lead).await?;
        match (lookup, &reason) {
            (LeadLookup::Found(_), _) => {}
            (_, Err(fault @ RequestFault::TooLarge { .. })) => return Err(fault.clone().into()),
            (LeadLookup::CampaignUnknown, _) => return Err(RejectLeadError::CampaignUnknown),
            (LeadLookup::LeadUnknown, _) => return Err(RejectLeadError::LeadUnknown),
        }
        let mut entry = Activity {
            id: ActivityId(self.ids.uuid()),
            at: self.clock.now(),
            organization_id: caller.organization_id.clone(),
            campaign_id: Some(campaign.clone()),
            lead_id: Some(lead.clone()),
            kind: ActivityKind::Rejection,
            actor: caller.actor(),
            outcome: "accepted".to_owned(),
            http_status: Some(200),
            dry_run: false,
            message: "Lead rejected.".to_owned(),
            details: Map::new(),
        };
        let outcome = match reason {
            Err(fault) => Err(RejectLeadError::from(fault)),
            Ok(reason) => {
                entry.details = details(json!({ "reason": reason }));
                match self
                    .leads
                    .reject(&caller.organization_id, lead, reason.as_deref(), &entry)
                    .await?
                {
                    Rejection::Rejected => Ok(()),
                    Rejection::LeadUnknown => Err(RejectLeadError::LeadUnknown),
                    Rejection::LeadNotNew(status) => Err(RejectLeadError::LeadNotNew(status)),
                }
            }
        };
        if let Err(refusal) = &outcome {
            "refused".clone_into(&mut entry.outcome);
            entry.http_status = refusal.http_status();
            entry.message = refusal.to_string();
            if let RejectLeadError::Request(RequestFault::Shape(faults)) = refusal {
                entry.details = shape_details(faults);
            }
            self.activities.record(&entry).await?;
        }
        outcome
    }
}
