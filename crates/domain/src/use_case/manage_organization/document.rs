//! The provisioning document that makes one change (contract section 3), and the place of the thing changed in it.

use bidloop_matching::json::FieldError;
use serde_json::{Map, Value, json};

use super::change::OrganizationChange;
use crate::model::{CampaignId, MarketplaceToken, ProposalFile, WebhookSecret};
use crate::provisioning::OrganizationRecord;

/// A document for one organization.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) json: Value,
    /// The path of the thing changed.
    place: Vec<String>,
}

/// The thing that a change is about does not exist.
#[derive(Debug)]
pub(super) struct Unknown;

/// What the use case has drawn for the change.
#[derive(Debug)]
pub(super) struct Drawn<'a> {
    /// The id of what is made.
    pub(super) id: &'a str,
    /// The secret that replaces one.
    pub(super) secret: Option<&'a WebhookSecret>,
}

impl Document {
    pub(super) fn of(
        change: &OrganizationChange,
        record: &OrganizationRecord,
        drawn: &Drawn<'_>,
    ) -> Result<Self, Unknown> {
        use OrganizationChange as Change;
        if let Some(campaign) = change.campaign() {
            record.campaign(campaign).ok_or(Unknown)?;
        }
        let in_organization = |fields| Self::around(record, fields, &[]);
        let in_campaign = |campaign: &CampaignId, mut fields: Value, place: &[&str]| {
            fields["id"] = json!(campaign);
            let place: Vec<&str> = ["campaigns", "0"].iter().chain(place).copied().collect();
            Self::around(record, json!({ "campaigns": [fields] }), &place)
        };
        let in_scope = |scope: Option<&CampaignId>, webhook: Value| match scope {
            Some(campaign) => in_campaign(campaign, json!({ "webhooks": [webhook] }), &["webhooks", "0"]),
            None => Self::around(record, json!({ "webhooks": [webhook] }), &["webhooks", "0"]),
        };
        let account = |account: Value| {
            let accounts = json!({ "bidderAccounts": [account] });
            Self::around(record, accounts, &["bidderAccounts", "0"])
        };
        Ok(match change {
            Change::Rename { name } => in_organization(json!({ "name": name })),
            Change::CreateCampaign { name, mode, account } => {
                let fields = json!({"id": drawn.id, "name": name, "mode": mode, "bidderAccountId": account});
                Self::around(record, json!({ "campaigns": [fields] }), &["campaigns", "0"])
            }
            Change::EditCampaign {
                campaign,
                name,
                mode,
                account,
            } => {
                let mut fields = Map::new();
                insert(&mut fields, "name", name.as_ref());
                insert(&mut fields, "mode", mode.as_ref());
                insert(&mut fields, "bidderAccountId", account.as_ref());
                in_campaign(campaign, Value::Object(fields), &[])
            }
            Change::DeleteCampaign { campaign } => in_campaign(campaign, json!({"state": "absent"}), &[]),
            Change::StartCampaign { campaign } => in_campaign(campaign, json!({"state": "active"}), &[]),
            Change::PauseCampaign { campaign } => in_campaign(campaign, json!({"state": "paused"}), &[]),
            Change::PutFilter {
                campaign,
                filter,
                name,
                conditions,
            } => {
                let filters = record.campaign(campaign).map(|known| known.filters.as_slice());
                let known = filters.into_iter().flatten();
                let known = known.into_iter().find(|known| Some(&known.id) == filter.as_ref());
                if filter.is_some() && known.is_none() {
                    return Err(Unknown);
                }
                let nothing = json!({});
                let before = known.map_or(&nothing, |known| &known.body);
                let mut fields = replacement(before, &Value::Object(conditions.clone()));
                fields["id"] = json!(filter.as_ref().map_or(drawn.id, |filter| filter.as_str()));
                fields["name"] = json!(name);
                in_campaign(campaign, json!({ "filters": [fields] }), &["filters", "0"])
            }
            Change::RemoveFilter { campaign, filter } => {
                let known = record.campaign(campaign).ok_or(Unknown)?;
                if known.filters.iter().all(|known| known.id != *filter) {
                    return Err(Unknown);
                }
                let filters = json!({"filters": [{"id": filter, "state": "absent"}]});
                in_campaign(campaign, filters, &[])
            }
            Change::SetBidding { campaign, fields } => {
                in_campaign(campaign, json!({ "biddingConfig": fields }), &["biddingConfig"])
            }
            Change::SetTemplate {
                campaign,
                cover_letter,
                answers,
            } => {
                let proposal = json!({"proposal": {"coverLetter": cover_letter, "answers": answers}});
                in_campaign(campaign, proposal, &["proposal"])
            }
            Change::AddFiles { campaign, files } => {
                let known = record.campaign(campaign).ok_or(Unknown)?;
                let all = known.attachments.iter().chain(files);
                let files: Vec<Value> = all.map(entry_of).collect();
                in_campaign(campaign, json!({ "attachments": files }), &["attachments"])
            }
            Change::RemoveFile { campaign, name } => {
                let known = &record.campaign(campaign).ok_or(Unknown)?.attachments;
                if known.iter().all(|file| file.name != *name) {
                    return Err(Unknown);
                }
                let kept = known.iter().filter(|file| file.name != *name);
                let files: Vec<Value> = kept.map(entry_of).collect();
                in_campaign(campaign, json!({ "attachments": files }), &["attachments"])
            }
            Change::CreateWebhook {
                campaign,
                url,
                events,
            } => {
                let webhook = json!({"id": drawn.id, "url": url, "events": events});
                in_scope(campaign.as_ref(), webhook)
            }
            Change::EditWebhook {
                endpoint,
                url,
                events,
                active,
            } => {
                let mut fields = Map::new();
                insert(&mut fields, "id", Some(endpoint));
                insert(&mut fields, "url", url.as_ref());
                insert(&mut fields, "events", events.as_ref());
                insert(&mut fields, "active", active.as_ref());
                in_scope(scope_of(record, endpoint.as_str())?, Value::Object(fields))
            }
            Change::RotateSecret { endpoint } => {
                let secret = drawn.secret.map(WebhookSecret::expose);
                let webhook = json!({"id": endpoint, "secret": secret});
                in_scope(scope_of(record, endpoint.as_str())?, webhook)
            }
            Change::RemoveWebhook { endpoint } => {
                let webhook = json!({"id": endpoint, "state": "absent"});
                in_scope(scope_of(record, endpoint.as_str())?, webhook)
            }
            Change::AddAccount { name, token } => {
                account(json!({"id": drawn.id, "name": name, "token": token.expose()}))
            }
            Change::EditAccount {
                account: id,
                name,
                token,
            } => {
                if record.accounts.iter().all(|known| known.id != *id) {
                    return Err(Unknown);
                }
                let mut fields = Map::new();
                insert(&mut fields, "id", Some(id));
                insert(&mut fields, "name", name.as_ref());
                insert(
                    &mut fields,
                    "token",
                    token.as_ref().map(MarketplaceToken::expose).as_ref(),
                );
                account(Value::Object(fields))
            }
            Change::RemoveAccount { account: id } => {
                if record.accounts.iter().all(|known| known.id != *id) {
                    return Err(Unknown);
                }
                account(json!({"id": id, "state": "absent"}))
            }
        })
    }

