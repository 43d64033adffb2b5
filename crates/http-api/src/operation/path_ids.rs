//! The ids in a request's path, already percent-decoded by the router.

use actix_web::HttpRequest;
use bidloop_domain::model::{CampaignId, LeadId};
use tracing::Span;

/// The campaign's id; `None` for a text that no campaign can have as its id.
pub(crate) fn campaign(request: &HttpRequest) -> Option<CampaignId> {
    let campaign = CampaignId::parse(request.match_info().get("campaign_id")?).ok()?;
    Span::current().record("campaign", campaign.as_str());
    Some(campaign)
}

/// The lead's id. A text that no lead can have becomes the empty id, which no lead has: so it is found unknown in
/// its turn, after the campaign, and no odd byte reaches a database.
pub(crate) fn lead(request: &HttpRequest) -> LeadId {
    let given = request.match_info().get("lead_id").unwrap_or_default();
    let is_possible = (1..=64).contains(&given.len())
        && given
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    if is_possible {
        Span::current().record("lead", given);
        LeadId::from_caller(given)
    } else {
        LeadId::from_caller("")
    }
}
