//! `list_leads`, `get_lead` and `explain_match`.

use bidloop_domain::matching::Explanation;
use bidloop_domain::matching::json::Null;
use bidloop_domain::model::LeadStatus;
use bidloop_domain::use_case::{LeadAddress, MAX_PAGE, MatchedFilter, TokenCaller};
use serde_json::{Value, json};
use strum::VariantArray as _;

use super::Arguments;
use crate::answer::{Answer, fitting};
use crate::tool_error::ToolError;
use crate::{ToolServer, arguments};

/// A larger offset finds nothing either.
const MAX_OFFSET: u64 = i64::MAX as u64;

/// A page as List leads returns it. With a status, those of it are listed, and no match gets a record.
pub(super) async fn list(
    server: &ToolServer,
    caller: &TokenCaller,
    given: Arguments,
) -> Result<Answer, ToolError> {
    let (campaign, offset, limit, status) = arguments::read(given, |fields| {
        let campaign = arguments::campaign(fields);
        let offset = arguments::whole(fields, "offset", (0, MAX_OFFSET), 0);
        let most = u64::from(MAX_PAGE);
        let limit = arguments::whole(fields, "limit", (1, most), most);
        let statuses: Vec<&str> = LeadStatus::VARIANTS
            .iter()
            .map(|status| status.as_str())
            .collect();
        let status = fields.field("status", Null::Refused, |value| arguments::word(value, &statuses));
        Some((campaign?, offset?, limit?, status.given()))
    })?;
    let (organization, campaign) = (caller.member.organization_id(), campaign?);
    let limit = u32::try_from(limit).unwrap_or(MAX_PAGE);
    let page = match status {
        None => {
            server
                .list_leads
                .execute(organization, &campaign, offset, limit)
                .await?
        }
        Some(status) => {
            let list = &server.list_leads_of_status;
            list.execute(organization, &campaign, status, offset, limit)
                .await?
        }
    };
    let leads: Vec<Value> = serde_json::from_slice(&page.json())
        .map_err(|fault| ToolError::Internal(format!("a page of leads is no list: {fault}")))?;
    let listed = leads.len();
    let leads = fitting(leads);
    Ok(Answer::of(json!({
        "total": page.total,
        "offset": page.offset,
        "limit": page.limit,
        "hasMore": page.has_more() || leads.len() < listed,
        "data": leads,
    }))
    .by_strangers("`data`"))
}

/// A lead as `bidloop leads show` prints it.
pub(super) async fn get(
    server: &ToolServer,
    caller: &TokenCaller,
    given: Arguments,
) -> Result<Answer, ToolError> {
    let (campaign, lead) = arguments::campaign_and_lead(given)?;
    let (organization, address) = (caller.member.organization_id(), LeadAddress::of(lead));
    let shown = server
        .describe_lead
        .execute(organization, &campaign, &address)
        .await?;
    let shown = serde_json::to_value(&shown)
        .map_err(|fault| ToolError::Internal(format!("a lead cannot be written: {fault}")))?;
    Ok(Answer::of(shown).by_strangers("`lead`"))
}

/// The verdicts of the campaign's filters. The first that matches, or else the first, is shown as `bidloop filters explain`
/// does; all follow in `filters`.
pub(super) async fn explain(
    server: &ToolServer,
    caller: &TokenCaller,
    given: Arguments,
) -> Result<Answer, ToolError> {
    let (campaign, lead) = arguments::campaign_and_lead(given)?;
    let (organization, address) = (caller.member.organization_id(), LeadAddress::of(lead.clone()));
    let filters = server
        .explain_match
        .execute(organization, &campaign, &address)
        .await?;
    let matching = filters.iter().find(|filter| filter.explanation.matches);
    let shown = matching.or(filters.first());
    Ok(Answer::of(json!({
        "campaignId": campaign,
        "leadId": lead,
        "matches": matching.is_some(),
        "filterId": shown.map(|filter| &filter.id),
        "conditions": shown.map_or_else(Vec::new, |filter| conditions(&filter.explanation)),
        "filters": filters.iter().map(verdict).collect::<Vec<_>>(),
    }))
    .by_strangers("`detail` of the conditions"))
}

fn verdict(filter: &MatchedFilter) -> Value {
    json!({
        "id": filter.id,
        "name": filter.name,
        "matches": filter.explanation.matches,
        "conditions": conditions(&filter.explanation),
    })
}

fn conditions(explanation: &Explanation) -> Vec<Value> {
    let conditions = explanation.conditions.iter().map(|condition| {
        json!({
            "condition": condition.path,
            "result": condition.result.as_str(),
            "detail": condition.detail,
        })
    });
    conditions.collect()
}
