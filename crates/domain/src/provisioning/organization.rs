//! One organization of the file: its own fields, its lists, and what its active campaigns need afterwards.

use std::collections::{BTreeMap, HashSet};

use bidloop_matching::json::{Field, Fields, Null, Path, flag};
use serde_json::Value;

use super::current_state::CurrentState;
use super::peek::is_absent;
use super::reconcile::{Current, Entry, Owner, Planner, Scope, reported};
use super::records::ProvisioningChange;
use super::report::EntityKind;
use super::requirements::{MissingRequirement, MissingRequirements, missing_requirements};
use super::values;
use crate::model::{
    CampaignId, CustomerId, OrganizationId, Renewal, Subscription, SubscriptionStatus, Timestamp,
};

/// An entry of the file for a campaign.
struct CampaignEntry {
    path: Vec<String>,
    names_state: bool,
    names_webhooks: bool,
}

impl Planner<'_> {
    /// Plans the organization `id` and changes `state` to what the file describes. Without an id, only reports faults.
    pub(super) fn organization(
        &mut self,
        fields: &mut Fields<'_, '_>,
        id: Option<&OrganizationId>,
        state: &mut CurrentState,
        missing_before: &MissingRequirements,
    ) {
        let removed = is_absent(fields.peek("state"));
        fields.field("state", Null::Allowed, values::absence);
        let scope = match id {
            _ if removed => Scope::Removed,
            Some(id) => Scope::Planned(Owner::of(id, None)),
            None => Scope::Unknown,
        };
        self.unread.clear();
        self.own_fields(fields, scope, state);
        self.list(fields, "users", &mut state.users, scope);
        self.list(fields, "apiKeys", &mut state.api_keys, scope);
        self.list(fields, "bidderAccounts", &mut state.accounts, scope);
        self.accounts = state.accounts.keys().cloned().collect();
        self.list(fields, "webhooks", &mut state.webhooks, scope);
        let mut seen = HashSet::new();
        let campaigns = fields.objects("campaigns", Null::Refused, |fields| {
            self.campaign(fields, state, scope, &mut seen)
        });
        let Some(id) = id.filter(|_| !removed) else { return };
        let campaigns = campaigns.given().unwrap_or_default();
        let entries: BTreeMap<CampaignId, CampaignEntry> = campaigns.into_iter().flatten().collect();
        self.report_lost_accounts(id, state, &seen);
        for (campaign, missing) in missing_requirements(state, &self.unread) {
            let before = missing_before.get(&campaign).map_or(&[][..], Vec::as_slice);
            let entry = entries.get(&campaign);
            for missing in missing {
                refuse_missing(fields, &campaign, entry, missing, before.contains(&missing));
            }
        }
    }

    fn own_fields(&mut self, fields: &mut Fields<'_, '_>, scope: Scope<'_>, state: &CurrentState) {
        let current = match (scope, &state.name_and_subscription) {
            (Scope::Removed, _) => Current::Irrelevant,
            (Scope::Unknown, _) => Current::Unknown,
            (Scope::Planned(_), None) => Current::New,
            (Scope::Planned(_), Some(before)) => Current::Known(before),
        };
        let mut entry: Entry<'_, '_, '_, _> = Entry::of(fields, current, None);
        let name = entry.required("name", values::words, |(name, _)| name);
        let now = self.provided.now;
        let changed = entry.fields.object("subscription", Null::Refused, |fields| {
            let current = current.part(|(_, subscription)| subscription);
            subscription(&mut Entry::of(fields, current, None), now)
        });
        let subscription = match (changed, current.known()) {
            (Field::Given(subscription), _) => subscription,
            (Field::Absent, Some((_, before))) => Some(before.clone()),
            (Field::Absent, None) if self.is_lost(scope) => {
                let message = "is required: the one that is stored cannot be read";
                entry.fields.fault("subscription", message);
                None
            }
            (Field::Absent, None) => Some(Subscription::unbilled(now)),
            (Field::Null | Field::Faulty, _) => None,
        };
        let (Scope::Planned(owner), Some(name), Some(subscription)) = (scope, name, subscription) else {
            return;
        };
        let id = owner.organization;
        let after = (name, subscription);
        if self.record_change(id, EntityKind::Organization, id.as_str(), current.known(), &after) {
            let (name, subscription) = after;
            self.puts.push(ProvisioningChange::PutOrganization {
                id: id.clone(),
                name,
                subscription,
            });
        } else {
            self.repeats_access |= !after.1.is_active();
        }
    }

    /// Whether the organization's row is stored and cannot be read.
    fn is_lost(&self, scope: Scope<'_>) -> bool {
        let Scope::Planned(owner) = scope else {
            return false;
        };
        self.is_unreadable(owner, EntityKind::Organization, owner.organization.as_str())
    }

    /// Plans a campaign with its webhooks and filters. Returns its id and its entry in the file.
    fn campaign(
        &mut self,
        fields: &mut Fields<'_, '_>,
        state: &mut CurrentState,
        scope: Scope<'_>,
        seen: &mut HashSet<String>,
    ) -> Option<(CampaignId, CampaignEntry)> {
        let planned = self.entry(fields, &mut state.campaigns, scope, seen);
        let own = match (scope, &planned.id) {
            (Scope::Removed, _) => Scope::Removed,
            _ if planned.absent => Scope::Removed,
            (Scope::Planned(owner), Some(id)) => Scope::Planned(Owner::of(owner.organization, Some(id))),
            _ => Scope::Unknown,
        };
        self.list(fields, "webhooks", &mut state.webhooks, own);
        self.list(fields, "filters", &mut state.filters, own);
        let id = planned.id?;
        if planned.after.is_none() {
            // The needs of a campaign with faulty fields are unknown.
            state.campaigns.remove(id.as_str());
        }
        let entry = CampaignEntry {
            path: fields.path().to_vec(),
            names_state: fields.peek("state").is_some_and(|state| !state.is_null()),
            names_webhooks: fields.peek("webhooks").is_some(),
        };
        Some((id, entry))
    }

    /// Reports the campaigns that lose their account because the file removes it, unless the file has an entry for them.
    fn report_lost_accounts(
        &mut self,
        organization: &OrganizationId,
        state: &CurrentState,
        mentioned: &HashSet<String>,
    ) {
        let unmentioned = state
            .campaigns
            .values()
            .filter(|campaign| !mentioned.contains(campaign.id.as_str()));
        for campaign in unmentioned {
            if let Some(account) = &campaign.account_id
                && !self.accounts.contains(account.as_str())
            {
                let changed = reported(organization, EntityKind::Campaign, campaign.id.as_str());
                self.report.changed.push(changed);
            }
        }
    }
}

