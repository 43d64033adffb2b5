//! One reconciliation for every kind of entity: an entry of the file is merged over the entity of its id, and the
//! outcome is a change and an entry of the report.
//!
//! Owns what all kinds have in common: repeated ids, ids in use, and created, changed and unchanged entities. The
//! differences between kinds are in their [`Entity`] implementations.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;

use bidloop_matching::json::{Field, Fields, Null};
use serde_json::Value;

use super::lookups::{KnownPerson, Provided};
use super::peek::is_absent;
use super::records::ProvisioningChange;
use super::report::{EntityKind, GeneratedSecret, ProvisioningReport, ReportedEntity};
use super::values;
use crate::model::{ApiKeyHash, ApiKeyId, CampaignId, EmailKey, OrganizationId, Secret};
use crate::port::UnreadableEntity;

/// A kind of entity that the file describes in a list, merged by id.
pub(super) trait Entity: Clone + PartialEq {
    type Id: fmt::Display;
    const KIND: EntityKind;
    /// The field of an entry that identifies the entity.
    const ID_FIELD: &'static str = "id";

    fn read_id(value: &Value) -> Result<Self::Id, String>;

    /// The id as the report shows it.
    fn id(&self) -> &str;

    /// Two ids with the same key are the same id.
    fn key(id: &str) -> String {
        id.to_owned()
    }

    /// The campaign that it belongs to; `None` if it belongs to the organization itself.
    fn campaign(&self) -> Option<&CampaignId> {
        None
    }

    /// Reads the `state` of an entry. Only campaigns have other states than `absent`; they read them in
    /// [`merge`](Self::merge).
    fn read_state(fields: &mut Fields<'_, '_>) {
        fields.field("state", Null::Allowed, values::absence);
    }

    /// The entity as the entry leaves it; `None` if it is faulty or the entry has no target.
    fn merge(entry: &mut Entry<'_, '_, '_, Self, Self::Id>, planner: &mut Planner<'_>) -> Option<Self>;

    fn put(self, organization: OrganizationId) -> ProvisioningChange;

    /// Removes the entity with this id; `None` if it cannot be the owner's.
    fn remove(owner: Owner<'_>, id: Self::Id) -> Option<ProvisioningChange>;

    /// The key that cannot be provisioned any more once this entity is removed.
    fn key_hash(&self) -> Option<&ApiKeyHash> {
        None
    }
}

/// What the store holds for an entry of the file.
#[derive(Debug)]
pub(super) enum Current<'a, T> {
    /// An entity, which the entry changes.
    Known(&'a T),
    /// Nothing: the entry describes a new entity.
    New,
    /// Unknown, because the entry or its owner has no valid id. Everything that can be checked is checked.
    Unknown,
    /// It does not matter: the entity is removed, or its id is in use. Only the shape is checked.
    Irrelevant,
}

impl<T> Clone for Current<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Current<'_, T> {}

impl<'a, T> Current<'a, T> {
    pub(super) fn known(self) -> Option<&'a T> {
        match self {
            Self::Known(entity) => Some(entity),
            _ => None,
        }
    }

    /// The same for a part of the entity.
    pub(super) fn part<U>(self, part: impl FnOnce(&'a T) -> &'a U) -> Current<'a, U> {
        match self {
            Self::Known(entity) => Current::Known(part(entity)),
            Self::New => Current::New,
            Self::Unknown => Current::Unknown,
            Self::Irrelevant => Current::Irrelevant,
        }
    }
}

/// An entry of the file over what the store holds for it.
pub(super) struct Entry<'r, 'v, 'f, T, Id = ()> {
    pub(super) fields: &'r mut Fields<'v, 'f>,
    pub(super) current: Current<'r, T>,
    /// What the entry describes; `None` if its faults are reported only.
    pub(super) target: Option<Target<'r, Id>>,
}

impl<'r, 'v, 'f, T, Id> Entry<'r, 'v, 'f, T, Id> {
    pub(super) const fn of(
        fields: &'r mut Fields<'v, 'f>,
        current: Current<'r, T>,
        target: Option<Target<'r, Id>>,
    ) -> Self {
        Self {
            fields,
            current,
            target,
        }
    }

