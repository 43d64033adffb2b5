//! The kinds of entities: users, API keys, bidder accounts, webhooks and filters.

use std::collections::BTreeSet;
use std::time::Duration;

use bidloop_matching::json::{Field, Fields, Null, flag};
use serde_json::{Map, Value};

use super::lookups::KnownPerson;
use super::reconcile::{Current, Entity, Entry, Owner, Planner, Target};
use super::records::{AccountRecord, FilterRecord, ProvisioningChange, UserRecord, WebhookRecord};
use super::report::EntityKind;
use super::values;
use crate::model::{
    AccountId, ApiKey, ApiKeyHash, ApiKeyId, ApiKeyRecord, CampaignId, EmailKey, EndpointId, EventKind,
    FilterId, MemberRole, OrganizationId, SavedFilter, WebhookEndpoint, WebhookSecret, merge_patch,
};

/// How long a replaced webhook secret still signs, in addition to the new one (decision C3).
const SECRET_OVERLAP: Duration = Duration::from_secs(24 * 60 * 60);

impl Entity for UserRecord {
    type Id = String;
    const KIND: EntityKind = EntityKind::User;
    const ID_FIELD: &'static str = "email";

    fn read_id(value: &Value) -> Result<String, String> {
        values::email(value)
    }

    fn id(&self) -> &str {
        &self.email
    }

    fn key(email: &str) -> String {
        EmailKey::of(email).as_str().to_owned()
    }

    fn merge(entry: &mut Entry<'_, '_, '_, Self, Self::Id>, planner: &mut Planner<'_>) -> Option<Self> {
        let given_name = entry.fields.field("name", Null::Allowed, values::words);
        let password = entry.fields.field("password", Null::Allowed, values::password);
        let roles = values::words_of::<MemberRole>();
        let role = entry.fields.field("role", Null::Allowed, values::word(&roles));
        let typed = entry.target.as_ref()?.id;
        let key = EmailKey::of(typed);
        // A person's name and password are the same everywhere. What an entry above has changed counts.
        let known = planner.people.get(&key).cloned();
        let known = known.unwrap_or_else(|| KnownPerson::unknown(typed));
        let names = matches!(given_name, Field::Given(_) | Field::Null);
        let name = match given_name {
            // Of several names for one address the file's first holds, so that applying it again changes nothing.
            _ if known.is_named => known.name,
            Field::Given(name) => name,
            Field::Null => typed.clone(),
            Field::Absent | Field::Faulty => known.name,
        };
        let password_hash = match (&password, &known.given_password) {
            (Field::Given(_), given) => {
                let path = entry.fields.path_to("password");
                let hash = planner.provided.password_hashes.get(&path).cloned();
                if given.is_some() && *given != hash {
                    let message =
                        "is not the password that another entry has for this address: a person has one";
                    entry.fields.fault("password", message);
                }
                hash
            }
            (_, Some(given)) => Some(given.clone()),
            (Field::Null, None) => None,
            (Field::Absent | Field::Faulty, None) => known.password_hash,
        };
        let before = entry.current.known().map(|user| user.role);
        let user = Self {
            email: known.email,
            name,
            password_hash,
            role: role.over(before).unwrap_or_default(),
        };
        let person = KnownPerson {
            email: user.email.clone(),
            name: user.name.clone(),
            is_named: known.is_named || names,
            password_hash: user.password_hash.clone(),
            given_password: match password {
                Field::Given(_) => user.password_hash.clone(),
                _ => known.given_password,
            },
        };
        planner.people.insert(key, person);
        Some(user)
    }

    fn put(self, organization: OrganizationId) -> ProvisioningChange {
        ProvisioningChange::PutUser(organization, self)
    }

    fn remove(owner: Owner<'_>, id: Self::Id) -> Option<ProvisioningChange> {
        Some(ProvisioningChange::RemoveUser(owner.organization.clone(), id))
    }
}

impl Entity for (ApiKeyRecord, ApiKeyHash) {
    type Id = ApiKeyId;
    const KIND: EntityKind = EntityKind::ApiKey;

    fn read_id(value: &Value) -> Result<ApiKeyId, String> {
        values::id(value)
    }

    fn id(&self) -> &str {
        self.0.id.as_str()
    }

