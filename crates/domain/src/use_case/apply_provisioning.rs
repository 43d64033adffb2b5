//! Apply provisioning: makes the store agree with what a provisioning file says (contract sections 1 and 3).
//!
//! Owns the order: read, plan, copy the attachments, commit; all or nothing. Does not own the file's rules, which
//! are [`provisioning`](crate::provisioning)'s, nor how attachments are read and kept.

mod attachments;

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::model::ShapeFault;
use crate::port::{
    AttachmentSource, BlobError, BlobStore, Clock, CommitProvisioning, Ids, PasswordHasher, ProposalWriter,
    ProvisioningStore, StoreError, WorkKind, WorkSignal,
};
use crate::provisioning::{Document, Faults, PlanTools, ProvisioningReport, plan};

/// How often a plan is made anew because something else changed the store meanwhile.
const ATTEMPTS: u32 = 16;

/// Why a file was not applied. Nothing has changed, but content that was copied already may lie in the blob store,
/// where the next attempt finds it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApplyProvisioningError {
    /// All faults of the file, by path.
    #[error("{}", FaultLines(.0))]
    Faulty(Vec<ShapeFault>),
    /// Other changes came in between, again and again.
    #[error("the store keeps changing while the file is applied: try again")]
    Contended,
    /// The attachments' storage failed.
    #[error(transparent)]
    Blobs(#[from] BlobError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// One line a fault: `path: message`.
struct FaultLines<'a>(&'a [ShapeFault]);

impl fmt::Display for FaultLines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, fault) in self.0.iter().enumerate() {
            let separator = if position == 0 { "" } else { "\n" };
            write!(f, "{separator}{fault}")?;
        }
        Ok(())
    }
}

/// Applies provisioning files. Applying one twice changes nothing the second time.
#[derive(Debug)]
pub struct ApplyProvisioning {
    /// Where organizations and what belongs to them are kept.
    pub store: Arc<dyn ProvisioningStore>,
    /// Where attachments are copied to.
    pub blobs: Arc<dyn BlobStore>,
    /// Checks the syntax of templates.
    pub templates: Arc<dyn ProposalWriter>,
    /// Hashes users' passwords.
    pub passwords: Arc<dyn PasswordHasher>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Makes keys and secrets.
    pub ids: Arc<dyn Ids>,
    /// Woken when filters may have changed.
    pub signal: Arc<dyn WorkSignal>,
}

impl ApplyProvisioning {
    /// Applies `document`, a provisioning file's JSON (or TOML as JSON); `files` reads the attachments it names.
    ///
    /// # Errors
    /// [`ApplyProvisioningError::Faulty`] with every fault: of shape, of attachments, and of what the whole would
    /// amount to.
    pub async fn execute(
        &self,
        document: &Value,
        files: &dyn AttachmentSource,
    ) -> Result<ProvisioningReport, ApplyProvisioningError> {
        let mut document = Document::read(document, self.templates.as_ref());
        let mut faults = Faults::default();
        attachments::inspect(&mut document, files, &mut faults).await;

        let organizations = document.organization_ids();
        let key_hashes = document.key_hashes();
        let mut copied = false;
        for _ in 0..ATTEMPTS {
            let snapshot = self.store.snapshot(&organizations, &key_hashes).await?;
            let now = self.clock.now();
            let tools = PlanTools {
                ids: self.ids.as_ref(),
                passwords: self.passwords.as_ref(),
                now,
            };
            let plan = plan(&document, &snapshot, tools, &faults).map_err(ApplyProvisioningError::Faulty)?;
            if !copied {
                attachments::copy(&mut document, files, self.blobs.as_ref()).await?;
                copied = true;
            }
            if plan.changes.is_empty() {
                return Ok(plan.report);
            }
            match self.store.commit(snapshot.revision, &plan.changes, now).await? {
                CommitProvisioning::Committed => {
                    self.signal.wake(WorkKind::Backfills);
                    return Ok(plan.report);
                }
                CommitProvisioning::RevisionMoved => {}
            }
        }
        Err(ApplyProvisioningError::Contended)
    }
}

#[cfg(test)]
mod tests;
