//! `submit_bid` and `reject_lead`.

use bidloop_domain::bidding::DryRun;
use bidloop_domain::model::{CampaignId, Connects, LeadId, LeadStatus};
use bidloop_domain::use_case::{ActingMember, BidAccepted, LeadAddress, LeadError, Requester, TokenCaller};
use serde_json::{Value, json};

use super::Arguments;
use crate::answer::Answer;
use crate::tool_error::ToolError;
use crate::{ToolServer, arguments};

const DRY_RUN: &str = "dryRun";

/// As the API's `submitBid`, but a dry run unless the call says otherwise.
pub(super) async fn submit(
    server: &ToolServer,
    caller: &TokenCaller,
    mut given: Arguments,
) -> Result<Answer, ToolError> {
    let (campaign, lead) = taken(&mut given)?;
    given.entry(DRY_RUN).or_insert(Value::Bool(true));
    let request = read(given, server.api.read_bid);
    let requester = ActingMember::from(caller).requester();
    let address = located(server, &requester, &campaign, &lead).await?;
    let accepted = server.submit_bid.execute(&requester, &campaign, address, request);
    let accepted = accepted.await?;
    let mut body = acknowledged(&requester, &campaign, &lead);
    let says = match accepted {
        BidAccepted::Simulated(simulated) => {
            body[DRY_RUN] = Value::Bool(true);
            body["simulated"] = figures(&simulated);
            "Dry run: the bid would be queued, and nothing was. `simulated` has what it would offer; null is what only the \
             marketplace knows. A dry run spends nothing: the bid would cost the connects that the job asks for, and the \
             boost. Call again with dryRun false to bid."
        }
        BidAccepted::Queued => "The bid is queued, not yet submitted. get_lead shows how it ends.",
    };
    Ok(Answer::of(body).saying(says))
}

/// As the API's `rejectLead`.
pub(super) async fn reject(
    server: &ToolServer,
    caller: &TokenCaller,
    mut given: Arguments,
) -> Result<Answer, ToolError> {
    let (campaign, lead) = taken(&mut given)?;
    let reason = read(given, server.api.read_rejection);
    let requester = ActingMember::from(caller).requester();
    let address = located(server, &requester, &campaign, &lead).await?;
    server
        .reject_lead
        .execute(&requester, &campaign, address, reason)
        .await?;
    Ok(Answer::of(acknowledged(&requester, &campaign, &lead)))
}

/// Takes the arguments that are in the address of the API's operation. The rest is the body.
fn taken(given: &mut Arguments) -> Result<(CampaignId, LeadId), LeadError> {
    let mut address = Arguments::new();
    for name in ["campaignId", "leadId"] {
        address.extend(given.remove_entry(name));
    }
    arguments::campaign_and_lead(address)
}

fn read<T>(body: Arguments, read: fn(&[u8]) -> Result<T, LeadError>) -> Result<T, LeadError> {
    read(Value::Object(body).to_string().as_bytes())
}

/// Where the use case finds the lead, or the match that becomes one. If there is neither, the use case says so.
async fn located(
    server: &ToolServer,
    requester: &Requester,
    campaign: &CampaignId,
    lead: &LeadId,
) -> Result<LeadAddress, ToolError> {
    let address = LeadAddress::of(lead.clone());
    let organization = &requester.organization_id;
    let located = server.find_lead.locate(organization, campaign, &address).await?;
    Ok(located.unwrap_or(address))
}

/// What the `bid_complete` of a dry run reports (decision C1), with the steps that lead to it.
fn figures(simulated: &DryRun) -> Value {
    let spent = Connects::ZERO;
    json!({
        "outcome": LeadStatus::Submitted,
        "terms": simulated.terms,
        "boostConnects": simulated.boost_connects,
        "connectsSpent": spent,
        "connectsCostUsd": spent.cost().to_number(),
        "steps": simulated.steps,
    })
}

/// `LeadActionAck` of the specification.
fn acknowledged(requester: &Requester, campaign: &CampaignId, lead: &LeadId) -> Value {
    json!({
        "success": true,
        "leadId": lead,
        "campaignId": campaign,
        "organizationId": requester.organization_id,
    })
}
