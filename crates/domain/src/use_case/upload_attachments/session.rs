//! One upload on its way in: staged part by part, published whole or not at all, recorded either way.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{UploadAttachments, UploadError};
use crate::attachment_rules::{
    ContentInspector, ContentType, FileAdmission, FileFault, FileName, InspectedFile, MAX_FILES,
};
use crate::model::{
    Activity, ActivityKind, Actor, AttachmentId, BlobRef, Lead, LeadAttachment, Timestamp, details,
};
use crate::port::{AddAttachments, BlobError, BlobPath, BlobStore, NewAttachment, StagedBlob};

/// The name that every part of an upload bears (specification, uploadLeadAttachments).
const PART_NAME: &str = "files";

/// The type of a part that declares none (RFC 7578, section 4.4).
const DEFAULT_PART_TYPE: &str = "text/plain";

/// One request's files on their way in. Call [`start_file`](Self::start_file), [`write`](Self::write) and
/// [`end_file`](Self::end_file) for each part in its order, then [`finish`](Self::finish). After an error, and
/// when the body breaks off, call [`refuse`](Self::refuse): the first fault decides. Dropping the session
/// discards what was staged.
#[derive(Debug)]
pub struct UploadSession {
    upload: UploadAttachments,
    actor: Actor,
    lead: Lead,
    admission: FileAdmission,
    current: Option<IncomingFile>,
    staged: Vec<StagedFile>,
}

