//! Apply provisioning: makes the store agree with a provisioning file (contract sections 1 and 3).
//!
//! Owns the order (look up, plan, copy the attachments, commit; all or nothing) and the look-ups through ports. Does not
//! own the file's rules: see [`provisioning`](crate::provisioning).

mod attachments;

use std::collections::HashMap;
use std::sync::Arc;

use bidloop_matching::json::Faults;
use serde_json::Value;

use super::key_leases::{end_leases, leases_end};
use crate::model::{BlobRef, EmailKey, FieldError, OrganizationId, Secret, Timestamp};
use crate::port::{
    AttachmentSource, BlobError, BlobStore, Clock, CommitProvisioning, Entropy, HasherBusy, PasswordHasher,
    Pause, ProposalWriter, ProvisioningSnapshot, ProvisioningStore, StoreError, StoredPerson, WorkKind,
    WorkSignal,
};
use crate::provisioning::{
    GivenPassword, Known, Lookups, Plan, Provided, ProvisioningReport, path_of_organization, plan,
};

/// How often a plan is made before giving up, because the store changed each time.
pub(super) const ATTEMPTS: u32 = 16;

/// Why a file was not applied. Nothing has changed, but copied attachments may remain in the blob store for the next
/// attempt.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApplyProvisioningError {
    /// All faults of the file, by path.
    #[error("{}", lines(.0))]
    Faulty(Vec<FieldError>),
    /// The store changed during every attempt.
    #[error("the store keeps changing while the file is applied: try again")]
    Contended,
    /// The passwords could not be hashed now.
    #[error(transparent)]
    Busy(#[from] HasherBusy),
    /// The attachments' storage failed.
    #[error(transparent)]
    Blobs(#[from] BlobError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// One line for each fault: `path: message`.
pub(super) fn lines(faults: &[FieldError]) -> String {
    let lines: Vec<String> = faults.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

/// Applies provisioning files. Applying one twice changes nothing the second time.
#[derive(Debug)]
pub struct ApplyProvisioning {
    /// Holds the organizations.
    pub store: Arc<dyn ProvisioningStore>,
    /// Receives the attachments.
    pub blobs: Arc<dyn BlobStore>,
    /// Checks the syntax of templates.
    pub templates: Arc<dyn ProposalWriter>,
    /// Hashes passwords.
    pub passwords: Arc<dyn PasswordHasher>,
    /// Dates new entities.
    pub clock: Arc<dyn Clock>,
    /// Draws keys and secrets.
    pub entropy: Arc<dyn Entropy>,
    /// Woken when filters may have changed.
    pub signal: Arc<dyn WorkSignal>,
    /// Waits until a key that was removed, or a subscription that ended, is refused everywhere.
    pub pause: Arc<dyn Pause>,
}

/// What a file needs, looked up outside the store.
#[derive(Debug)]
pub(super) struct Prepared<'v> {
    lookups: Lookups<'v>,
    blobs: HashMap<Vec<String>, BlobRef>,
    faults: Faults,
}

impl ApplyProvisioning {
    /// Applies `file`, a provisioning file's JSON (or TOML as JSON); `source` reads the attachments that it names.
    ///
    /// # Errors
    /// [`ApplyProvisioningError::Faulty`] with every fault: of shape, of attachments, and of what the file as a whole
    /// would lead to.
    pub async fn execute(
        &self,
        file: &Value,
        source: &dyn AttachmentSource,
    ) -> Result<ProvisioningReport, ApplyProvisioningError> {
        let prepared = self.prepare(file, source).await?;
        for _ in 0..ATTEMPTS {
            let snapshot = self.snapshot(&prepared).await?;
            let now = self.clock.now();
            let plan = self.plan(file, &prepared, &snapshot, now).await?;
            // In each attempt: an organization that was removed meanwhile has lost its files.
            self.copy(&prepared, source).await?;
            if plan.changes.is_empty() {
                // What the file asks for may have been done by another command a moment ago.
                leases_end(&*self.pause).await;
                return Ok(plan.report);
            }
            match self.store.commit(snapshot.revision, &plan.changes, now).await? {
                CommitProvisioning::Committed => {
                    self.signal.wake(WorkKind::Backfills);
                    if plan.repeats_access || end_leases(&snapshot, &plan.changes) {
                        leases_end(&*self.pause).await;
                    }
                    return Ok(plan.report);
                }
                // An operator needs no authorization.
                CommitProvisioning::RevisionMoved | CommitProvisioning::NotAuthorized(_) => {}
                CommitProvisioning::BidsOutstanding { organization, bids } => {
                    let fault = outstanding(file, &organization, bids);
                    return Err(ApplyProvisioningError::Faulty(vec![fault]));
                }
            }
        }
        Err(ApplyProvisioningError::Contended)
    }

    /// Looks up what `file` needs outside the store.
    pub(super) async fn prepare<'v>(
        &self,
        file: &'v Value,
        source: &dyn AttachmentSource,
    ) -> Result<Prepared<'v>, ApplyProvisioningError> {
        let lookups = Lookups::of(file);
        let (blobs, faults) = attachments::inspect(&lookups.attachments, source).await?;
        Ok(Prepared {
            lookups,
            blobs,
            faults,
        })
    }

    /// What the store holds of what the file names.
    pub(super) async fn snapshot(&self, prepared: &Prepared<'_>) -> Result<ProvisioningSnapshot, StoreError> {
        let lookups = &prepared.lookups;
        self.store
            .snapshot(&lookups.organizations, &lookups.key_hashes)
            .await
    }

    /// The changes that the file leads to.
    pub(super) async fn plan(
        &self,
        file: &Value,
        prepared: &Prepared<'_>,
        snapshot: &ProvisioningSnapshot,
        now: Timestamp,
    ) -> Result<Plan, ApplyProvisioningError> {
        let lookups = &prepared.lookups;
        let people = self.store.people(&lookups.people).await?;
        let password_hashes = password_hashes(&*self.passwords, &lookups.passwords, &people).await?;
        let provided = Provided {
            now,
            check_template: &|text| self.templates.check(text).map_err(|fault| fault.to_string()),
            password_hashes,
            random: self.random(&lookups.left_out),
            blobs: &prepared.blobs,
            faults: &prepared.faults,
        };
        let known = Known {
            taken_keys: &snapshot.taken_key_hashes,
            removed_keys: &snapshot.removed_key_hashes,
            being_erased: &snapshot.being_erased,
            unreadable: &snapshot.unreadable,
            people: &people,
        };
        plan(file, snapshot.organizations.clone(), known, &provided).map_err(ApplyProvisioningError::Faulty)
    }

    /// Copies the attachments that the file names.
    pub(super) async fn copy(
        &self,
        prepared: &Prepared<'_>,
        source: &dyn AttachmentSource,
    ) -> Result<(), ApplyProvisioningError> {
        let attachments = &prepared.lookups.attachments;
        attachments::copy(attachments, &prepared.blobs, source, self.blobs.as_ref()).await
    }

    fn random(&self, left_out: &[Vec<String>]) -> HashMap<Vec<String>, [u8; 32]> {
        let random = left_out.iter().map(|path| {
            let mut bytes = [0; 32];
            self.entropy.fill_random(&mut bytes);
            (path.clone(), bytes)
        });
        random.collect()
    }
}