    /// A field that a new entity needs. `None` if it is faulty or missing, which is reported.
    pub(super) fn required<U: Clone + 'r>(
        &mut self,
        name: &'static str,
        parse: impl FnOnce(&'v Value) -> Result<U, String>,
        current: impl FnOnce(&'r T) -> &'r U,
    ) -> Option<U> {
        let field = self.fields.field(name, Null::Refused, parse);
        self.require(name, field, current)
    }

    /// Like [`required`](Self::required), for a field that was read already.
    pub(super) fn require<U: Clone + 'r>(
        &mut self,
        name: &'static str,
        field: Field<U>,
        current: impl FnOnce(&'r T) -> &'r U,
    ) -> Option<U> {
        match (field, self.current) {
            (Field::Given(value), _) => Some(value),
            (Field::Absent, Current::Known(entity)) => Some(current(entity).clone()),
            (Field::Absent, Current::New) => {
                self.fields.fault(name, "is required: this entry is new");
                None
            }
            _ => None,
        }
    }

    /// A field that a new entity needs, and that can be unset. `None` if it is faulty or missing, which is reported.
    #[expect(clippy::option_option, reason = "a faulty value is not the same as no value")]
    pub(super) fn nullable<U: Clone + 'r>(
        &mut self,
        name: &'static str,
        parse: impl FnOnce(&'v Value) -> Result<U, String>,
        current: impl FnOnce(&'r T) -> Option<&'r U>,
    ) -> Option<Option<U>> {
        match (self.fields.field(name, Null::Allowed, parse), self.current) {
            (Field::Given(value), _) => Some(Some(value)),
            (Field::Null, _) => Some(None),
            (Field::Absent, Current::Known(entity)) => Some(current(entity).cloned()),
            (Field::Absent, Current::New) => {
                self.fields.fault(name, "is required: this entry is new");
                None
            }
            _ => None,
        }
    }

    /// A field that can be left out and unset. `None` if it has no value afterwards.
    pub(super) fn optional<U: Clone + 'r>(
        &mut self,
        name: &'static str,
        parse: impl FnOnce(&'v Value) -> Result<U, String>,
        current: impl FnOnce(&'r T) -> Option<&'r U>,
    ) -> Option<U> {
        let field = self.fields.field(name, Null::Allowed, parse);
        field.over(self.current.known().and_then(current).cloned())
    }
}

/// The place of a list of entities.
#[derive(Debug, Clone, Copy)]
pub(super) enum Scope<'a> {
    /// Its entities are planned.
    Planned(Owner<'a>),
    /// Its owner has no valid id.
    Unknown,
    /// Its owner is removed.
    Removed,
}

/// The owner of a list: a campaign, or the organization itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Owner<'a> {
    pub(super) organization: &'a OrganizationId,
    pub(super) campaign: Option<&'a CampaignId>,
}

impl<'a> Owner<'a> {
    pub(super) const fn of(organization: &'a OrganizationId, campaign: Option<&'a CampaignId>) -> Self {
        Self {
            organization,
            campaign,
        }
    }
}

/// The entity that an entry describes.
#[derive(Debug)]
pub(super) struct Target<'a, Id> {
    pub(super) owner: Owner<'a>,
    pub(super) id: &'a Id,
}

/// The entities of one kind that an organization has, by [`Entity::key`].
pub(super) type Entities<T> = BTreeMap<String, T>;

/// An entry of the file that has been planned.
#[derive(Debug)]
pub(super) struct Planned<T: Entity> {
    pub(super) id: Option<T::Id>,
    pub(super) absent: bool,
    /// The entity after the changes; `None` if it is absent or faulty.
    pub(super) after: Option<T>,
}

/// The organization that has a key, and the id of the key if the file may change it.
pub(super) type KeyOwners = HashMap<ApiKeyHash, (OrganizationId, Option<ApiKeyId>)>;

/// Collects the changes and the report while it goes through the file.
pub(super) struct Planner<'a> {
    pub(super) provided: &'a Provided<'a>,
    pub(super) report: ProvisioningReport,
    /// See [`Plan::repeats_access`](super::plan::Plan::repeats_access).
    pub(super) repeats_access: bool,
    /// Committed first, so that an id that becomes free can be used.
    pub(super) removals: Vec<ProvisioningChange>,
    pub(super) puts: Vec<ProvisioningChange>,
    /// The owners of keys after the file's removals.
    pub(super) key_owners: KeyOwners,
    /// Keys that were removed or replaced, by the file too.
    pub(super) removed_keys: HashSet<ApiKeyHash>,
    /// The entities that the store cannot read.
    pub(super) unreadable: &'a [UnreadableEntity],
    /// The accounts that the current organization will have.
    pub(super) accounts: HashSet<String>,
    /// The lists of the current organization, by campaign, that have faulty entries: they may hold anything.
    pub(super) unread: HashSet<(EntityKind, Option<CampaignId>)>,
    /// The people of the file as far as they are known.
    pub(super) people: HashMap<EmailKey, KnownPerson>,
}

