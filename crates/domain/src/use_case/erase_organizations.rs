//! Erase organizations: removes what removed organizations had, rows and files, in small steps.
//!
//! Whatever the settings of [`Retention`](super::Retention) keep: the organization is gone. A crash loses nothing, since
//! the note that the organization was removed goes last.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt, future};

use super::attachment_paths;
use crate::model::OrganizationId;
use crate::port::{BlobError, BlobStore, Clock, ErasureStore, LeaseOwner, StoreError};

/// How many rows a step removes: some milliseconds of work, as a step of pruning.
const ROWS_AT_ONCE: u32 = 200;
/// How many files a step deletes.
const FILES_AT_ONCE: usize = 20;
/// How many organizations a pass erases.
const ORGANIZATIONS_AT_ONCE: u32 = 1_000;
/// How long a process that stops without a word keeps others from going on. A step takes much less.
const LEASE: Duration = Duration::from_secs(60);

/// Erases removed organizations.
#[derive(Debug, Clone)]
pub struct EraseOrganizations {
    /// Holds the rows.
    pub store: Arc<dyn ErasureStore>,
    /// Holds the files.
    pub blobs: Arc<dyn BlobStore>,
    /// Tells how long a claim lasts.
    pub clock: Arc<dyn Clock>,
    /// Holds the claims.
    pub owner: LeaseOwner,
}

/// A pass over the organizations that are removed when it begins.
#[derive(Debug)]
pub struct ErasureRun {
    erase: EraseOrganizations,
    left: VecDeque<OrganizationId>,
    erased: Erased,
}

/// What was erased.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Erased {
    /// Organizations of which nothing is left.
    pub organizations: u64,
    /// Rows of the store.
    pub rows: u64,
    /// Attachments.
    pub files: u64,
}

/// Why an organization could not be erased. Nothing is lost: the next pass goes on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("removed organization \"{organization}\" is not erased yet: {cause}")]
pub struct EraseError {
    /// The organization.
    pub organization: OrganizationId,
    /// What failed.
    pub cause: EraseFailure,
}

/// What failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EraseFailure {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The attachments' storage.
    #[error(transparent)]
    Blobs(#[from] BlobError),
}

/// What a step came to.
enum Step {
    Erased(Erased),
    /// Another process erases the organization, or has done so.
    Elsewhere,
}

impl EraseOrganizations {
    /// Begins a pass.
    pub async fn begin(&self) -> Result<ErasureRun, StoreError> {
        Ok(ErasureRun {
            erase: self.clone(),
            left: self.removed().await?.into(),
            erased: Erased::default(),
        })
    }

    /// The removed organizations that a pass would erase.
    pub async fn removed(&self) -> Result<Vec<OrganizationId>, StoreError> {
        self.store.removed(ORGANIZATIONS_AT_ONCE).await
    }

    /// The rows first: while there is an organization to erase, no other has its id, so no file is another's.
    async fn step(&self, organization: &OrganizationId) -> Result<Step, EraseFailure> {
        let now = self.clock.now();
        let lease_until = now.plus(LEASE);
        let is_claimed = self
            .store
            .claim_erasure(organization, &self.owner, now, lease_until)
            .await?;
        if !is_claimed {
            return Ok(Step::Elsewhere);
        }
        let removed = self.store.erase(organization, &self.owner, ROWS_AT_ONCE).await?;
        let mut erased = Erased {
            rows: match removed {
                Some(rows) => rows,
                None => return Ok(Step::Elsewhere),
            },
            ..Erased::default()
        };
        if erased.rows == 0 {
            erased.files = self.delete_files(organization).await?;
        }
        if erased == Erased::default() && self.store.finish_erasure(organization, &self.owner).await? {
            erased.organizations = 1;
        }
        Ok(Step::Erased(erased))
    }

    /// Deletes some of the organization's files, also such that no row names: a crash may have left them. Returns how
    /// many.
    async fn delete_files(&self, organization: &OrganizationId) -> Result<u64, BlobError> {
        for folder in attachment_paths::folders(organization) {
            let listed = self.blobs.list(&folder);
            let own = listed.try_filter(|path| future::ready(attachment_paths::is_of(organization, path)));
            let own: Vec<_> = own.take(FILES_AT_ONCE).try_collect().await?;
            for path in &own {
                self.blobs.delete(path).await?;
            }
            if !own.is_empty() {
                return Ok(own.len() as u64);
            }
        }
        Ok(0)
    }
}

impl ErasureRun {
    /// Makes one step; `None` if nothing is left to do. An organization that fails is left to the next pass, and the next
    /// step goes on with another one.
    pub async fn step(&mut self) -> Result<Option<Erased>, EraseError> {
        let Some(organization) = self.left.front() else {
            return Ok(None);
        };
        let erased = match self.erase.step(organization).await {
            Ok(Step::Erased(erased)) => erased,
            Ok(Step::Elsewhere) => {
                self.left.pop_front();
                return Ok(Some(Erased::default()));
            }
            Err(cause) => {
                let organization = organization.clone();
                self.left.pop_front();
                return Err(EraseError { organization, cause });
            }
        };
        self.erased.organizations += erased.organizations;
        self.erased.rows += erased.rows;
        self.erased.files += erased.files;
        if erased.organizations > 0 {
            self.left.pop_front();
        }
        Ok(Some(erased))
    }

    /// What was erased so far.
    pub fn erased(&self) -> Erased {
        self.erased
    }
}
