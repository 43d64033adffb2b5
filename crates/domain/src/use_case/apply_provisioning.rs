//! Apply provisioning: makes the store agree with a provisioning file (contract sections 1 and 3).
//!
//! Owns the order (look up, plan, copy the attachments, commit; all or nothing) and the look-ups through ports. Does not
//! own the file's rules: see [`provisioning`](crate::provisioning).

mod attachments;

use std::collections::HashMap;
use std::sync::Arc;

use bidloop_matching::json::Faults;
use serde_json::Value;

use crate::model::{BlobRef, FieldError, OrganizationId, Secret, Timestamp};
use crate::port::{
    AttachmentSource, BlobError, BlobStore, Clock, CommitProvisioning, Entropy, PasswordHasher,
    ProposalWriter, ProvisioningSnapshot, ProvisioningStore, StoreError, UserRecord, WorkKind, WorkSignal,
};
use crate::provisioning::{
    GivenPassword, Known, Lookups, OrganizationRecord, Plan, Provided, ProvisioningReport,
    path_of_organization, plan,
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
            let plan = self.plan(file, &prepared, &snapshot, now)?;
            // In each attempt: an organization that was removed meanwhile has lost its files.
            self.copy(&prepared, source).await?;
            if plan.changes.is_empty() {
                return Ok(plan.report);
            }
            match self.store.commit(snapshot.revision, &plan.changes, now).await? {
                CommitProvisioning::Committed => {
                    self.signal.wake(WorkKind::Backfills);
                    return Ok(plan.report);
                }
                CommitProvisioning::RevisionMoved => {}
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
    pub(super) fn plan(
        &self,
        file: &Value,
        prepared: &Prepared<'_>,
        snapshot: &ProvisioningSnapshot,
        now: Timestamp,
    ) -> Result<Plan, ApplyProvisioningError> {
        let lookups = &prepared.lookups;
        let provided = Provided {
            now,
            check_template: &|text| self.templates.check(text).map_err(|fault| fault.to_string()),
            password_hashes: password_hashes(
                self.passwords.as_ref(),
                &lookups.passwords,
                &snapshot.organizations,
            ),
            random: self.random(&lookups.left_out),
            blobs: &prepared.blobs,
            faults: &prepared.faults,
        };
        let known = Known {
            taken_keys: &snapshot.taken_key_hashes,
            removed_keys: &snapshot.removed_key_hashes,
            being_erased: &snapshot.being_erased,
            unreadable: &snapshot.unreadable,
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
/// a change.
pub(crate) fn password_hashes(
    hasher: &dyn PasswordHasher,
    passwords: &[GivenPassword<'_>],
    organizations: &[OrganizationRecord],
) -> HashMap<Vec<String>, Secret<String>> {
    let mut by_path = HashMap::new();
    for given in passwords {
        let current = user(organizations, &given.organization, given.email)
            .and_then(|user| user.password_hash.clone())
            .filter(|hash| hasher.verify(given.password.expose(), hash.expose()));
        let hash = current.unwrap_or_else(|| Secret::new(hasher.hash(given.password.expose())));
        by_path.insert(given.path.clone(), hash);
    }
    by_path
}

fn user<'a>(
    organizations: &'a [OrganizationRecord],
    organization: &OrganizationId,
    email: &str,
) -> Option<&'a UserRecord> {
    let record = organizations.iter().find(|record| record.id == *organization)?;
    let email = email.to_lowercase();
    record
        .users
        .iter()
        .find(|user| user.email.to_lowercase() == email)
}

#[cfg(test)]
mod tests;
