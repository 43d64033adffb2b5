//! From patches and a snapshot to changes: the frame, and organizations with their subscriptions.

use std::collections::HashMap;

use super::document::{Document, OrganizationPatch, SubscriptionPatch};
use super::faults::{Faults, path_to};
use super::fields::Field;
use super::report::{EntityKind, GeneratedSecret, ProvisioningReport, ReportedEntity};
use super::standing::{Leaving, Standing};
use crate::model::{ApiKeyHash, ApiKeyId, OrganizationId, ShapeFault, Subscription, Timestamp};
use crate::port::{Ids, PasswordHasher, ProvisioningChange, ProvisioningSnapshot};

/// What planning needs beside the file and the snapshot.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlanTools<'a> {
    /// Makes keys and secrets.
    pub(crate) ids: &'a dyn Ids,
    /// Tells whether a password is a new one.
    pub(crate) passwords: &'a dyn PasswordHasher,
    /// When new entities come into being, and overlaps begin.
    pub(crate) now: Timestamp,
}

/// What a file amounts to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Plan {
    /// To be committed together, in this order: what leaves comes first, so that what comes may take its place.
    pub(crate) changes: Vec<ProvisioningChange>,
    /// What is to be told once they are committed.
    pub(crate) report: ProvisioningReport,
}

/// Plans `document` on `snapshot`, which must hold its organizations and the digests of its keys.
///
/// # Errors
/// All faults of the file by path, those of shape and `others` included; nothing may be changed then.
pub(crate) fn plan(
    document: &Document,
    snapshot: &ProvisioningSnapshot,
    tools: PlanTools<'_>,
    others: &Faults,
) -> Result<Plan, Vec<ShapeFault>> {
    let mut planner = Planner {
        tools,
        faults: document.faults.clone(),
        report: ProvisioningReport::default(),
        removals: Vec::new(),
        puts: Vec::new(),
        key_owners: key_owners(document, snapshot),
    };
    planner.faults.extend(others.clone());
    let records: HashMap<_, _> = snapshot
        .organizations
        .iter()
        .map(|record| (&record.id, record))
        .collect();
    for patch in &document.organizations.entries {
        match &patch.id {
            Some(id) => {
                let record = records.get(id).copied();
                planner.organization(id, patch, &record.map(Standing::of).unwrap_or_default());
            }
            None => planner.judge_bodies(patch),
        }
    }
    if !planner.faults.is_empty() {
        return Err(planner.faults.into_sorted());
    }
    let mut changes = planner.removals;
    changes.append(&mut planner.puts);
    Ok(Plan {
        changes,
        report: planner.report,
    })
}

/// A key's organization and, where it is one of the file's, its id.
pub(super) type KeyOwner = (OrganizationId, Option<ApiKeyId>);

/// Who holds which key once the file has removed what it removes.
fn key_owners(document: &Document, snapshot: &ProvisioningSnapshot) -> HashMap<ApiKeyHash, KeyOwner> {
    let mut owners = HashMap::new();
    for (hash, organization) in &snapshot.taken_key_hashes {
        owners.insert(hash.clone(), (organization.clone(), None));
    }
    for record in &snapshot.organizations {
        for (key, hash) in &record.api_keys {
            owners.insert(hash.clone(), (record.id.clone(), Some(key.id.clone())));
        }
    }
    for patch in &document.organizations.entries {
        for key in patch.api_keys.entries.iter().filter(|key| key.absent) {
            owners.retain(|_, (organization, id)| Some(&*organization) != patch.id.as_ref() || *id != key.id);
        }
    }
    owners
}

pub(super) struct Planner<'a> {
    pub(super) tools: PlanTools<'a>,
    pub(super) faults: Faults,
    pub(super) report: ProvisioningReport,
    pub(super) removals: Vec<ProvisioningChange>,
    pub(super) puts: Vec<ProvisioningChange>,
    pub(super) key_owners: HashMap<ApiKeyHash, KeyOwner>,
}

