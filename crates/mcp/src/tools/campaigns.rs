//! `list_campaigns`.

use bidloop_domain::use_case::{ListedCampaign, TokenCaller};
use serde_json::{Value, json};

use super::Arguments;
use crate::answer::Answer;
use crate::tool_error::ToolError;
use crate::{ToolServer, arguments};

pub(super) async fn list(
    server: &ToolServer,
    caller: &TokenCaller,
    given: &Arguments,
) -> Result<Answer, ToolError> {
    arguments::none(given)?;
    // An organization that was removed a moment ago has none.
    let campaigns = server
        .list_campaigns
        .execute(&caller.member)
        .await?
        .unwrap_or_default();
    let campaigns: Vec<Value> = campaigns.iter().map(campaign).collect();
    let organization = &caller.member.organization;
    Ok(Answer::of(json!({
        "organizationId": organization.organization_id,
        "organizationName": organization.organization_name,
        "subscription": caller.member.subscription.status,
        "campaigns": campaigns,
    })))
}

fn campaign(campaign: &ListedCampaign) -> Value {
    let sign = &campaign.sign;
    let missing: Vec<&str> = campaign.missing.iter().map(|part| part.as_str()).collect();
    json!({
        "id": sign.id,
        "name": sign.name,
        "mode": sign.mode,
        "state": sign.state,
        "bidderAccountId": campaign.account_id,
        "filters": campaign.filters,
        "missing": missing,
        "canStart": campaign.can_start(),
        "matchesToday": campaign.matches_today,
        "submittedInSevenDays": campaign.submitted,
        "connectsInSevenDays": campaign.connects,
    })
}
