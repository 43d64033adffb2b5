//! From JSON to patches: organizations and what belongs to them directly. Campaigns are read in
//! [`reading_campaign`](super::reading_campaign).

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use serde_json::Value;

use super::document::{
    AccountPatch, ApiKeyPatch, Document, OrganizationPatch, SubscriptionPatch, UserPatch, WebhookPatch,
};
use super::faults::{Faults, Path, path_to};
use super::fields::{Field, Fields, Listed, Null, wrong_type};
use super::reading_campaign::campaign;
use super::values;
use crate::model::{AccountId, ApiKeyId, EndpointId, EventKind, OrganizationId, SubscriptionStatus};
use crate::port::ProposalWriter;

impl Document {
    /// Reads a file's JSON, collecting all its faults of shape. `templates` checks the syntax of templates.
    pub(crate) fn read(value: &Value, templates: &dyn ProposalWriter) -> Self {
        let mut faults = Faults::default();
        let organizations = match Fields::of(value, Path::new(), &mut faults) {
            Some(mut fields) => fields.read_all(|fields| {
                fields.entities("organizations", |fields| organization(fields, templates))
            }),
            None => Listed::default(),
        };
        let entries = organizations.entries.iter();
        refuse_repeated(
            entries.map(|patch| (&patch.path, patch.id.as_ref())),
            "id",
            &mut faults,
        );
        Self {
            organizations,
            faults,
        }
    }
}

fn organization(fields: &mut Fields<'_, '_>, templates: &dyn ProposalWriter) -> OrganizationPatch {
    let patch = OrganizationPatch {
        path: fields.path.clone(),
        id: fields.indispensable("id", values::id(OrganizationId::parse)),
        name: fields.field("name", Null::Refused, values::words),
        subscription: fields.object("subscription", Null::Refused, subscription),
        users: fields.entities("users", user),
        api_keys: fields.entities("apiKeys", api_key),
        webhooks: fields.entities("webhooks", webhook),
        accounts: fields.entities("bidderAccounts", account),
        campaigns: fields.entities("campaigns", |fields| campaign(fields, templates)),
    };
    refuse_repetitions(&patch, fields.faults);
    patch
}

fn subscription(fields: &mut Fields<'_, '_>) -> SubscriptionPatch {
    let statuses = SubscriptionStatus::ALL.map(|status| (status.as_str(), status));
    SubscriptionPatch {
        path: fields.path.clone(),
        status: fields.field("status", Null::Refused, values::word(&statuses)),
        collection_paused: fields.field("collectionPaused", Null::Unsets, values::flag),
        period_start: fields.field("currentPeriodStart", Null::Refused, values::unix_seconds),
        period_end: fields.field("currentPeriodEnd", Null::Refused, values::unix_seconds),
        proposal_limit: fields.field("proposalLimit", Null::Refused, values::count),
    }
}

fn user(fields: &mut Fields<'_, '_>) -> UserPatch {
    UserPatch {
        path: fields.path.clone(),
        email: fields.indispensable("email", values::email),
        name: fields.field("name", Null::Unsets, values::words),
        password: fields.field("password", Null::Unsets, values::password),
        absent: absent(fields),
    }
}

fn api_key(fields: &mut Fields<'_, '_>) -> ApiKeyPatch {
    ApiKeyPatch {
        path: fields.path.clone(),
        id: fields.indispensable("id", values::id(ApiKeyId::parse)),
        name: fields.field("name", Null::Unsets, values::words),
        key: fields.field("key", Null::Unsets, values::api_key),
        absent: absent(fields),
    }
}

fn account(fields: &mut Fields<'_, '_>) -> AccountPatch {
    AccountPatch {
        path: fields.path.clone(),
        id: fields.indispensable("id", values::id(AccountId::parse)),
        name: fields.field("name", Null::Unsets, values::words),
        token: fields.field("token", Null::Refused, values::token),
        absent: absent(fields),
    }
}

pub(super) fn webhook(fields: &mut Fields<'_, '_>) -> WebhookPatch {
    WebhookPatch {
        path: fields.path.clone(),
        id: fields.indispensable("id", values::id(EndpointId::parse)),
        url: fields.field("url", Null::Refused, values::webhook_url),
        events: events(fields),
        active: fields.field("active", Null::Unsets, values::flag),
        secret: fields.field("secret", Null::Unsets, values::webhook_secret),
        absent: absent(fields),
    }
}