    fn merge(entry: &mut Entry<'_, '_, '_, Self, Self::Id>, planner: &mut Planner<'_>) -> Option<Self> {
        let name = entry.optional("name", values::words, |(record, _)| Some(&record.name));
        let key = entry.fields.field("key", Null::Allowed, values::api_key);
        let Target { owner, id } = entry.target.take()?;
        let hash = match (key, entry.current.known()) {
            (Field::Given(key), before) => {
                let hash = key.hash();
                planner.repeats_access |= before.is_some_and(|(_, before)| *before == hash);
                hash
            }
            (_, Some((_, hash))) => hash.clone(),
            (Field::Faulty, None) => return None,
            (Field::Absent | Field::Null, None) => {
                let key = ApiKey::from_random(planner.random(entry.fields, "key")?);
                let shown = key.expose().to_owned();
                planner.record_secret(owner.organization, EntityKind::ApiKey, id.as_str(), shown);
                key.hash()
            }
        };
        let holder = (owner.organization.clone(), Some(id.clone()));
        if *planner.key_owners.entry(hash.clone()).or_insert(holder.clone()) != holder {
            let message = "is in use by another key: every entry needs its own key";
            entry.fields.fault("key", message);
        }
        if planner.removed_keys.contains(&hash) {
            let message = "was removed or replaced, and never works again: choose a new key, or leave it out";
            entry.fields.fault("key", message);
        }
        let mut record = match entry.current.known() {
            Some((record, _)) => record.clone(),
            None => ApiKeyRecord {
                id: id.clone(),
                organization_id: owner.organization.clone(),
                name: String::new(),
                created_at: planner.provided.now,
                last_used_at: None,
                expires_at: None,
                revoked_at: None,
            },
        };
        record.name = name.unwrap_or_else(|| id.to_string());
        if entry.current.known().is_some_and(|(_, before)| *before != hash) {
            // The revocation was of the old key.
            record.revoked_at = None;
        }
        Some((record, hash))
    }

    fn put(self, organization: OrganizationId) -> ProvisioningChange {
        ProvisioningChange::PutApiKey(organization, self.0, self.1)
    }

    fn remove(owner: Owner<'_>, id: Self::Id) -> Option<ProvisioningChange> {
        Some(ProvisioningChange::RemoveApiKey(owner.organization.clone(), id))
    }

    fn key_hash(&self) -> Option<&ApiKeyHash> {
        Some(&self.1)
    }
}

impl Entity for AccountRecord {
    type Id = AccountId;
    const KIND: EntityKind = EntityKind::BidderAccount;

    fn read_id(value: &Value) -> Result<AccountId, String> {
        values::id(value)
    }

    fn id(&self) -> &str {
        self.id.as_str()
    }

    fn merge(entry: &mut Entry<'_, '_, '_, Self, Self::Id>, _: &mut Planner<'_>) -> Option<Self> {
        let name = entry.optional("name", values::words, |account| Some(&account.name));
        let token = entry.required("token", values::token, |account| &account.token);
        let (id, token, before) = (entry.target.take()?.id, token?, entry.current.known());
        Some(Self {
            id: id.clone(),
            name: name.unwrap_or_else(|| id.to_string()),
            // A new token connects an account that the marketplace had refused (decision B4).
            connected: before.is_none_or(|account| account.connected || account.token != token),
            token,
        })
    }

    fn put(self, organization: OrganizationId) -> ProvisioningChange {
        ProvisioningChange::PutAccount(organization, self)
    }

    fn remove(owner: Owner<'_>, id: Self::Id) -> Option<ProvisioningChange> {
        Some(ProvisioningChange::RemoveAccount(owner.organization.clone(), id))
    }
}

impl Entity for WebhookRecord {
    type Id = EndpointId;
    const KIND: EntityKind = EntityKind::Webhook;

    fn read_id(value: &Value) -> Result<EndpointId, String> {
        values::id(value)
    }

    fn id(&self) -> &str {
        self.endpoint.id.as_str()
    }

    fn campaign(&self) -> Option<&CampaignId> {
        self.endpoint.campaign_id.as_ref()
    }

