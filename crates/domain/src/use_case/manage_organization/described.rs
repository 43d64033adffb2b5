//! What a change changed, in plain words and field by field, never with a secret (decision E5).

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::change::OrganizationChange;
use crate::model::{CampaignId, EndpointId, FilterId, merge_patch};
use crate::provisioning::{
    AccountRecord, CampaignRecord, FilterRecord, OrganizationRecord, ProvisioningChange, WebhookRecord,
};

/// The Activity entry's sentence and facts.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Described {
    pub(super) message: String,
    /// `{"changes": [{"type", "id", "field", "old", "new"}]}`.
    pub(super) details: Value,
    pub(super) campaign: Option<CampaignId>,
}

pub(super) fn describe(
    change: &OrganizationChange,
    made_id: &str,
    before: &OrganizationRecord,
    changes: &[ProvisioningChange],
) -> Described {
    let fields: Vec<Value> = changes
        .iter()
        .flat_map(|change| changed_fields(before, change))
        .collect();
    let names: Vec<&str> = fields
        .iter()
        .filter_map(|field| field["field"].as_str())
        .collect();
    Described {
        message: message(change, made_id, before, &names.join(", ")),
        details: json!({ "changes": fields }),
        campaign: campaign_of(change, made_id, before),
    }
}

/// The campaign in whose record the entry is found.
fn campaign_of(
    change: &OrganizationChange,
    made_id: &str,
    before: &OrganizationRecord,
) -> Option<CampaignId> {
    match change {
        OrganizationChange::CreateCampaign { .. } => CampaignId::parse(made_id).ok(),
        OrganizationChange::EditWebhook { endpoint, .. }
        | OrganizationChange::RotateSecret { endpoint }
        | OrganizationChange::RemoveWebhook { endpoint } => {
            webhook(before, endpoint)?.endpoint.campaign_id.clone()
        }
        other => other.campaign().cloned(),
    }
}

fn message(change: &OrganizationChange, made_id: &str, before: &OrganizationRecord, fields: &str) -> String {
    use OrganizationChange as Change;
    let campaign = |id: &CampaignId| {
        let name = before
            .campaign(id)
            .map_or(id.as_str(), |known| known.name.as_str());
        format!("campaign \"{name}\"")
    };
    let capital = |id: &CampaignId| campaign(id).replacen('c', "C", 1);
    let owner = |id: Option<&CampaignId>| id.map_or_else(|| "the organization".to_owned(), campaign);
    let of_endpoint = |id: &EndpointId| {
        let scope = webhook(before, id).and_then(|known| known.endpoint.campaign_id.as_ref());
        format!("\"{id}\" of {}", owner(scope))
    };
    let account_name = |id: &str| {
        let known = before.accounts.iter().find(|known| known.id.as_str() == id);
        known.map_or_else(|| id.to_owned(), |known| known.name.clone())
    };
    match change {
        Change::Rename { name } => format!("Organization \"{}\" renamed to \"{name}\".", before.name),
        Change::CreateCampaign { name, .. } => format!("Campaign \"{name}\" created."),
        Change::EditCampaign { campaign: id, .. } => {
            let paused = if fields.split(", ").any(|field| field == "state") {
                " Switching to External paused it."
            } else {
                ""
            };
            format!("{} changed: {fields}.{paused}", capital(id))
        }
        Change::DeleteCampaign { campaign } => format!("{} deleted.", capital(campaign)),
        Change::StartCampaign { campaign } => format!("{} started.", capital(campaign)),
        Change::PauseCampaign { campaign } => format!("{} paused.", capital(campaign)),
        Change::PutFilter {
            campaign: id,
            filter: None,
            name,
            ..
        } => format!("Filter \"{name}\" of {} created.", campaign(id)),
        Change::PutFilter {
            campaign: id, name, ..
        } => format!("Filter \"{name}\" of {} changed: {fields}.", campaign(id)),
        Change::RemoveFilter {
            campaign: id,
            filter: removed,
        } => {
            let name = filter(before, id, removed).map_or(removed.as_str(), |known| known.name.as_str());
            format!("Filter \"{name}\" of {} removed.", campaign(id))
        }
        Change::SetBidding { campaign: id, .. } => format!("Bidding of {} changed: {fields}.", campaign(id)),
        Change::SetTemplate { campaign: id, .. } => {
            format!("Proposal template of {} changed.", campaign(id))
        }
        Change::AddFiles { campaign: id, files } => {
            let names: Vec<String> = files.iter().map(|file| format!("\"{}\"", file.name)).collect();
            let word = if names.len() == 1 { "File" } else { "Files" };
            format!("{word} {} of {} added.", names.join(", "), campaign(id))
        }
        Change::RemoveFile { campaign: id, name } => {
            format!("File \"{name}\" of {} removed.", campaign(id))
        }
        Change::CreateWebhook { campaign: scope, .. } => {
            format!("Webhook \"{made_id}\" of {} created.", owner(scope.as_ref()))
        }
        Change::EditWebhook { endpoint, .. } => {
            format!("Webhook {} changed: {fields}.", of_endpoint(endpoint))
        }
        Change::RotateSecret { endpoint } => {
            format!(
                "Secret of webhook {} replaced; the former one signs too for a day.",
                of_endpoint(endpoint)
            )
        }
        Change::RemoveWebhook { endpoint } => format!("Webhook {} removed.", of_endpoint(endpoint)),
        Change::AddAccount { name, .. } => format!("Bidder account \"{name}\" added."),
        Change::EditAccount { account, .. } => {
            let name = account_name(account.as_str());
            format!("Bidder account \"{name}\" changed: {fields}.")
        }
        Change::RemoveAccount { account } => {
            let name = account_name(account.as_str());
            format!("Bidder account \"{name}\" removed.")
        }
    }
}

