//! Reject lead: the service never bids on it.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::lead_request::{LeadRefusal, LeadRequests, fault_details};
use super::{Caller, RequestFault};
use crate::model::{ActivityKind, CampaignId, LeadId, LeadStatus, details};
use crate::port::{ActivityStore, Clock, Ids, LeadStore, RejectLead as Rejection, StoreError};

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

impl LeadRefusal for RejectLeadError {
    const CAMPAIGN_UNKNOWN: Self = Self::CampaignUnknown;
    const LEAD_UNKNOWN: Self = Self::LeadUnknown;

    fn answered_with(&self) -> Option<u16> {
        self.http_status()
    }

    fn details(&self) -> Map<String, Value> {
        match self {
            Self::Request(fault) => fault_details(fault),
            _ => Map::new(),
        }
    }
}

/// Rejects leads (specification, POST …/reject).
#[derive(Debug)]
pub struct RejectLead {
    requests: LeadRequests,
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
            requests: LeadRequests {
                leads,
                activities,
                clock,
                ids,
            },
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
        let organization = &caller.organization_id;
        let found = self
            .requests
            .find::<RejectLeadError, _>(organization, campaign, lead, &reason)
            .await?;
        let mut entry = self.requests.entry(
            ActivityKind::Rejection,
            caller.actor(),
            &found.lead.lead,
            "Lead rejected.",
        );
        let refusal = match reason {
            Err(fault) => fault.into(),
            Ok(reason) => {
                entry.details = details(json!({ "reason": reason }));
                let leads = &self.requests.leads;
                match leads
                    .reject(organization, lead, reason.as_deref(), &entry)
                    .await?
                {
                    Rejection::Rejected => return Ok(()),
                    Rejection::LeadUnknown => RejectLeadError::LeadUnknown,
                    Rejection::LeadNotNew(status) => RejectLeadError::LeadNotNew(status),
                }
            }
        };
        Err(self.requests.refuse(entry, refusal).await)
    }
}
