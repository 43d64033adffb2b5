//! Uploaded attachments, and where their content is stored.

use serde::{Deserialize, Serialize};

use super::{AttachmentId, Timestamp};

/// Content in the blob store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BlobRef {
    /// Size in bytes.
    pub size_bytes: u64,
    /// SHA-256 of the content, 64 lower-case hexadecimal digits.
    pub sha256: String,
    /// The content's path in the blob store.
    pub storage_path: String,
}

/// A file uploaded for one lead's proposal (specification, `LeadAttachment`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LeadAttachment {
    /// Unique in the installation.
    pub id: AttachmentId,
    /// The file's name, as the caller gave it.
    pub original_name: String,
    /// The name without path, control or reserved characters (decision A9).
    pub safe_name: String,
    /// One of the accepted content types.
    pub content_type: String,
    /// The stored content.
    #[serde(flatten)]
    pub blob: BlobRef,
    /// When it was uploaded.
    pub created_at: Timestamp,
}

/// A file to send with a proposal. A campaign has some; an accepted bid freezes the lead's uploads or, without any, the
/// campaign's files (decision B4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProposalFile {
    /// The file's name at the marketplace.
    pub name: String,
    /// One of the accepted content types.
    pub content_type: String,
    /// The stored content.
    #[serde(flatten)]
    pub blob: BlobRef,
}

impl From<LeadAttachment> for ProposalFile {
    /// The marketplace gets the name that is safe everywhere.
    fn from(upload: LeadAttachment) -> Self {
        Self {
            name: upload.safe_name,
            content_type: upload.content_type,
            blob: upload.blob,
        }
    }
}
