//! The entities that a file removes: those with the state `absent`.
//!
//! Removals come before everything else, so that the rest of the file can use ids that become free.

use std::collections::btree_map::Entry as Slot;

use serde_json::Value;

use super::current_state::CurrentState;
use super::peek::{id_of, is_absent, objects};
use super::reconcile::{Entities, Entity, Owner, Planner, reported};
use super::records::ProvisioningChange;
use super::report::EntityKind;
use crate::model::{CampaignId, OrganizationId};

impl Planner<'_> {
    /// Removes the organization with all its entities.
    pub(super) fn remove_organization(&mut self, id: &OrganizationId, state: &mut CurrentState) {
        let owner = Owner::of(id, None);
        if state.name_and_subscription.is_none()
            && !self.is_unreadable(owner, EntityKind::Organization, id.as_str())
        {
            self.report.unchanged += 1;
            self.repeats_access = true;
            return;
        }
        let removed = std::mem::take(state);
        let keys = removed.api_keys.values();
        self.removed_keys.extend(keys.map(|(_, hash)| hash.clone()));
        self.report_removals(id, &removed.users);
        self.report_removals(id, &removed.api_keys);
        self.report_removals(id, &removed.accounts);
        self.report_removals(id, &removed.webhooks);
        self.report_removals(id, &removed.campaigns);
        self.report_removals(id, &removed.filters);
        let organization = reported(id, EntityKind::Organization, id.as_str());
        self.report.removed.push(organization);
        self.removals
            .push(ProvisioningChange::RemoveOrganization(id.clone()));
    }

    /// Removes from `state` what the organization's entry removes.
    pub(super) fn removals(
        &mut self,
        organization: &OrganizationId,
        entry: &Value,
        state: &mut CurrentState,
    ) {
        let owner = Owner::of(organization, None);
        self.remove_absent(owner, objects(entry, "users"), &mut state.users);
        self.remove_absent(owner, objects(entry, "apiKeys"), &mut state.api_keys);
        self.remove_absent(owner, objects(entry, "bidderAccounts"), &mut state.accounts);
        self.remove_absent(owner, objects(entry, "webhooks"), &mut state.webhooks);
        for entry in objects(entry, "campaigns") {
            let Some(id) = id_of(entry, CampaignId::parse) else {
                continue;
            };
            if is_absent(entry.get("state")) {
                self.remove_absent(owner, [entry], &mut state.campaigns);
                self.remove_with_campaign(organization, &id, &mut state.webhooks);
                self.remove_with_campaign(organization, &id, &mut state.filters);
            } else {
                let owner = Owner::of(organization, Some(&id));
                self.remove_absent(owner, objects(entry, "webhooks"), &mut state.webhooks);
                self.remove_absent(owner, objects(entry, "filters"), &mut state.filters);
            }
        }
    }

    fn remove_absent<'v, T: Entity>(
        &mut self,
        owner: Owner<'_>,
        entries: impl IntoIterator<Item = &'v Value>,
        entities: &mut Entities<T>,
    ) {
        for entry in entries.into_iter().filter(|entry| is_absent(entry.get("state"))) {
            let Some(Ok(id)) = entry.get(T::ID_FIELD).map(T::read_id) else {
                // Planning reports it.
                continue;
            };
            let text = id.to_string();
            let key = T::key(&text);
            match entities.entry(key) {
                Slot::Occupied(known) if known.get().campaign() == owner.campaign => {
                    let removed = known.remove();
                    self.report_removal(owner.organization, &removed);
                    self.removed_keys.extend(removed.key_hash().cloned());
                    self.removals.extend(T::remove(owner, id));
                }
                Slot::Vacant(unknown) if self.is_unreadable(owner, T::KIND, unknown.key()) => {
                    let removed = reported(owner.organization, T::KIND, &text);
                    self.report.removed.push(removed);
                    self.removals.extend(T::remove(owner, id));
                }
                _ => {
                    self.report.unchanged += 1;
                    self.repeats_access |= T::KIND == EntityKind::ApiKey;
                }
            }
        }
    }

    pub(super) fn is_unreadable(&self, owner: Owner<'_>, kind: EntityKind, key: &str) -> bool {
        self.unreadable.iter().any(|entity| {
            entity.kind == kind && entity.organization_id == *owner.organization && entity.id == key
        })
    }

    /// Removes what belongs to a removed campaign, without a change of its own.
    fn remove_with_campaign<T: Entity>(
        &mut self,
        organization: &OrganizationId,
        campaign: &CampaignId,
        entities: &mut Entities<T>,
    ) {
        entities.retain(|_, entity| {
            let removed = entity.campaign() == Some(campaign);
            if removed {
                self.report_removal(organization, entity);
            }
            !removed
        });
    }

    fn report_removals<T: Entity>(&mut self, organization: &OrganizationId, removed: &Entities<T>) {
        for entity in removed.values() {
            self.report_removal(organization, entity);
        }
    }

    fn report_removal<T: Entity>(&mut self, organization: &OrganizationId, entity: &T) {
        let removed = reported(organization, T::KIND, entity.id());
        self.report.removed.push(removed);
    }
}
