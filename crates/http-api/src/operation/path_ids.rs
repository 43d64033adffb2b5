//! The ids in a request's path, which the framework has percent-decoded.

use bidloop_domain::model::{CampaignId, LeadId};
use bidloop_domain::use_case::{Caller, LeadError};
use tracing::{Span, record_all};

use crate::routes::Ids;

/// Reads the ids and notes whose request it is in its span. A text that is not an id names an unknown campaign or lead.
pub(crate) fn read(caller: &Caller, ids: Ids<'_>) -> Result<(CampaignId, Option<LeadId>), LeadError> {
    let campaign = CampaignId::parse(ids.campaign).map_err(|_| LeadError::CampaignUnknown);
    let lead = match &campaign {
        Ok(_) => ids.lead.map(LeadId::parse).transpose(),
        Err(_) => Ok(None),
    };
    let lead = lead.map_err(|_| LeadError::LeadUnknown);
    // Each step of a span has its price, so this is one.
    let span = Span::current();
    record_all!(
        span,
        organization = caller.organization_id.as_str(),
        campaign = campaign.as_ref().ok().map(CampaignId::as_str),
        lead = lead.as_ref().ok().and_then(Option::as_ref).map(LeadId::as_str),
    );
    Ok((campaign?, lead?))
}