/// In a fixed order and once each, so that the order in the file changes nothing.
fn events(fields: &mut Fields<'_, '_>) -> Field<Vec<EventKind>> {
    let list = fields.field("events", Null::Refused, |value| match value {
        Value::Array(entries) if entries.is_empty() => {
            Err("must name at least one event: \"job.new\", \"bid_complete\"".to_owned())
        }
        Value::Array(entries) => Ok(entries),
        other => Err(wrong_type("a list", other)),
    });
    let entries = match list {
        Field::Given(entries) => entries,
        Field::Unmentioned => return Field::Unmentioned,
        Field::Unset | Field::Faulty => return Field::Faulty,
    };
    let path = path_to(&fields.path, "events");
    let mut events = Vec::with_capacity(2);
    for (index, entry) in entries.iter().enumerate() {
        match values::event(entry) {
            Ok(event) => events.push(event),
            Err(message) => fields.faults.push(&path_to(&path, &index.to_string()), message),
        }
    }
    if events.len() < entries.len() {
        return Field::Faulty;
    }
    events.sort_unstable();
    events.dedup();
    Field::Given(events)
}

pub(super) fn absent(fields: &mut Fields<'_, '_>) -> bool {
    matches!(
        fields.field("state", Null::Unsets, values::absence),
        Field::Given(())
    )
}

/// Ids are unique within the organization, whichever list an entity stands in.
fn refuse_repetitions(patch: &OrganizationPatch, faults: &mut Faults) {
    let emails: Vec<_> = patch
        .users
        .entries
        .iter()
        .map(|user| (&user.path, user.email.as_ref().map(|email| email.to_lowercase())))
        .collect();
    refuse_repeated(
        emails.iter().map(|(path, email)| (*path, email.as_ref())),
        "email",
        faults,
    );
    let keys = patch.api_keys.entries.iter();
    refuse_repeated(keys.map(|key| (&key.path, key.id.as_ref())), "id", faults);
    let accounts = patch.accounts.entries.iter();
    refuse_repeated(
        accounts.map(|account| (&account.path, account.id.as_ref())),
        "id",
        faults,
    );
    let campaigns = patch.campaigns.entries.iter();
    refuse_repeated(
        campaigns.map(|campaign| (&campaign.path, campaign.id.as_ref())),
        "id",
        faults,
    );

    let mut webhooks = AcrossLists::default();
    let mut filters = AcrossLists::default();
    for webhook in &patch.webhooks.entries {
        webhooks.admit(0, webhook.id.as_ref(), &webhook.path, webhook.absent, faults);
    }
    for (position, campaign) in patch.campaigns.entries.iter().enumerate() {
        if campaign.is_absent() {
            continue;
        }
        for webhook in &campaign.webhooks.entries {
            webhooks.admit(
                position + 1,
                webhook.id.as_ref(),
                &webhook.path,
                webhook.absent,
                faults,
            );
        }
        for filter in &campaign.filters.entries {
            filters.admit(
                position + 1,
                filter.id.as_ref(),
                &filter.path,
                filter.absent,
                faults,
            );
        }
    }
}

fn refuse_repeated<'a, T: Eq + Hash + std::fmt::Display + 'a>(
    entries: impl Iterator<Item = (&'a Path, Option<&'a T>)>,
    field: &str,
    faults: &mut Faults,
) {
    let mut seen = HashSet::new();
    for (path, id) in entries {
        if let Some(id) = id
            && !seen.insert(id)
        {
            faults.push(
                &path_to(path, field),
                format!("{} stands twice in this list", values::shown(&id.to_string())),
            );
        }
    }
}

/// Entities that may stand in several lists of an organization. One may be removed from one list and added to
/// another, which moves it.
struct AcrossLists<'a, T> {
    in_list: HashSet<(usize, &'a T)>,
    present: HashMap<&'a T, &'a Path>,
}

impl<T> Default for AcrossLists<'_, T> {
    fn default() -> Self {
        Self {
            in_list: HashSet::new(),
            present: HashMap::new(),
        }
    }
}

impl<'a, T: Eq + Hash + std::fmt::Display> AcrossLists<'a, T> {
    fn admit(&mut self, list: usize, id: Option<&'a T>, path: &'a Path, absent: bool, faults: &mut Faults) {
        let Some(id) = id else { return };
        if !self.in_list.insert((list, id)) {
            faults.push(
                &path_to(path, "id"),
                format!("\"{id}\" stands twice in this list"),
            );
        } else if !absent && self.present.insert(id, path).is_some() {
            let message =
                format!("\"{id}\" stands in another list too: ids are unique within the organization");
            faults.push(&path_to(path, "id"), message);
        }
    }
}
