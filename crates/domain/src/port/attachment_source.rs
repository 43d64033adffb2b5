//! Where a provisioning file's attachments are read from.

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;

use crate::model::BlobRef;

/// Why a file cannot be read. The message is for the author of the provisioning file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AttachmentSourceError {
    /// There is nothing at that path.
    #[error("there is no such file")]
    NotFound,
    /// There is something that cannot be read: a folder, a file without permission, a failing disk.
    #[error("the file cannot be read: {0}")]
    Unreadable(String),
}

/// A file's content in pieces, in order.
pub type AttachmentPieces = BoxStream<'static, Result<Bytes, AttachmentSourceError>>;

/// Reads the files that a provisioning file names (contract section 3). Paths are relative to that file, or to the
/// working directory if it came from standard input.
#[async_trait]
pub trait AttachmentSource: Send + Sync + std::fmt::Debug {
    /// The content at `path`, if it is in the blob store already. It was checked before it was stored, and is neither read
    /// nor copied again.
    fn stored(&self, _path: &str) -> Option<BlobRef> {
        None
    }

    /// Opens the file at `path`, as the provisioning file wrote it. Memory use does not grow with its size.
    async fn open(&self, path: &str) -> Result<AttachmentPieces, AttachmentSourceError>;
}
