//! One upload: staged part by part, published as a whole or not at all, and recorded in both cases.

use bytes::Bytes;
use futures::Stream;
use serde_json::json;

use super::super::attachment_paths;
use super::super::staged_files::{PartHead, StagedFile, StagedFiles};
use super::{LeadError, Requester, UploadAttachments};
use crate::attachment_rules::{FileFault, FileName, MAX_FILES};
use crate::model::{Activity, ActivityKind, AttachmentId, BlobRef, Lead, LeadAttachment, Timestamp, details};
use crate::port::{AddAttachments, BlobError, BlobPath, BlobStore, NewAttachment, StagedBlob};

/// The name of every part of an upload (specification, uploadLeadAttachments).
const PART_NAME: &str = "files";

/// The files of one request while they arrive. Call [`add_file`](Self::add_file) for each part in order, then
/// [`finish`](Self::finish). After the first error, or if the body ends too early, call [`refuse`](Self::refuse) instead.
/// Dropping the session discards what was staged.
#[derive(Debug)]
pub struct UploadSession {
    upload: UploadAttachments,
    requester: Requester,
    lead: Lead,
    files: StagedFiles,
}

impl UploadSession {
    pub(super) fn new(
        upload: UploadAttachments,
        requester: Requester,
        lead: Lead,
        attached: &[LeadAttachment],
    ) -> Self {
        Self {
            upload,
            requester,
            lead,
            files: StagedFiles::beside(attached.iter().map(|file| file.original_name.as_str())),
        }
    }

    /// Checks and stages the next part's file while its pieces arrive.
    pub async fn add_file(
        &mut self,
        part: PartHead,
        pieces: impl Stream<Item = Result<Bytes, LeadError>>,
    ) -> Result<(), LeadError> {
        if part.name != PART_NAME {
            return Err(LeadError::UnexpectedPart {
                part_name: part.name,
                file_name: part.file_name,
            });
        }
        self.files.add(&*self.upload.blobs, part, pieces).await
    }

    /// Publishes the files and adds them to the lead, after the whole request has arrived. Returns all files of the lead,
    /// oldest first.
    pub async fn finish(self) -> Result<Vec<LeadAttachment>, LeadError> {
        if self.files.staged.is_empty() {
            return Err(self.refuse(FileFault::NoFile.into()).await);
        }
        let entry = self.entry();
        let (requests, requester) = (self.upload.requests.clone(), self.requester.clone());
        match self.keep(&entry).await {
            Ok(list) => Ok(list),
            Err(refusal) => Err(requests.refuse(&requester, entry, refusal).await),
        }
    }

    async fn keep(self, entry: &Activity) -> Result<Vec<LeadAttachment>, LeadError> {
        let Self {
            upload,
            requester,
            lead,
            files,
            ..
        } = self;
        let staged = files.staged;
        let mut files = Vec::with_capacity(staged.len());
        let mut blobs = Vec::with_capacity(staged.len());
        for file in staged {
            let id = AttachmentId(upload.requests.entropy.uuid());
            let path = blob_path(&lead, id, &file.name)?;
            files.push(new_attachment(id, &file, &path, entry.at));
            blobs.push((path, file.blob));
        }
        let published = publish(&*upload.blobs, blobs).await?;
        // After an error of the store the blobs stay: the files may have been added and only the answer lost. A blob
        // without a reference does less harm than a reference without a blob.
        let added = upload
            .requests
            .leads
            .add_attachments(&requester.authorization, &lead, &files, entry)
            .await?;
        let refusal = match added {
            AddAttachments::Added(list) => return Ok(list),
            AddAttachments::NotAuthorized(why) => LeadError::NotAuthorized(why),
            AddAttachments::LeadUnknown => LeadError::LeadUnknown,
            AddAttachments::LeadNotNew(status) => LeadError::UploadTooLate(status),
            AddAttachments::TooMany { existing } => too_many(&files, existing).into(),
            AddAttachments::DuplicateName(name) => FileFault::DuplicateName { name }.into(),
        };
        withdraw(&*upload.blobs, &published).await;
        Err(refusal)
    }

    /// Ends the request without keeping a file: discards what was staged and records the refusal (decision C8).
    /// Returns the error to report.
    pub async fn refuse(self, error: LeadError) -> LeadError {
        let entry = self.entry();
        let (requests, requester) = (self.upload.requests.clone(), self.requester.clone());
        // Frees the staged files before the call to the store.
        drop(self);
        requests.refuse(&requester, entry, error).await
    }

    /// The entry of an accepted upload.
    fn entry(&self) -> Activity {
        let requests = &self.upload.requests;
        let kind = ActivityKind::Upload;
        let mut entry = requests.accepted(&self.requester, &self.lead, kind, "Files uploaded.");
        entry.details = details(json!({ "files": self.files.described }));
        entry
    }
}

fn blob_path(lead: &Lead, id: AttachmentId, name: &FileName) -> Result<BlobPath, BlobError> {
    let path = attachment_paths::of_upload(&lead.organization_id, &lead.id, id, &name.blob_segment());
    path.ok_or_else(|| BlobError::Unavailable(format!("{name:?} has no blob path")))
}

fn new_attachment(id: AttachmentId, file: &StagedFile, path: &BlobPath, at: Timestamp) -> NewAttachment {
    NewAttachment {
        attachment: LeadAttachment {
            id,
            original_name: file.name.as_str().to_owned(),
            safe_name: file.name.safe_name(),
            content_type: file.content_type.as_str().to_owned(),
            blob: BlobRef {
                size_bytes: file.inspected.size_bytes,
                sha256: file.inspected.sha256.clone(),
                storage_path: path.as_str().to_owned(),
            },
            created_at: at,
        },
        comparison_key: file.name.comparison_key(),
    }
}

/// Publishes all blobs or none.
async fn publish(
    store: &dyn BlobStore,
    blobs: Vec<(BlobPath, Box<dyn StagedBlob>)>,
) -> Result<Vec<BlobPath>, BlobError> {
    let mut published = Vec::with_capacity(blobs.len());
    for (path, blob) in blobs {
        let outcome = blob.publish(&path).await;
        // A failed one may exist too, if only the answer was lost.
        published.push(path);
        if let Err(error) = outcome {
            withdraw(store, &published).await;
            return Err(error);
        }
    }
    Ok(published)
}

/// Deletes published blobs. One that cannot be deleted stays without a reference.
async fn withdraw(store: &dyn BlobStore, published: &[BlobPath]) {
    for path in published {
        if let Err(error) = store.delete(path).await {
            tracing::warn!(path = path.as_str(), %error, "a refused upload's blob was left behind");
        }
    }
}

/// The fault of files that exceed the limit, because another upload added files since the lead was looked up.
fn too_many(files: &[NewAttachment], existing: usize) -> FileFault {
    let room = MAX_FILES.saturating_sub(existing);
    let first_beyond = files.get(room).or(files.last());
    FileFault::TooManyFiles {
        name: first_beyond.map_or_else(String::new, |file| file.attachment.original_name.clone()),
        held: existing + room,
    }
}
