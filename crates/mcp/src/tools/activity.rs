//! `list_activity`.

use bidloop_domain::matching::json::{Null, storable_text};
use bidloop_domain::model::{ActivityKind, ActivitySearch, CampaignId, LeadId};
use bidloop_domain::use_case::TokenCaller;
use serde_json::{Value, json};
use strum::VariantArray as _;

use super::Arguments;
use crate::answer::{Answer, fitting};
use crate::tool_error::ToolError;
use crate::{ToolServer, arguments};

/// The most entries that a call returns.
pub(crate) const MAX_ENTRIES: u64 = 100;
/// How many it returns unless the call says otherwise.
const ENTRIES: u64 = 50;

/// The organization's record as `bidloop activity` prints it. What is unknown has no entries.
pub(super) async fn list(
    server: &ToolServer,
    caller: &TokenCaller,
    given: Arguments,
) -> Result<Answer, ToolError> {
    let (campaign_id, lead_id, kind, limit) = arguments::read(given, |fields| {
        let campaign = fields.field("campaignId", Null::Refused, |value| {
            CampaignId::parse(&storable_text(value)?).map_err(|fault| fault.to_string())
        });
        let lead = fields.field("leadId", Null::Refused, |value| {
            LeadId::parse(&storable_text(value)?).map_err(|fault| fault.to_string())
        });
        let kinds: Vec<&str> = ActivityKind::VARIANTS.iter().map(|kind| kind.as_str()).collect();
        let kind = fields.field("kind", Null::Refused, |value| arguments::word(value, &kinds));
        let limit = arguments::whole(fields, "limit", (1, MAX_ENTRIES), ENTRIES);
        Some((campaign.given(), lead.given(), kind.given(), limit?))
    })?;
    let search = ActivitySearch {
        campaign_id,
        lead_id,
        kind,
        ..ActivitySearch::of(caller.member.organization_id().clone())
    };
    let limit = u32::try_from(limit).unwrap_or_default();
    let found = server.search_activity.newest(&search, limit).await?;
    let entries = found.entries.iter().map(|entry| {
        serde_json::to_value(entry)
            .map_err(|fault| ToolError::Internal(format!("an entry cannot be written: {fault}")))
    });
    let entries: Vec<Value> = entries.collect::<Result<_, _>>()?;
    let listed = entries.len();
    let entries = fitting(entries);
    Ok(Answer::of(json!({
        "hasMore": found.below.is_some() || entries.len() < listed,
        "data": entries,
    }))
    .by_strangers("`data`"))
}