    fn merge(entry: &mut Entry<'_, '_, '_, Self, Self::Id>, planner: &mut Planner<'_>) -> Option<Self> {
        let url = entry.required("url", values::webhook_url, |webhook| &webhook.endpoint.url);
        let events = events(entry.fields);
        let events = entry.require("events", events, |webhook| &webhook.endpoint.events);
        let active = entry.optional("active", flag, |webhook| Some(&webhook.endpoint.active));
        let secret = entry
            .fields
            .field("secret", Null::Allowed, values::webhook_secret);
        let Target { owner, id } = entry.target.take()?;
        let (secret, previous_secret) = match (secret, entry.current.known()) {
            (Field::Given(new), Some(before)) if new != before.secret => {
                let until = planner.provided.now.plus(SECRET_OVERLAP);
                (new, Some((before.secret.clone(), until)))
            }
            (_, Some(before)) => (before.secret.clone(), before.previous_secret.clone()),
            (Field::Given(secret), None) => (secret, None),
            (Field::Faulty, None) => return None,
            (Field::Absent | Field::Null, None) => {
                let secret = WebhookSecret::generate(planner.random(entry.fields, "secret")?);
                planner.record_secret(owner.organization, Self::KIND, id.as_str(), secret.expose());
                (secret, None)
            }
        };
        let before = entry.current.known();
        Some(Self {
            endpoint: WebhookEndpoint {
                id: id.clone(),
                campaign_id: owner.campaign.cloned(),
                url: url?,
                events: events?,
                active: active.unwrap_or(true),
                created_at: before.map_or(planner.provided.now, |webhook| webhook.endpoint.created_at),
            },
            secret,
            previous_secret,
        })
    }

    fn put(self, organization: OrganizationId) -> ProvisioningChange {
        ProvisioningChange::PutWebhook(organization, self)
    }

    fn remove(owner: Owner<'_>, id: Self::Id) -> Option<ProvisioningChange> {
        Some(ProvisioningChange::RemoveWebhook(owner.organization.clone(), id))
    }
}

/// The events, each once and in a fixed order, so that the order in the file does not matter.
fn events(fields: &mut Fields<'_, '_>) -> Field<Vec<EventKind>> {
    let events = fields.list("events", Null::Refused, values::event);
    if matches!(&events, Field::Given(events) if events.is_empty()) {
        fields.fault(
            "events",
            "must name at least one event: \"job.new\", \"bid_complete\"",
        );
        return Field::Faulty;
    }
    events.map(|events| BTreeSet::from_iter(events).into_iter().collect())
}

impl Entity for (CampaignId, FilterRecord) {
    type Id = FilterId;
    const KIND: EntityKind = EntityKind::Filter;

    fn read_id(value: &Value) -> Result<FilterId, String> {
        values::id(value)
    }

    fn id(&self) -> &str {
        self.1.id.as_str()
    }

    fn campaign(&self) -> Option<&CampaignId> {
        Some(&self.0)
    }

    /// The conditions are fields of the entry itself. They are checked after the merge.
    fn merge(entry: &mut Entry<'_, '_, '_, Self, Self::Id>, _: &mut Planner<'_>) -> Option<Self> {
        let name = entry.optional("name", values::words, |(_, filter)| Some(&filter.name));
        let conditions = Value::Object(entry.fields.take_others());
        if matches!(entry.current, Current::Irrelevant) {
            return None;
        }
        let none = Value::Object(Map::new());
        let before = entry.current.known().map_or(&none, |(_, filter)| &filter.body);
        let body = merge_patch(before, &conditions);
        if let Err(faults) = SavedFilter::from_value(&body) {
            entry.fields.report(faults);
            return None;
        }
        let Target { owner, id } = entry.target.take()?;
        let filter = FilterRecord {
            id: id.clone(),
            name: name.unwrap_or_else(|| id.to_string()),
            body,
        };
        Some((owner.campaign?.clone(), filter))
    }

    fn put(self, organization: OrganizationId) -> ProvisioningChange {
        ProvisioningChange::PutFilter(organization, self.0, self.1)
    }

    fn remove(owner: Owner<'_>, id: Self::Id) -> Option<ProvisioningChange> {
        let campaign = owner.campaign?.clone();
        Some(ProvisioningChange::RemoveFilter(
            owner.organization.clone(),
            campaign,
            id,
        ))
    }
}
