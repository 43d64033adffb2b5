//! The ids in a request's path, which the router has percent-decoded.

use actix_web::HttpRequest;
use bidloop_domain::model::{CampaignId, LeadId};
use bidloop_domain::use_case::LeadError;
use tracing::Span;

/// Reads the campaign's id. A text that is not an id of a campaign names an unknown one.
pub(crate) fn campaign(request: &HttpRequest) -> Result<CampaignId, LeadError> {
    let text = request.match_info().get("campaign_id").unwrap_or_default();
    let id = CampaignId::parse(text).map_err(|_| LeadError::CampaignUnknown)?;
    Span::current().record("campaign", id.as_str());
    Ok(id)
}

/// Reads the lead's id. A text that is not an id of a lead names an unknown one.
pub(crate) fn lead(request: &HttpRequest) -> Result<LeadId, LeadError> {
    let text = request.match_info().get("lead_id").unwrap_or_default();
    let id = LeadId::parse(text).map_err(|_| LeadError::LeadUnknown)?;
    Span::current().record("lead", id.as_str());
    Ok(id)
}
