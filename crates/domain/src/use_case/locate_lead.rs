//! Locate lead: whether a campaign, and a lead of it, exist for a caller. For requests that no operation takes
//! (a wrong method), which are still 404 before anything else (decision A1).

use std::sync::Arc;

use super::Caller;
use crate::model::{CampaignId, LeadId};
use crate::port::{LeadLookup, LeadStore, StoreError};

/// Why nothing was located.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LocateLeadError {
    /// The organization has no such campaign.
    #[error("campaign not found")]
    CampaignUnknown,
    /// The campaign has no such lead.
    #[error("lead not found")]
    LeadUnknown,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Locates campaigns and leads within the caller's organization (specification, Authentication, rule 8).
#[derive(Debug)]
pub struct LocateLead {
    leads: Arc<dyn LeadStore>,
}

impl LocateLead {
    /// Over a store.
    pub fn new(leads: Arc<dyn LeadStore>) -> Self {
        Self { leads }
    }

    /// Looks the campaign up and, if `lead` is given, that lead of it.
    pub async fn execute(
        &self,
        caller: &Caller,
        campaign: &CampaignId,
        lead: Option<&LeadId>,
    ) -> Result<(), LocateLeadError> {
        // No lead has the empty id, so this asks for the campaign alone.
        let no_lead = LeadId::from_caller("");
        let lookup = self
            .leads
            .find(&caller.organization_id, campaign, lead.unwrap_or(&no_lead))
            .await?;
        match lookup {
            LeadLookup::CampaignUnknown => Err(LocateLeadError::CampaignUnknown),
            LeadLookup::LeadUnknown if lead.is_some() => Err(LocateLeadError::LeadUnknown),
            LeadLookup::LeadUnknown | LeadLookup::Found(_) => Ok(()),
        }
    }
}