    fn around(record: &OrganizationRecord, mut fields: Value, place: &[&str]) -> Self {
        fields["id"] = json!(record.id);
        let place = ["organizations", "0"].iter().chain(place);
        Self {
            json: json!({ "organizations": [fields] }),
            place: place.map(|&part| part.to_owned()).collect(),
        }
    }

    /// The faults as the thing's form shows them: with paths relative to the thing. Those of something else keep theirs.
    pub(super) fn relative(&self, faults: Vec<FieldError>) -> Vec<FieldError> {
        let relative = faults
            .into_iter()
            .map(|fault| match fault.path.strip_prefix(&*self.place) {
                Some(rest) => FieldError::new(rest, fault.message),
                None => fault,
            });
        relative.collect()
    }
}

/// The campaign of an endpoint; `None` for the organization's.
fn scope_of<'r>(record: &'r OrganizationRecord, endpoint: &str) -> Result<Option<&'r CampaignId>, Unknown> {
    let known = record.webhooks.iter();
    let known = known
        .map(|known| &known.endpoint)
        .find(|known| known.id.as_str() == endpoint);
    known.map(|known| known.campaign_id.as_ref()).ok_or(Unknown)
}

/// A stored file; its path is its place in the blob store.
fn entry_of(file: &ProposalFile) -> Value {
    json!({"name": file.name, "contentType": file.content_type, "path": file.blob.storage_path})
}

fn insert<T: serde::Serialize>(fields: &mut Map<String, Value>, name: &str, value: Option<&T>) {
    if let Some(value) = value {
        fields.insert(name.to_owned(), json!(value));
    }
}

/// The patch that makes `after` of `before`: fields that `after` does not have are null, at every depth.
fn replacement(before: &Value, after: &Value) -> Value {
    let (Value::Object(known), Value::Object(wanted)) = (before, after) else {
        return after.clone();
    };
    let gone = known.keys().filter(|name| !wanted.contains_key(*name));
    let gone = gone.map(|name| (name.clone(), Value::Null));
    let put = wanted.iter().map(|(name, value)| {
        let before = known.get(name).unwrap_or(&Value::Null);
        (name.clone(), replacement(before, value))
    });
    Value::Object(gone.chain(put).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::merge_patch;

    #[test]
    fn a_replacement_leaves_nothing_of_what_was_there() {
        let before = json!({"keywords": "rust", "client": {"minRating": 4, "countries": {"include": ["A"]}}});
        for after in [
            json!({}),
            json!({"keywords": "go"}),
            json!({"client": {"countries": {"exclude": ["B"]}}, "maxQuestions": 3}),
        ] {
            assert_eq!(merge_patch(&before, &replacement(&before, &after)), after);
        }
    }
}