/// What one change of the plan changes, field by field.
fn changed_fields(before: &OrganizationRecord, change: &ProvisioningChange) -> Vec<Value> {
    use ProvisioningChange as Change;
    let (kind, id, old, new) = match change {
        Change::PutOrganization { id, name, .. } => {
            let (old, new) = (json!({ "name": before.name }), json!({ "name": name }));
            ("organization", id.to_string(), old, new)
        }
        Change::PutCampaign(_, after) => {
            let old = before.campaign(&after.id).map(campaign_fields);
            (
                "campaign",
                after.id.to_string(),
                old.unwrap_or_default(),
                campaign_fields(after),
            )
        }
        Change::RemoveCampaign(_, id) => {
            let old = before.campaign(id).map(campaign_fields);
            ("campaign", id.to_string(), old.unwrap_or_default(), Value::Null)
        }
        Change::PutFilter(_, campaign, after) => {
            let old = filter(before, campaign, &after.id).map(filter_fields);
            (
                "filter",
                after.id.to_string(),
                old.unwrap_or_default(),
                filter_fields(after),
            )
        }
        Change::RemoveFilter(_, campaign, id) => {
            let old = filter(before, campaign, id).map(filter_fields);
            ("filter", id.to_string(), old.unwrap_or_default(), Value::Null)
        }
        Change::PutWebhook(_, after) => {
            let known = webhook(before, &after.endpoint.id);
            let old = known.map(webhook_fields).unwrap_or_default();
            let mut new = webhook_fields(after);
            if known.is_some_and(|known| known.secret != after.secret) {
                new["secret"] = json!("replaced");
            }
            ("webhook", after.endpoint.id.to_string(), old, new)
        }
        Change::RemoveWebhook(_, id) => {
            let old = webhook(before, id).map(webhook_fields);
            ("webhook", id.to_string(), old.unwrap_or_default(), Value::Null)
        }
        Change::PutAccount(_, after) => {
            let known = before.accounts.iter().find(|known| known.id == after.id);
            let old = known.map(account_fields).unwrap_or_default();
            let mut new = account_fields(after);
            if known.is_some_and(|known| known.token != after.token) {
                new["token"] = json!("replaced");
            }
            ("bidder_account", after.id.to_string(), old, new)
        }
        Change::RemoveAccount(_, id) => {
            let known = before.accounts.iter().find(|known| known.id == *id);
            let old = known.map(account_fields).unwrap_or_default();
            ("bidder_account", id.to_string(), old, Value::Null)
        }
        // No change of this use case.
        Change::RemoveOrganization(_)
        | Change::PutUser(..)
        | Change::RemoveUser(..)
        | Change::PutApiKey(..)
        | Change::RemoveApiKey(..) => return Vec::new(),
    };
    let mut fields = Vec::new();
    differences(&old, &new, "", &mut |field, old, new| {
        fields.push(json!({"type": kind, "id": id, "field": field, "old": old, "new": new}));
    });
    fields
}

/// Calls `each` with every member that differs, by its path. Objects are compared member by member.
fn differences(old: &Value, new: &Value, path: &str, each: &mut impl FnMut(&str, &Value, &Value)) {
    if old == new {
        return;
    }
    let empty = Map::new();
    let (members, others) = match (old, new) {
        (Value::Object(old), Value::Object(new)) => (old, new),
        (Value::Object(old), Value::Null) => (old, &empty),
        (Value::Null, Value::Object(new)) => (&empty, new),
        _ => return each(path, old, new),
    };
    let names: BTreeSet<&String> = members.keys().chain(others.keys()).collect();
    for name in names {
        let inner = if path.is_empty() {
            name.clone()
        } else {
            format!("{path}.{name}")
        };
        let (old, new) = (members.get(name), others.get(name));
        differences(
            old.unwrap_or(&Value::Null),
            new.unwrap_or(&Value::Null),
            &inner,
            each,
        );
    }
}

fn campaign_fields(campaign: &CampaignRecord) -> Value {
    let files: Vec<&str> = campaign
        .attachments
        .iter()
        .map(|file| file.name.as_str())
        .collect();
    json!({
        "name": campaign.name,
        "mode": campaign.mode,
        "state": campaign.state,
        "bidderAccountId": campaign.account_id,
        "biddingConfig": campaign.bidding_config,
        "proposal": {"coverLetter": campaign.proposal.cover_letter, "answers": campaign.proposal.answers},
        "attachments": files,
    })
}

fn filter_fields(filter: &FilterRecord) -> Value {
    merge_patch(&filter.body, &json!({ "name": filter.name }))
}

fn webhook_fields(webhook: &WebhookRecord) -> Value {
    let endpoint = &webhook.endpoint;
    json!({"url": endpoint.url, "events": endpoint.events, "active": endpoint.active})
}

fn account_fields(account: &AccountRecord) -> Value {
    json!({ "name": account.name })
}

fn filter<'r>(
    record: &'r OrganizationRecord,
    campaign: &CampaignId,
    id: &FilterId,
) -> Option<&'r FilterRecord> {
    let filters = &record.campaign(campaign)?.filters;
    filters.iter().find(|known| known.id == *id)
}

fn webhook<'r>(record: &'r OrganizationRecord, id: &EndpointId) -> Option<&'r WebhookRecord> {
    record.webhooks.iter().find(|known| known.endpoint.id == *id)
}
