//! A campaign's attachments on their way from the operator's files to the blob store (decision A9).
//!
//! Each file is read twice: once to judge it before anything is changed, once to copy it when nothing is at
//! fault. So nothing is kept for a faulty file, and memory use does not grow with sizes or numbers.

use std::collections::{HashMap, HashSet};

use futures::StreamExt;

use super::ApplyProvisioningError;
use crate::attachment_rules::{ContentInspector, InspectedFile};
use crate::model::{BlobRef, OrganizationId};
use crate::port::{AttachmentSource, BlobError, BlobPath, BlobStore, StagedBlob};
use crate::provisioning::{AttachmentPatch, Document, Faults, path_to};

/// Judges every attachment's content and notes its size and digest; what cannot be read or accepted is a fault.
pub(super) async fn inspect(document: &mut Document, files: &dyn AttachmentSource, faults: &mut Faults) {
    // One portfolio may serve many campaigns.
    let mut judged: HashMap<(String, &'static str), InspectedFile> = HashMap::new();
    for (organization, attachment) in document.attachments_mut() {
        let key = (attachment.source.clone(), attachment.content_type.as_str());
        let inspected = match judged.get(&key) {
            Some(known) => Ok(known.clone()),
            None => read(attachment, files, None).await,
        };
        match inspected {
            Ok(file) => {
                attachment.blob = Some(blob_ref(organization, &file));
                judged.insert(key, file);
            }
            Err(ReadFault::File(message)) => faults.push(&path_to(&attachment.path, "path"), message),
            // Nothing is staged here.
            Err(ReadFault::Blobs(fault)) => {
                faults.push(&path_to(&attachment.path, "path"), fault.to_string());
            }
        }
    }
}

/// Copies every attachment to where its digest says, once. What lies there already is written anew, so that
/// applying a file again mends a storage that lost something or was replaced.
pub(super) async fn copy(
    document: &mut Document,
    files: &dyn AttachmentSource,
    blobs: &dyn BlobStore,
) -> Result<(), ApplyProvisioningError> {
    let mut copied = HashSet::new();
    for (_, attachment) in document.attachments_mut() {
        let Some(blob) = attachment.blob.clone() else {
            continue;
        };
        if !copied.insert(blob.storage_path.clone()) {
            continue;
        }
        let mut staged = blobs.stage().await?;
        let changed = || "the file changed while it was read: apply again".to_owned();
        let message = match read(attachment, files, Some(staged.as_mut())).await {
            Ok(file) if file.sha256 == blob.sha256 => {
                let path = BlobPath::parse(&blob.storage_path)
                    .ok_or_else(|| BlobError::Unavailable(format!("{} is no path", blob.storage_path)))?;
                staged.publish(&path).await?;
                continue;
            }
            Ok(_) => changed(),
            Err(ReadFault::File(message)) => message,
            Err(ReadFault::Blobs(fault)) => return Err(fault.into()),
        };
        let mut faults = Faults::default();
        faults.push(&path_to(&attachment.path, "path"), message);
        return Err(ApplyProvisioningError::Faulty(faults.into_sorted()));
    }
    Ok(())
}

enum ReadFault {
    /// Of the file, as a fault's message.
    File(String),
    /// Of the storage.
    Blobs(BlobError),
}

/// Reads and judges the file, copying it into `staged` on the way.
async fn read(
    attachment: &AttachmentPatch,
    files: &dyn AttachmentSource,
    mut staged: Option<&mut (dyn StagedBlob + 'static)>,
) -> Result<InspectedFile, ReadFault> {
    let unreadable =
        |fault: &dyn std::fmt::Display| ReadFault::File(format!("\"{}\": {fault}", attachment.source));
    let mut inspector = ContentInspector::new(attachment.content_type, attachment.name.clone());
    let mut pieces = files
        .open(&attachment.source)
        .await
        .map_err(|fault| unreadable(&fault))?;
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|fault| unreadable(&fault))?;
        inspector
            .push(&piece)
            .map_err(|fault| ReadFault::File(fault.to_string()))?;
        if let Some(staged) = &mut staged {
            staged.write(piece).await.map_err(ReadFault::Blobs)?;
        }
    }
    inspector
        .finish()
        .map_err(|fault| ReadFault::File(fault.to_string()))
}

/// The place follows from the content, so that applying a file twice is no change.
fn blob_ref(organization: &OrganizationId, file: &InspectedFile) -> BlobRef {
    BlobRef {
        size_bytes: file.size_bytes,
        storage_path: format!("campaigns/{organization}/{}", file.sha256),
        sha256: file.sha256.clone(),
    }
}