#[derive(Debug)]
struct IncomingFile {
    name: FileName,
    content_type: ContentType,
    received: u64,
    inspector: ContentInspector,
    blob: Box<dyn StagedBlob>,
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
        actor: Actor,
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
            actor,
            lead,
            admission: FileAdmission::beside(&names),
            current: None,
            staged: Vec::new(),
        }
    }

    /// The next part's head. `declared_type` is its Content-Type as it came.
    pub async fn start_file(
        &mut self,
        part_name: &str,
        file_name: Option<&str>,
        declared_type: Option<&str>,
    ) -> Result<(), UploadError> {
        if part_name != PART_NAME {
            return Err(UploadError::UnexpectedPart {
                part_name: part_name.to_owned(),
                file_name: file_name.map(str::to_owned),
            });
        }
        let name = FileName::parse(file_name.unwrap_or_default())?;
        self.admission.admit(&name)?;
        let content_type = ContentType::declared(&name, declared_type.unwrap_or(DEFAULT_PART_TYPE))?;
        self.current = Some(IncomingFile {
            inspector: ContentInspector::new(content_type, name.clone()),
            name,
            content_type,
            received: 0,
            blob: self.upload.blobs.stage().await?,
        });
        Ok(())
    }

    /// The next piece of the current file; pieces outside a file are passed over.
    pub async fn write(&mut self, piece: Bytes) -> Result<(), UploadError> {
        let Some(file) = &mut self.current else {
            return Ok(());
        };
        file.received = file.received.saturating_add(piece.len() as u64);
        file.inspector.push(&piece)?;
        file.blob.write(piece).await?;
        Ok(())
    }

    /// The current file is whole.
    pub fn end_file(&mut self) -> Result<(), UploadError> {
        let Some(file) = self.current.take() else {
            return Ok(());
        };
        let name = file.name.clone();
        let inspected = file.inspector.finish()?;
        self.staged.push(StagedFile {
            name,
            content_type: file.content_type,
            inspected,
            blob: file.blob,
        });
        Ok(())
    }

    /// The request is whole: publishes the files and gives them to the lead. The lead's full list, oldest first.
    pub async fn finish(mut self) -> Result<Vec<LeadAttachment>, UploadError> {
        let admission = std::mem::replace(&mut self.admission, FileAdmission::beside([]));
        if let Err(fault) = admission.finish() {
            return Err(self.refuse(fault.into()).await);
        }
        let entry = self.entry();
        let Self {
            upload, lead, staged, ..
        } = self;
        let requests = &upload.requests;

        let mut files = Vec::with_capacity(staged.len());
        let mut blobs = Vec::with_capacity(staged.len());
        for file in staged {
            let id = AttachmentId(requests.ids.uuid());
            let path = format!(
                "{}/{}/{id}-{}",
                lead.organization_id,
                lead.id,
                file.name.blob_segment()
            );
            let path = BlobPath::parse(&path)
                .ok_or_else(|| BlobError::Unavailable(format!("{path:?} is no place for a blob")))?;
            files.push(describe(id, &file, &path, entry.at));
            blobs.push((path, file.blob));
        }

        let published = publish(&*upload.blobs, blobs).await;
        let refusal = match published {
            Err(error) => UploadError::Blob(error),
            Ok(paths) => {
                // An error of the store leaves the blobs: the lead may have the files all the same, if only the
                // answer was lost, and blobs that nothing refers to do less harm than references to nothing.
                let added = requests
                    .leads
                    .add_attachments(&lead.organization_id, &lead.id, &files, &entry)
                    .await?;
                let refusal = match added {
                    AddAttachments::Added(list) => return Ok(list),
                    AddAttachments::LeadUnknown => UploadError::LeadUnknown,
                    AddAttachments::LeadNotNew(status) => UploadError::LeadNotNew(status),
                    AddAttachments::TooMany { existing } => too_many(&files, existing).into(),
                    AddAttachments::DuplicateName(name) => FileFault::DuplicateName { name }.into(),
                };
                withdraw(&*upload.blobs, &paths).await;
                refusal
            }
        };
        Err(requests.refuse(entry, refusal).await)
    }

    /// Ends the request without a file kept: what was staged is discarded and the refusal recorded (decision
    /// C8). Answers the error to report.
    pub async fn refuse(self, error: UploadError) -> UploadError {
        let entry = self.entry();
        let requests = self.upload.requests.clone();
        // The staging places are given up before anything is waited for.
        drop(self);
        requests.refuse(entry, error).await
    }

    /// The entry of an accepted upload.
    fn entry(&self) -> Activity {
        let whole = self.staged.iter().map(|file| {
            json!({
                "name": file.name.as_str(),
                "contentType": file.content_type.as_str(),
                "sizeBytes": file.inspected.size_bytes,
                "sha256": file.inspected.sha256,
            })
        });
        let broken_off = self.current.iter().map(|file| {
            json!({
                "name": file.name.as_str(),
                "contentType": file.content_type.as_str(),
                "receivedBytes": file.received,
            })
        });
        let files: Vec<Value> = whole.chain(broken_off).collect();
        let requests = &self.upload.requests;
        let actor = self.actor.clone();
        let mut entry = requests.entry(ActivityKind::Upload, actor, &self.lead, "Files uploaded.");
        entry.details = details(json!({ "files": files }));
        entry
    }
}

fn describe(id: AttachmentId, file: &StagedFile, path: &BlobPath, at: Timestamp) -> NewAttachment {
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
        // One that failed may be there all the same, if only the answer was lost.
        published.push(path);
        if let Err(error) = outcome {
            withdraw(store, &published).await;
            return Err(error);
        }
    }
    Ok(published)
}

/// Deletes published blobs. One that cannot be deleted now is a blob that nothing refers to.
async fn withdraw(store: &dyn BlobStore, published: &[BlobPath]) {
    for path in published {
        if let Err(error) = store.delete(path).await {
            tracing::warn!(path = path.as_str(), %error, "a refused upload's blob was left behind");
        }
    }
}

/// Files that came in beside these since the lead was looked up left no room for all of them.
fn too_many(files: &[NewAttachment], existing: usize) -> FileFault {
    let room = MAX_FILES.saturating_sub(existing);
    let first_beyond = files.get(room).or(files.last());
    FileFault::TooManyFiles {
        name: first_beyond.map_or_else(String::new, |file| file.attachment.original_name.clone()),
        held: existing + room,
    }
}
