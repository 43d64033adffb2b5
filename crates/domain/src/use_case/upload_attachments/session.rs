//! One upload: staged part by part, published as a whole or not at all, and recorded in both cases.

use std::pin::pin;

use bytes::Bytes;
use futures::{Stream, StreamExt};
use serde_json::{Value, json};

use super::super::attachment_paths;
use super::{LeadError, Requester, UploadAttachments};
use crate::attachment_rules::{
    ContentInspector, ContentType, FileAdmission, FileFault, FileName, InspectedFile, MAX_FILES,
};
use crate::model::{Activity, ActivityKind, AttachmentId, BlobRef, Lead, LeadAttachment, Timestamp, details};
use crate::port::{AddAttachments, BlobError, BlobPath, BlobStore, NewAttachment, StagedBlob};

/// The name of every part of an upload (specification, uploadLeadAttachments).
const PART_NAME: &str = "files";

/// The type of a part that declares none (RFC 7578, section 4.4).
const DEFAULT_PART_TYPE: &str = "text/plain";

/// The headers of a part of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartHead {
    /// The part's own name.
    pub name: String,
    /// The file's name, as sent.
    pub file_name: Option<String>,
    /// The file's Content-Type, as sent.
    pub content_type: Option<String>,
}

/// The files of one request while they arrive. Call [`add_file`](Self::add_file) for each part in order, then
/// [`finish`](Self::finish). After the first error, or if the body ends too early, call [`refuse`](Self::refuse) instead.
/// Dropping the session discards what was staged.
#[derive(Debug)]
pub struct UploadSession {
    upload: UploadAttachments,
    requester: Requester,
    lead: Lead,
    admission: FileAdmission,
    staged: Vec<StagedFile>,
    /// The files for the Activity record.
    described: Vec<Value>,
}

#[derive(Debug)]
struct StagedFile {
    name: FileName,
    content_type: ContentType,
    inspected: InspectedFile,
    blob: Box<dyn StagedBlob>,
}

impl UploadSession {
    pub(super) fn new(
        upload: UploadAttachments,
        requester: Requester,
        lead: Lead,
        attached: &[LeadAttachment],
    ) -> Self {
        // A stored name passed these rules when it was uploaded.
        let names: Vec<FileName> = attached
            .iter()
            .filter_map(|file| FileName::parse(&file.original_name).ok())
            .collect();
        Self {
            upload,
            requester,
            lead,
            admission: FileAdmission::beside(&names),
            staged: Vec::new(),
            described: Vec::new(),
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
        let name = FileName::parse(&part.file_name.unwrap_or_default())?;
        self.admission.admit(&name)?;
        let declared = part.content_type.as_deref().unwrap_or(DEFAULT_PART_TYPE);
        let content_type = ContentType::declared(&name, declared)?;

        let mut received = 0;
        let blobs = &*self.upload.blobs;
        let staged = stage(blobs, name.clone(), content_type, pieces, &mut received).await;
        let mut description = json!({"name": name.as_str(), "contentType": content_type.as_str()});
        match &staged {
            Ok(file) => {
                description["sizeBytes"] = file.inspected.size_bytes.into();
                description["sha256"] = file.inspected.sha256.as_str().into();
            }
            Err(_) => description["receivedBytes"] = received.into(),
        }
        self.described.push(description);
        self.staged.push(staged?);
        Ok(())
    }

    /// Publishes the files and adds them to the lead, after the whole request has arrived. Returns all files of the lead,
    /// oldest first.
    pub async fn finish(self) -> Result<Vec<LeadAttachment>, LeadError> {
        if self.staged.is_empty() {
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
            staged,
            ..
        } = self;
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
            .add_attachments(
                &requester.authorization,
                &lead.organization_id,
                &lead.id,
                &files,
                entry,
            )
            .await?;
        let refusal = match added {
            AddAttachments::Added(list) => return Ok(list),
            AddAttachments::NotAuthorized => LeadError::NotAuthorized,
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
        entry.details = details(json!({ "files": self.described }));
        entry
    }
}

/// Checks a file and stages it while its pieces arrive; `received` counts their bytes.
async fn stage(
    store: &dyn BlobStore,
    name: FileName,
    content_type: ContentType,
    pieces: impl Stream<Item = Result<Bytes, LeadError>>,
    received: &mut usize,
) -> Result<StagedFile, LeadError> {
    let mut blob = store.stage().await?;
    let mut inspector = ContentInspector::new(content_type, name.clone());
    let mut pieces = pin!(pieces);
    while let Some(piece) = pieces.next().await {
        let piece = piece?;
        *received += piece.len();
        inspector.push(&piece)?;
        blob.write(piece).await?;
    }
    Ok(StagedFile {
        inspected: inspector.finish()?,
        name,
        content_type,
        blob,
    })
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
