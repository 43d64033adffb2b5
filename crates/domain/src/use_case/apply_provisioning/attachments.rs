//! Copies a campaign's attachments from the operator's files to the blob store (decision A9).
//!
//! Each file is read twice: first to check it, then to copy it if the provisioning file has no fault. So nothing is stored
//! for a faulty file, and memory use does not grow with the size or number of files.

use std::collections::{HashMap, HashSet};

use bidloop_matching::json::{Faults, FieldError};
use futures::StreamExt;

use super::super::attachment_paths;
use super::ApplyProvisioningError;
use crate::attachment_rules::{ContentInspector, FileFault, InspectedFile};
use crate::model::{BlobRef, OrganizationId};
use crate::port::{AttachmentSource, AttachmentSourceError, BlobError, BlobPath, BlobStore, StagedBlob};
use crate::provisioning::AttachmentEntry;

/// Checks every attachment's content. Returns the accepted ones by their path in the file, and the faults of the others.
pub(super) async fn inspect(
    attachments: &[(OrganizationId, AttachmentEntry)],
    source: &dyn AttachmentSource,
) -> Result<(HashMap<Vec<String>, BlobRef>, Faults), ApplyProvisioningError> {
    let (mut blobs, mut faults) = (HashMap::new(), Faults::default());
    // Many campaigns may use the same file.
    let mut inspected: HashMap<(&str, &str), InspectedFile> = HashMap::new();
    for (organization, attachment) in attachments {
        if let Some(blob) = source.stored(&attachment.source) {
            blobs.insert(attachment.path.clone(), blob);
            continue;
        }
        let key = (attachment.source.as_str(), attachment.content_type.as_str());
        let file = match inspected.get(&key) {
            Some(known) => Ok(known.clone()),
            None => read(attachment, source, None).await,
        };
        match file {
            Ok(file) => {
                blobs.insert(attachment.path.clone(), blob_ref(organization, &file));
                inspected.insert(key, file);
            }
            Err(ApplyProvisioningError::Faulty(found)) => faults.extend(found),
            Err(failure) => return Err(failure),
        }
    }
    Ok((blobs, faults))
}

/// Copies every attachment once, to a path that is derived from its digest. Existing content is written again, so that
/// applying a file repairs a storage that was lost or replaced.
pub(super) async fn copy(
    attachments: &[(OrganizationId, AttachmentEntry)],
    blobs: &HashMap<Vec<String>, BlobRef>,
    source: &dyn AttachmentSource,
    store: &dyn BlobStore,
) -> Result<(), ApplyProvisioningError> {
    let mut copied = HashSet::new();
    for (_, attachment) in attachments {
        let Some(blob) = blobs.get(&attachment.path) else {
            continue;
        };
        if source.stored(&attachment.source).is_some() || !copied.insert(&blob.storage_path) {
            continue;
        }
        let mut staged = store.stage().await?;
        let file = read(attachment, source, Some(staged.as_mut())).await?;
        if file.sha256 != blob.sha256 {
            let message = "the file changed while it was read: apply again";
            return Err(faulty(attachment, message));
        }
        let path = BlobPath::parse(&blob.storage_path)
            .ok_or_else(|| BlobError::Unavailable(format!("{} is not a path", blob.storage_path)))?;
        staged.publish(&path).await?;
    }
    Ok(())
}

fn faulty(attachment: &AttachmentEntry, message: impl Into<String>) -> ApplyProvisioningError {
    ApplyProvisioningError::Faulty(vec![FieldError::new(&attachment.path, message)])
}

/// Reads and checks the file, and copies it into `staged`.
async fn read(
    attachment: &AttachmentEntry,
    source: &dyn AttachmentSource,
    mut staged: Option<&mut (dyn StagedBlob + 'static)>,
) -> Result<InspectedFile, ApplyProvisioningError> {
    let unreadable =
        |fault: AttachmentSourceError| faulty(attachment, format!("\"{}\": {fault}", attachment.source));
    let refused = |fault: FileFault| faulty(attachment, fault.to_string());
    let mut inspector = ContentInspector::new(attachment.content_type, attachment.name.clone());
    let mut pieces = source.open(&attachment.source).await.map_err(unreadable)?;
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(unreadable)?;
        inspector.push(&piece).map_err(refused)?;
        if let Some(staged) = &mut staged {
            staged.write(piece).await?;
        }
    }
    inspector.finish().map_err(refused)
}

/// The reference to a file's blob. The path is derived from the content, so applying a file twice changes nothing.
fn blob_ref(organization: &OrganizationId, file: &InspectedFile) -> BlobRef {
    BlobRef {
        size_bytes: file.size_bytes,
        storage_path: attachment_paths::of_campaign(organization, &file.sha256),
        sha256: file.sha256.clone(),
    }
}
