//! The files of one upload while they arrive: each is checked and staged piece by piece (decision A9).
//!
//! What becomes of the staged files, their use case decides: they are a lead's
//! ([`UploadSession`](super::UploadSession)) or a campaign's ([`CampaignUpload`](super::CampaignUpload)).

use std::pin::pin;

use bytes::Bytes;
use futures::{Stream, StreamExt};
use serde_json::{Value, json};

use crate::attachment_rules::{
    ContentInspector, ContentType, FileAdmission, FileFault, FileName, InspectedFile,
};
use crate::port::{BlobError, BlobStore, StagedBlob};

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

/// A file that was checked. Nothing of it is visible yet.
#[derive(Debug)]
pub(super) struct StagedFile {
    pub(super) name: FileName,
    pub(super) content_type: ContentType,
    pub(super) inspected: InspectedFile,
    pub(super) blob: Box<dyn StagedBlob>,
}

/// The files that have arrived. Dropping them discards what was staged.
#[derive(Debug)]
pub(super) struct StagedFiles {
    admission: FileAdmission,
    pub(super) staged: Vec<StagedFile>,
    /// The files for the Activity record, the faulty one too.
    pub(super) described: Vec<Value>,
}

impl StagedFiles {
    /// Beside files with these names. A stored name passed the rules when it was stored.
    pub(super) fn beside<'n>(names: impl Iterator<Item = &'n str>) -> Self {
        let names: Vec<FileName> = names.filter_map(|name| FileName::parse(name).ok()).collect();
        Self {
            admission: FileAdmission::beside(&names),
            staged: Vec::new(),
            described: Vec::new(),
        }
    }

    /// Checks and stages the next file while its pieces arrive.
    pub(super) async fn add<E>(
        &mut self,
        blobs: &dyn BlobStore,
        part: PartHead,
        pieces: impl Stream<Item = Result<Bytes, E>>,
    ) -> Result<(), E>
    where
        E: From<FileFault> + From<BlobError>,
    {
        let name = FileName::parse(&part.file_name.unwrap_or_default())?;
        self.admission.admit(&name)?;
        let declared = part.content_type.as_deref().unwrap_or(DEFAULT_PART_TYPE);
        let content_type = ContentType::declared(&name, declared)?;

        let mut received = 0;
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
}

/// Checks a file and stages it while its pieces arrive; `received` counts their bytes.
async fn stage<E>(
    store: &dyn BlobStore,
    name: FileName,
    content_type: ContentType,
    pieces: impl Stream<Item = Result<Bytes, E>>,
    received: &mut usize,
) -> Result<StagedFile, E>
where
    E: From<FileFault> + From<BlobError>,
{
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