/// The fault of a file that removes an organization whose bids have no end yet. Their outcome must stay known.
fn outstanding(file: &Value, organization: &OrganizationId, bids: u64) -> FieldError {
    let mut path = path_of_organization(file, organization);
    path.push("state".to_owned());
    let are = if bids == 1 { "bid is" } else { "bids are" };
    let message = format!(
        "{bids} {are} queued, being submitted or unsettled: pause the campaigns, wait for the outcomes or settle them \
         (`bidloop bids list --organization {organization}`), then apply again"
    );
    FieldError::new(&path, message)
}

/// The hashes of the passwords. An unchanged password keeps its hash, because a new hash has another salt and would be
/// a change. A password that is given twice for one person has one hash.
pub(crate) async fn password_hashes(
    hasher: &dyn PasswordHasher,
    passwords: &[GivenPassword<'_>],
    people: &[StoredPerson],
) -> Result<HashMap<Vec<String>, Secret<String>>, HasherBusy> {
    let mut by_path = HashMap::new();
    let mut by_person: HashMap<(&EmailKey, &str), Secret<String>> = HashMap::new();
    for given in passwords {
        let password = *given.password.expose();
        let hash = match by_person.get(&(&given.person, password)) {
            Some(hash) => hash.clone(),
            None => hash_of(hasher, password, current_hash(people, &given.person)).await?,
        };
        by_person.insert((&given.person, password), hash.clone());
        by_path.insert(given.path.clone(), hash);
    }
    Ok(by_path)
}

/// The current hash if it is the password's, else a new one.
async fn hash_of(
    hasher: &dyn PasswordHasher,
    password: &str,
    current: Option<&Secret<String>>,
) -> Result<Secret<String>, HasherBusy> {
    if let Some(current) = current
        && hasher.verify(password, Some(current.expose())).await?
    {
        return Ok(current.clone());
    }
    hasher.hash(password).await.map(Secret::new)
}

fn current_hash<'a>(people: &'a [StoredPerson], key: &EmailKey) -> Option<&'a Secret<String>> {
    let person = people.iter().find(|stored| stored.person.key == *key)?;
    person.password_hash.as_ref()
}

#[cfg(test)]
mod tests;
