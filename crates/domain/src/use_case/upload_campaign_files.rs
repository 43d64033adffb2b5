//! Upload campaign files: streams a person's files into the blob store, and sends them with each of the campaign's
//! proposals from then on (decision A9). Tests: `tests/use_case/upload_campaign_files.rs`.
//!
//! The change itself is [`ManageOrganization`]'s, as every change of settings.

use std::sync::Arc;

use bytes::Bytes;
use futures::Stream;

use super::sessions::SignedIn;
use super::staged_files::{PartHead, StagedFile, StagedFiles};
use super::{Changed, ManageOrganization, ManageOrganizationError, OrganizationChange, attachment_paths};
use crate::attachment_rules::FileFault;
use crate::model::{BlobRef, CampaignId, FieldError, OrganizationId, ProposalFile};
use crate::port::{BlobError, BlobPath};

/// The files of one upload while they arrive. Call [`add_file`](Self::add_file) for each in order, then
/// [`finish`](Self::finish). Dropping the upload discards what was staged; nothing is recorded then.
#[derive(Debug)]
pub struct CampaignUpload {
    manage: Arc<ManageOrganization>,
    person: SignedIn,
    campaign: CampaignId,
    files: StagedFiles,
}

impl CampaignUpload {
    /// Starts an upload beside the files that the campaign has.
    pub async fn begin(
        manage: Arc<ManageOrganization>,
        person: SignedIn,
        campaign: CampaignId,
    ) -> Result<Self, ManageOrganizationError> {
        let asked = std::slice::from_ref(person.member.organization_id());
        let snapshot = manage.provisioning.store.snapshot(asked, &[]).await?;
        let organization = snapshot.organizations.first();
        let known = organization
            .and_then(|organization| organization.campaign(&campaign))
            .ok_or(ManageOrganizationError::Unknown)?;
        let names = known.attachments.iter().map(|file| file.name.as_str());
        Ok(Self {
            files: StagedFiles::beside(names),
            manage,
            person,
            campaign,
        })
    }

    /// Checks and stages the next file while its pieces arrive.
    pub async fn add_file<E>(
        &mut self,
        part: PartHead,
        pieces: impl Stream<Item = Result<Bytes, E>>,
    ) -> Result<(), E>
    where
        E: From<FileFault> + From<BlobError>,
    {
        let blobs = &*self.manage.provisioning.blobs;
        self.files.add(blobs, part, pieces).await
    }

    /// Whether no file has arrived.
    pub const fn is_empty(&self) -> bool {
        self.files.staged.is_empty()
    }

    /// Publishes the files and adds them to the campaign's, after all have arrived.
    ///
    /// # Errors
    /// Nothing has changed then. Published content stays, as another campaign may have the same: it does no harm without
    /// a reference.
    pub async fn finish(self) -> Result<Changed, ManageOrganizationError> {
        if self.is_empty() {
            let fault = FieldError::new(&["attachments"], FileFault::NoFile.to_string());
            return Err(ManageOrganizationError::Faulty(vec![fault]));
        }
        let mut files = Vec::with_capacity(self.files.staged.len());
        for file in self.files.staged {
            files.push(publish(self.person.member.organization_id(), file).await?);
        }
        let change = OrganizationChange::AddFiles {
            campaign: self.campaign,
            files,
        };
        self.manage.change(&self.person, &change).await
    }
}

/// Publishes a file at the path that its content has.
async fn publish(organization: &OrganizationId, file: StagedFile) -> Result<ProposalFile, BlobError> {
    let storage_path = attachment_paths::of_campaign(organization, &file.inspected.sha256);
    let path = BlobPath::parse(&storage_path)
        .ok_or_else(|| BlobError::Unavailable(format!("{storage_path} is not a path")))?;
    file.blob.publish(&path).await?;
    Ok(ProposalFile {
        name: file.name.as_str().to_owned(),
        content_type: file.content_type.as_str().to_owned(),
        blob: BlobRef {
            size_bytes: file.inspected.size_bytes,
            sha256: file.inspected.sha256,
            storage_path,
        },
    })
}
