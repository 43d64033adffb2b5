//! Requests on one lead: what submit bid, reject lead and upload attachments share.
//!
//! Each use case finds its lead before it validates the request. If there is a lead, the request leaves one entry in the
//! Activity record, refused or not (decision C8). The use cases own the reasons for a refusal.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{LeadAddress, LeadError};
use crate::model::{
    Activity, ActivityId, ActivityKind, ActivityOutcome, Actor, Authorization, CampaignId, Lead,
    OrganizationId, TraceParent, details,
};
use crate::port::{
    ActivityStore, CampaignFeedStore, Clock, Entropy, LeadContext, LeadLookup, LeadStore, StoreError,
};

/// The HTTP status of the answer to a request that succeeded or failed with an error.
pub type HttpStatusOf = fn(Result<(), &LeadError>) -> u16;

/// Who makes a request on a lead.
#[derive(Debug, Clone)]
pub struct Requester {
    /// The organization whose leads the requester may act on.
    pub organization_id: OrganizationId,
    /// The requester in the Activity record.
    pub actor: Actor,
    /// Checked again when the request is accepted.
    pub authorization: Authorization,
    /// The HTTP adapter's table of statuses, so that the recorded status is the answered one. `None` for a request that
    /// is not made over HTTP.
    pub http_status: Option<HttpStatusOf>,
    /// The trace that the request belongs to.
    pub trace_parent: Option<TraceParent>,
}

impl Requester {
    /// The service itself, for an automatic campaign.
    pub fn service(organization_id: OrganizationId) -> Self {
        Self {
            organization_id,
            actor: Actor::service(),
            authorization: Authorization::Subscription,
            http_status: None,
            trace_parent: None,
        }
    }
}

/// The details of an entry about what was accepted or refused on `authorization`. A person's tool has the person as actor;
/// the member `personalToken` tells which token it used.
pub(super) fn details_on(authorization: &Authorization, facts: Value) -> Map<String, Value> {
    let mut noted = details(facts);
    if let Authorization::PersonalToken(token) = authorization {
        noted.insert("personalToken".to_owned(), json!(token));
    }
    noted
}

/// Finds the leads of requests and records how each request ended.
#[derive(Debug, Clone)]
pub struct LeadRequests {
    /// Leads.
    pub leads: Arc<dyn LeadStore>,
    /// Matches.
    pub feed: Arc<dyn CampaignFeedStore>,
    /// The Activity record.
    pub activities: Arc<dyn ActivityStore>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Makes ids.
    pub entropy: Arc<dyn Entropy>,
}

impl LeadRequests {
    /// The request's lead. An unknown campaign or lead is reported before the faults of the request, except a body that is
    /// too large (decision A1). Nothing is recorded then. An address that names its job finds a match without a record, too,
    /// which becomes a lead if the request is accepted (decision E5).
    pub(super) async fn find<T>(
        &self,
        requester: &Requester,
        campaign: &CampaignId,
        lead: &LeadAddress,
        request: &Result<T, LeadError>,
    ) -> Result<Box<LeadContext>, LeadError> {
        known(
            self.look_up(&requester.organization_id, campaign, lead).await?,
            request,
        )
    }

    /// As [`find`](Self::find), for a request that needs nothing but the lead itself.
    pub(super) async fn locate<T>(
        &self,
        requester: &Requester,
        campaign: &CampaignId,
        address: &LeadAddress,
        request: &Result<T, LeadError>,
    ) -> Result<Box<Lead>, LeadError> {
        let organization = &requester.organization_id;
        if address.fitting_job(organization, campaign).is_some() {
            let found = self.find(requester, campaign, address, request).await?;
            return Ok(Box::new(found.lead.lead));
        }
        known(
            self.leads.locate(organization, campaign, &address.lead).await?,
            request,
        )
    }

    pub(super) async fn look_up(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
        address: &LeadAddress,
    ) -> Result<LeadLookup, StoreError> {
        let Some(job) = address.fitting_job(organization, campaign) else {
            return self.leads.find(organization, campaign, &address.lead).await;
        };
        let found = self.feed.find_match(organization, campaign, job).await?;
        Ok(found.map_or(LeadLookup::LeadUnknown, |found| {
            LeadLookup::Found(Box::new(found))
        }))
    }

    /// The Activity entry of an accepted request.
    pub(super) fn accepted(
        &self,
        requester: &Requester,
        lead: &Lead,
        kind: ActivityKind,
        message: &str,
    ) -> Activity {
        let (id, at) = (ActivityId(self.entropy.uuid()), self.clock.now());
        let place = (&lead.organization_id, &lead.campaign_id, &lead.id);
        Activity {
            http_status: requester.http_status.map(|status| status(Ok(()))),
            message: message.to_owned(),
            ..Activity::on_lead(id, at, place, kind, requester.actor.clone())
        }
    }

    /// Records `entry` as refused with `error`, and returns the error to report. A failure of the service is not
    /// recorded.
    pub(super) async fn refuse(
        &self,
        requester: &Requester,
        mut entry: Activity,
        error: LeadError,
    ) -> LeadError {
        if !error.is_refusal() {
            return error;
        }
        entry.outcome = ActivityOutcome::Refused;
        entry.http_status = requester.http_status.map(|status| status(Err(&error)));
        entry.message = error.to_string();
        entry.details.extend(error.details());
        entry.details = details_on(&requester.authorization, Value::Object(entry.details));
        match self.activities.record(&entry).await {
            Ok(()) => error,
            Err(failure) => failure.into(),
        }
    }
}

/// What was looked up for a request, or why the request is refused (decision A1).
fn known<L, T>(lookup: LeadLookup<L>, request: &Result<T, LeadError>) -> Result<Box<L>, LeadError> {
    match (lookup, request) {
        (LeadLookup::Found(found), _) => Ok(found),
        (_, Err(fault @ LeadError::TooLarge { .. })) => Err(fault.clone()),
        (LeadLookup::CampaignUnknown, _) => Err(LeadError::CampaignUnknown),
        (LeadLookup::LeadUnknown, _) => Err(LeadError::LeadUnknown),
    }
}