fn subscription(entry: &mut Entry<'_, '_, '_, Subscription>, now: Timestamp) -> Option<Subscription> {
    let statuses = values::words_of::<SubscriptionStatus>();
    let status = entry.required("status", values::word(&statuses), |before| &before.status);
    let paused = entry.optional("collectionPaused", flag, |before| Some(&before.collection_paused));
    let period = period(entry, now);
    let limit = entry.nullable("proposalLimit", values::count, |before| {
        before.proposal_limit.as_ref()
    });
    let customer = entry.optional("stripeCustomer", values::id::<CustomerId>, |before| {
        before.customer.as_ref()
    });
    let (period_start, period_end, renewal) = period?;
    Some(Subscription {
        status: status?,
        collection_paused: paused.unwrap_or(false),
        period_start,
        period_end,
        renewal,
        proposal_limit: limit?,
        customer,
    })
}

/// The reported period, and how the later ones follow. If both of its ends are null, periods are calendar months.
fn period(
    entry: &mut Entry<'_, '_, '_, Subscription>,
    now: Timestamp,
) -> Option<(Timestamp, Timestamp, Renewal)> {
    const FIELDS: [&str; 2] = ["currentPeriodStart", "currentPeriodEnd"];
    let [start_field, end_field] = FIELDS;
    let in_file = FIELDS.map(|name| entry.fields.peek(name));
    if in_file.iter().all(|value| value.is_some_and(Value::is_null)) {
        for name in FIELDS {
            entry.fields.field(name, Null::Allowed, values::unix_seconds);
        }
        let (start, end) = now.calendar_month();
        let before = entry.current.known();
        let before = before.filter(|before| before.renewal == Renewal::CalendarMonth);
        let (start, end) = before.map_or((start, end), |before| (before.period_start, before.period_end));
        return Some((start, end, Renewal::CalendarMonth));
    }
    let start = entry.required(start_field, values::unix_seconds, |before| &before.period_start);
    let end = entry.required(end_field, values::unix_seconds, |before| &before.period_end);
    let (start, end) = (start?, end?);
    if end <= start {
        let field = if in_file[1].is_some() {
            end_field
        } else {
            start_field
        };
        let message = format!(
            "the period must end after it starts: it would run from {} to {}",
            start.as_seconds(),
            end.as_seconds()
        );
        entry.fields.fault(field, message);
    }
    let unchanged = in_file.iter().all(Option::is_none);
    let renewal = entry.current.known().filter(|_| unchanged);
    let renewal = renewal.map_or(Renewal::SameLength, |before| before.renewal);
    Some((start, end, renewal))
}

/// Reports a missing requirement of an active campaign (decision D1). If it was missing before, it is a fault only if
/// the file names the campaign's state.
fn refuse_missing(
    fields: &mut Fields<'_, '_>,
    campaign: &CampaignId,
    entry: Option<&CampaignEntry>,
    missing: MissingRequirement,
    before: bool,
) {
    if let Some(entry) = entry.filter(|entry| entry.names_state) {
        let path = Path::At(&entry.path);
        let state = Path::Member(&path, "state");
        fields.faults().add(&state, missing.refuses_active_state());
    } else if !before {
        let organization = fields.path().to_vec();
        let (owner, list) = match (missing, entry) {
            (MissingRequirement::Filter, Some(entry)) => (&entry.path, "filters"),
            (MissingRequirement::Filter, None) => (&organization, "campaigns"),
            (MissingRequirement::Webhook, Some(entry)) if entry.names_webhooks => (&entry.path, "webhooks"),
            (MissingRequirement::Webhook, _) => (&organization, "webhooks"),
        };
        let list = Path::Member(&Path::At(owner), list);
        fields.faults().add(&list, missing.refuses_loss(campaign));
    }
}
