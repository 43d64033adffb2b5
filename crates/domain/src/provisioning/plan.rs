//! Plans the changes from a file and the current state.

use std::collections::{HashMap, HashSet};

use bidloop_matching::json::{Fields, Null, Path};
use serde_json::Value;

use super::current_state::CurrentState;
use super::lookups::Provided;
use super::peek::{id_of, is_absent, objects};
use super::reconcile::{KeyOwners, Planner};
use super::records::{OrganizationRecord, ProvisioningChange};
use super::report::ProvisioningReport;
use super::requirements::{MissingRequirements, missing_requirements};
use super::values;
use crate::model::{ApiKeyHash, FieldError, OrganizationId};
use crate::port::{StoredPerson, UnreadableEntity};

/// The changes that a file leads to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Plan {
    /// The changes to commit together, in this order. Removals come first, so that an id that becomes free can be used.
    pub(crate) changes: Vec<ProvisioningChange>,
    /// Shown after the changes are committed.
    pub(crate) report: ProvisioningReport,
    /// Whether access has ended already as the file says, or a key is the one that it gives: another command may have made it
    /// so a moment ago.
    pub(crate) repeats_access: bool,
}

/// What the store knows of the keys and the organizations in a file, and what it cannot read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Known<'a> {
    /// The digests that a key has, with its organization.
    pub(crate) taken_keys: &'a [(ApiKeyHash, OrganizationId)],
    /// The digests of removed and replaced keys.
    pub(crate) removed_keys: &'a [ApiKeyHash],
    /// The organizations that were removed and are not erased yet.
    pub(crate) being_erased: &'a [OrganizationId],
    /// The entities that cannot be read.
    pub(crate) unreadable: &'a [UnreadableEntity],
    /// Those of the file's people that exist, in whatever organization.
    pub(crate) people: &'a [StoredPerson],
}

/// Plans `file` on the current state of its organizations.
///
/// # Errors
/// All faults of the file by path, those of `provided` included. Nothing may be changed then.
pub(crate) fn plan(
    file: &Value,
    organizations: Vec<OrganizationRecord>,
    known: Known<'_>,
    provided: &Provided<'_>,
) -> Result<Plan, Vec<FieldError>> {
    let mut planner = Planner {
        provided,
        report: ProvisioningReport::default(),
        repeats_access: false,
        removals: Vec::new(),
        puts: Vec::new(),
        key_owners: HashMap::new(),
        removed_keys: known.removed_keys.iter().cloned().collect(),
        unreadable: known.unreadable,
        accounts: HashSet::new(),
        unread: HashSet::new(),
        people: known
            .people
            .iter()
            .map(|stored| (stored.person.key.clone(), stored.clone().into()))
            .collect(),
    };
    let mut states = HashMap::new();
    for record in organizations {
        let id = record.id.clone();
        let state = CurrentState::from(record);
        let missing = missing_requirements(&state, &HashSet::new());
        states.insert(id, (state, missing));
    }
    for entry in objects(file, "organizations") {
        if let Some(id) = id_of(entry, OrganizationId::parse) {
            let (state, _) = states.entry(id.clone()).or_default();
            if is_absent(entry.get("state")) {
                planner.remove_organization(&id, state);
            } else {
                planner.removals(&id, entry, state);
            }
        }
    }
    planner.key_owners = key_owners(&states, known.taken_keys);
    let mut seen = HashSet::new();
    let mut faults = provided.faults.clone();
    // Every fault is printed with a path. A file that is not an object has none of its own.
    let document = ["document".to_owned()];
    let path = if file.is_object() {
        Path::Document
    } else {
        Path::At(&document)
    };
    Fields::read(file, path, &mut faults, |fields| {
        fields.objects("organizations", Null::Refused, |fields| {
            let id = fields.required("id", values::id::<OrganizationId>);
            let (mut state, missing) = id.as_ref().and_then(|id| states.remove(id)).unwrap_or_default();
            let repeated = id.as_ref().filter(|id| !seen.insert((*id).clone()));
            if let Some(id) = repeated {
                fields.fault("id", format!("\"{id}\" appears twice in this list"));
            }
            if let Some(id) = id.as_ref().filter(|id| known.being_erased.contains(id))
                && !is_absent(fields.peek("state"))
            {
                let message = format!(
                    "\"{id}\" was removed, and what it had is still being erased: run `bidloop prune`, then apply again"
                );
                fields.fault("id", message);
            }
            let id = id.as_ref().filter(|_| repeated.is_none());
            planner.organization(fields, id, &mut state, &missing);
            Some(())
        })
    });
    if !faults.is_empty() {
        return Err(faults.into_sorted());
    }
    let mut changes = planner.removals;
    changes.append(&mut planner.puts);
    Ok(Plan {
        changes,
        report: planner.report,
        repeats_access: planner.repeats_access,
    })
}

/// The owners of keys after the file's removals.
fn key_owners(
    states: &HashMap<OrganizationId, (CurrentState, MissingRequirements)>,
    taken: &[(ApiKeyHash, OrganizationId)],
) -> KeyOwners {
    let others = taken
        .iter()
        .filter(|(_, organization)| !states.contains_key(organization));
    let others = others.map(|(hash, organization)| (hash.clone(), (organization.clone(), None)));
    let known = states.iter().flat_map(|(organization, (state, _))| {
        let keys = state.api_keys.values();
        keys.map(move |(key, hash)| (hash.clone(), (organization.clone(), Some(key.id.clone()))))
    });
    others.chain(known).collect()
}
