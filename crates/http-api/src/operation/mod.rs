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

use std::sync::Arc;

use actix_web::HttpRequest;
use actix_web::http::header::HeaderName;
use bidloop_domain::model::{CampaignId, LeadId, OrganizationId, TRACE_PARENT_HEADER, TraceParent};
use bidloop_domain::use_case::{LeadError, Requester};
use bidloop_http_server::{BytePool, ByteShare};
use serde::Serialize;

use crate::HttpApi;
use crate::bodies_in_flight::share_of;
use crate::errors::{Refusal, http_status};
use crate::request_body::check_declared_length;
use crate::routes::Ids;

/// The caller and the lead of a request.
struct LeadRequest {
    requester: Requester,
    campaign: CampaignId,
    lead: LeadId,
    /// What the request's body holds until the request is answered.
    share: ByteShare,
}

impl LeadRequest {
    /// Authenticates the caller and reads the ids in the path. The body may have at most `limit_bytes` and counts in
    /// `bodies`.
    async fn authenticate(
        request: &HttpRequest,
        ids: Ids<'_>,
        api: &HttpApi,
        limit_bytes: u64,
        bodies: &Arc<BytePool>,
    ) -> Result<Self, Refusal> {
        let caller = api.authenticate(request).await?;
        let read = path_ids::read(&caller, ids)
            .and_then(|(campaign, lead)| Ok((campaign, lead.ok_or(LeadError::LeadUnknown)?)));
        let (campaign, lead) = match read {
            Ok(ids) => ids,
            Err(unknown) => {
                check_declared_length(request.headers(), limit_bytes)?;
                return Err(unknown.into());
            }
        };
        Ok(Self {
            share: share_of(bodies, &caller),
            requester: Requester {
                actor: caller.actor(),
                authorization: caller.authorization(),
                organization_id: caller.organization_id,
                http_status: Some(http_status),
                trace_parent: trace_of(request),
            },
            campaign,
            lead,
        })
    }

    /// The answer to an accepted bid or rejection.
    fn acknowledged(self, dry_run: bool) -> LeadActionAck {
        LeadActionAck {
            success: true,
            lead_id: self.lead,
            campaign_id: self.campaign,
            organization_id: self.requester.organization_id,
            dry_run: dry_run.then_some(true),
        }
    }
}

const TRACE_PARENT: HeaderName = HeaderName::from_static(TRACE_PARENT_HEADER);

/// The trace that the request belongs to. A header that is malformed, or sent twice, is as none.
fn trace_of(request: &HttpRequest) -> Option<TraceParent> {
    let mut headers = request.headers().get_all(&TRACE_PARENT);
    let header = headers.next().filter(|_| headers.next().is_none())?;
    TraceParent::parse(header.to_str().ok()?)
}

/// What was read of a body, for the use case to judge. An overload is answered at once: it costs no look-up.
fn unless_overloaded<T>(read: Result<T, LeadError>) -> Result<Result<T, LeadError>, Refusal> {
    match read {
        Err(overloaded @ LeadError::Overloaded) => Err(overloaded.into()),
        read => Ok(read),
    }
}

/// `LeadActionAck` of the specification.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LeadActionAck {
    success: bool,
    lead_id: LeadId,
    campaign_id: CampaignId,
    organization_id: OrganizationId,
    /// Present and true only for a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    dry_run: Option<bool>,
}