impl Planner<'_> {
    /// Plans a list of the organization or of a campaign, and changes `entities` to what the file describes.
    pub(super) fn list<T: Entity>(
        &mut self,
        fields: &mut Fields<'_, '_>,
        name: &'static str,
        entities: &mut Entities<T>,
        scope: Scope<'_>,
    ) {
        let mut seen = HashSet::new();
        let list = fields.objects(name, Null::Refused, |fields| {
            let planned = self.entry(fields, entities, scope, &mut seen);
            (planned.id.is_some() && (planned.absent || planned.after.is_some())).then_some(())
        });
        let is_read = match list {
            Field::Given(entries) => entries.iter().all(Option::is_some),
            Field::Absent => true,
            Field::Null | Field::Faulty => false,
        };
        if let Scope::Planned(owner) = scope
            && !is_read
        {
            self.unread.insert((T::KIND, owner.campaign.cloned()));
        }
    }

    /// Plans one entry of a list; `seen` holds the keys of the entries before it.
    pub(super) fn entry<T: Entity>(
        &mut self,
        fields: &mut Fields<'_, '_>,
        entities: &mut Entities<T>,
        scope: Scope<'_>,
        seen: &mut HashSet<String>,
    ) -> Planned<T> {
        let id = fields.required(T::ID_FIELD, T::read_id);
        T::read_state(fields);
        let absent = is_absent(fields.peek("state"));
        let key = id.as_ref().map(|id| T::key(&id.to_string()));
        if let Some(key) = &key
            && !matches!(scope, Scope::Removed)
            && !seen.insert(key.clone())
        {
            fields.fault(
                T::ID_FIELD,
                format!("{} appears twice in this list", values::shown(key)),
            );
        }
        let after = match (&id, key, scope) {
            (_, _, Scope::Removed) => self.check(fields, Current::Irrelevant),
            _ if absent => self.check(fields, Current::Irrelevant),
            (Some(id), Some(key), Scope::Planned(owner)) => {
                self.reconcile(fields, entities, key, Target { owner, id })
            }
            _ => self.check(fields, Current::Unknown),
        };
        Planned { id, absent, after }
    }

    /// Merges the entry over the entity that has its id. Returns the entity after the changes.
    fn reconcile<T: Entity>(
        &mut self,
        fields: &mut Fields<'_, '_>,
        entities: &mut Entities<T>,
        key: String,
        target: Target<'_, T::Id>,
    ) -> Option<T> {
        let Target { owner, id } = target;
        let before = entities.get(&key);
        if let Some(elsewhere) = before.filter(|known| known.campaign() != owner.campaign) {
            let place = elsewhere.campaign().map_or_else(
                || "the organization itself".to_owned(),
                |campaign| format!("campaign \"{campaign}\""),
            );
            let message = format!("\"{id}\" is in use by {place}: ids are unique within the organization");
            fields.fault(T::ID_FIELD, message);
            return self.check(fields, Current::Irrelevant);
        }
        let current = before.map_or(Current::New, Current::Known);
        let after = T::merge(&mut Entry::of(fields, current, Some(target)), self)?;
        if self.record_change(owner.organization, T::KIND, after.id(), before, &after) {
            self.puts.push(after.clone().put(owner.organization.clone()));
        }
        entities.insert(key, after.clone());
        Some(after)
    }

    /// Reports the faults of an entry that is not planned.
    fn check<T: Entity>(&mut self, fields: &mut Fields<'_, '_>, current: Current<'_, T>) -> Option<T> {
        T::merge(&mut Entry::of(fields, current, None), self)
    }

    /// Reports the entity as created, changed or unchanged. Returns whether it must be stored.
    pub(super) fn record_change<T: PartialEq>(
        &mut self,
        organization: &OrganizationId,
        kind: EntityKind,
        id: &str,
        before: Option<&T>,
        after: &T,
    ) -> bool {
        if before == Some(after) {
            self.report.unchanged += 1;
            return false;
        }
        let list = match before {
            None => &mut self.report.created,
            Some(_) => &mut self.report.changed,
        };
        list.push(reported(organization, kind, id));
        true
    }

    /// The random bytes of a key or a secret that the service generates.
    pub(super) fn random(&self, fields: &mut Fields<'_, '_>, name: &'static str) -> Option<[u8; 32]> {
        let random = self.provided.random.get(&fields.path_to(name)).copied();
        if random.is_none() {
            fields.fault(name, "could not be generated: apply again");
        }
        random
    }

    /// Reports a generated key or secret.
    pub(super) fn record_secret(
        &mut self,
        organization: &OrganizationId,
        kind: EntityKind,
        id: &str,
        value: String,
    ) {
        self.report.secrets.push(GeneratedSecret {
            kind,
            id: id.to_owned(),
            organization_id: organization.clone(),
            value: Secret::new(value),
        });
    }
}

pub(super) fn reported(organization: &OrganizationId, kind: EntityKind, id: &str) -> ReportedEntity {
    ReportedEntity {
        kind,
        id: id.to_owned(),
        organization_id: organization.clone(),
    }
}
