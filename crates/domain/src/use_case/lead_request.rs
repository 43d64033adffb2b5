//! Requests on one lead: what submit bid, reject lead and upload attachments share. Each finds its lead before it
//! judges, and each leaves one entry in the Activity record once there is a lead, refused or not (decision C8).
//!
//! Does not judge: what is refused and why is each operation's own.

use std::fmt::Display;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::RequestFault;
use crate::model::{
    Activity, ActivityId, ActivityKind, Actor, CampaignId, Lead, LeadId, OrganizationId, details,
};
use crate::port::{ActivityStore, Clock, Ids, LeadContext, LeadLookup, LeadStore, StoreError};

/// Why an operation on a lead refuses a request, or fails.
pub(super) trait LeadRefusal: Display + From<RequestFault> + From<StoreError> {
    const CAMPAIGN_UNKNOWN: Self;
    const LEAD_UNKNOWN: Self;

    /// The status it is answered with; `None` for a failure of the service, which is no refusal.
    fn answered_with(&self) -> Option<u16>;

    /// What its entry tells machines, beside what the request had told.
    fn details(&self) -> Map<String, Value>;
}

/// The details of an entry about a refused request's wrapping or shape.
pub(super) fn fault_details(fault: &RequestFault) -> Map<String, Value> {
    match fault {
        RequestFault::Shape(faults) => details(json!({ "errors": faults })),
        RequestFault::TooLarge { .. } | RequestFault::UnsupportedMediaType { .. } => Map::new(),
    }
}

/// Finds the leads of requests and records what became of each.
#[derive(Debug, Clone)]
pub(super) struct LeadRequests {
    pub(super) leads: Arc<dyn LeadStore>,
    pub(super) activities: Arc<dyn ActivityStore>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) ids: Arc<dyn Ids>,
}

impl LeadRequests {
    /// The request's lead. Where there is none nothing is recorded, and of the request's own faults only one is told
    /// before that: a body that is too large (decision A1).
    pub(super) async fn find<E: LeadRefusal, T>(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
        lead: &LeadId,
        request: &Result<T, RequestFault>,
    ) -> Result<LeadContext, E> {
        let lookup = self.leads.find(organization, campaign, lead).await?;
        match (lookup, request) {
            (LeadLookup::Found(found), _) => Ok(*found),
            (_, Err(fault @ RequestFault::TooLarge { .. })) => Err(fault.clone().into()),
            (LeadLookup::CampaignUnknown, _) => Err(E::CAMPAIGN_UNKNOWN),
            (LeadLookup::LeadUnknown, _) => Err(E::LEAD_UNKNOWN),
        }
    }

    /// The entry of a request over HTTP that is accepted.
    pub(super) fn entry(&self, kind: ActivityKind, actor: Actor, lead: &Lead, message: &str) -> Activity {
        Activity {
            id: ActivityId(self.ids.uuid()),
            at: self.clock.now(),
            organization_id: lead.organization_id.clone(),
            campaign_id: Some(lead.campaign_id.clone()),
            lead_id: Some(lead.id.clone()),
            kind,
            actor,
            outcome: "accepted".to_owned(),
            http_status: Some(200),
            dry_run: false,
            message: message.to_owned(),
            details: Map::new(),
        }
    }

    /// Records that the request of the entry is refused, and answers the error to report. A failure of the service is
    /// no refusal, and is not recorded.
    pub(super) async fn refuse<E: LeadRefusal>(&self, mut entry: Activity, refusal: E) -> E {
        let Some(status) = refusal.answered_with() else {
            return refusal;
        };
        "refused".clone_into(&mut entry.outcome);
        // The service's own bids came over no HTTP, and are answered with no status.
        entry.http_status = entry.http_status.and(Some(status));
        entry.message = refusal.to_string();
        entry.details.extend(refusal.details());
        match self.activities.record(&entry).await {
            Ok(()) => refusal,
            Err(failure) => failure.into(),
        }
    }
}