impl Planner<'_> {
    fn organization(&mut self, id: &OrganizationId, patch: &OrganizationPatch, standing: &Standing<'_>) {
        let leaving = Leaving::by(patch, standing);
        self.own_fields(id, patch, standing);
        self.users(id, &patch.users.entries, standing);
        self.api_keys(id, &patch.api_keys.entries, standing);
        self.accounts(id, &patch.accounts.entries, standing);
        self.campaigns(id, patch, standing, &leaving);
    }

    fn own_fields(&mut self, id: &OrganizationId, patch: &OrganizationPatch, standing: &Standing<'_>) {
        let before = standing
            .record
            .map(|record| (record.name.clone(), record.subscription.clone()));
        let name = self.required(
            &patch.path,
            "name",
            &patch.name,
            before.as_ref().map(|(name, _)| name),
        );
        let standing = before.as_ref().map(|(_, subscription)| subscription);
        let subscription = match &patch.subscription {
            Field::Given(patch) => self.subscription(patch, standing),
            Field::Unmentioned => self.required(&patch.path, "subscription", &Field::Unmentioned, standing),
            Field::Unset | Field::Faulty => None,
        };
        let (Some(name), Some(subscription)) = (name, subscription) else {
            return;
        };
        let after = (name, subscription);
        if self.settle(id, EntityKind::Organization, id.as_str(), before.as_ref(), &after) {
            let (name, subscription) = after;
            self.puts.push(ProvisioningChange::PutOrganization {
                id: id.clone(),
                name,
                subscription,
            });
        }
    }

    fn subscription(
        &mut self,
        patch: &SubscriptionPatch,
        standing: Option<&Subscription>,
    ) -> Option<Subscription> {
        let at = &patch.path;
        let status = self.required(at, "status", &patch.status, standing.map(|s| &s.status));
        let start = self.required(
            at,
            "currentPeriodStart",
            &patch.period_start,
            standing.map(|s| &s.period_start),
        );
        let end = self.required(
            at,
            "currentPeriodEnd",
            &patch.period_end,
            standing.map(|s| &s.period_end),
        );
        let limit = self.required(
            at,
            "proposalLimit",
            &patch.proposal_limit,
            standing.map(|s| &s.proposal_limit),
        );
        let (period_start, period_end) = (start?, end?);
        if period_end <= period_start {
            let moved_start = patch.period_end.given().is_none();
            let field = if moved_start {
                "currentPeriodStart"
            } else {
                "currentPeriodEnd"
            };
            let message = format!(
                "the period must end after it starts: it would run from {} to {}",
                period_start.as_seconds(),
                period_end.as_seconds()
            );
            self.faults.push(&path_to(at, field), message);
        }
        Some(Subscription {
            status: status?,
            collection_paused: patch
                .collection_paused
                .over(standing.map(|s| s.collection_paused), false),
            period_start,
            period_end,
            proposal_limit: limit?,
        })
    }

    /// A required field: the file's value, else what stands, else a fault. `None` where there is a fault.
    pub(super) fn required<T: Clone>(
        &mut self,
        path: &[String],
        name: &str,
        field: &Field<T>,
        standing: Option<&T>,
    ) -> Option<T> {
        match field {
            Field::Given(value) => Some(value.clone()),
            Field::Unmentioned if standing.is_none() => {
                self.faults
                    .push(&path_to(path, name), "is required: this entry is new");
                None
            }
            Field::Unmentioned => standing.cloned(),
            Field::Unset | Field::Faulty => None,
        }
    }

    /// Reports the entity; true if it is to be put.
    pub(super) fn settle<T: PartialEq>(
        &mut self,
        organization: &OrganizationId,
        kind: EntityKind,
        id: &str,
        before: Option<&T>,
        after: &T,
    ) -> bool {
        let entity = entity(organization, kind, id);
        match before {
            None => self.report.created.push(entity),
            Some(before) if before != after => self.report.changed.push(entity),
            Some(_) => {
                self.report.unchanged += 1;
                return false;
            }
        }
        true
    }

    /// Reports an entity that leaves, and how.
    pub(super) fn remove(
        &mut self,
        organization: &OrganizationId,
        kind: EntityKind,
        id: &str,
        change: ProvisioningChange,
    ) {
        self.report.removed.push(entity(organization, kind, id));
        self.removals.push(change);
    }

    /// Reports a key or a secret that was made.
    pub(super) fn show_once(
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
            value,
        });
    }

    /// 32 bytes from the cryptographic source.
    pub(super) fn random(&self) -> [u8; 32] {
        let mut bytes = [0; 32];
        self.tools.ids.fill_random(&mut bytes);
        bytes
    }
}

pub(super) fn entity(organization: &OrganizationId, kind: EntityKind, id: &str) -> ReportedEntity {
    ReportedEntity {
        kind,
        id: id.to_owned(),
        organization_id: organization.clone(),
    }
}
