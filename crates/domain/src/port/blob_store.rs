//! Storage for the bytes of attachments.

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;

/// A path in a [`BlobStore`]: segments of `A-Z a-z 0-9 _ - .` joined by `/`, never starting with a dot.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlobPath(String);

impl BlobPath {
    /// Checks `path`; `None` if a segment is empty, starts with a dot or holds another character.
    ///
    /// ```
    /// use bidloop_domain::port::BlobPath;
    ///
    /// assert!(BlobPath::parse("leads/ld_1/0b9f-offer.pdf").is_some());
    /// assert!(BlobPath::parse("../etc/passwd").is_none());
    /// ```
    pub fn parse(path: &str) -> Option<Self> {
        let segment_is_safe = |segment: &str| {
            !segment.is_empty()
                && !segment.starts_with('.')
                && segment
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
        };
        path.split('/')
            .all(segment_is_safe)
            .then(|| Self(path.to_owned()))
    }

    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Why a blob operation failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BlobError {
    /// Nothing is stored there.
    #[error("no such blob")]
    NotFound,
    /// The storage cannot be reached or is full; the same call may succeed later. The text is for the log.
    #[error("attachment storage is unavailable: {0}")]
    Unavailable(String),
}

/// Stores blobs, whole or not at all.
#[async_trait]
pub trait BlobStore: Send + Sync + std::fmt::Debug {
    /// Starts a blob. Nothing of it is visible under a path before [`StagedBlob::publish`].
    async fn stage(&self) -> Result<Box<dyn StagedBlob>, BlobError>;

    /// Returns the blob's content in pieces. Memory use does not grow with its size.
    async fn read(&self, path: &BlobPath) -> Result<BoxStream<'static, Result<Bytes, BlobError>>, BlobError>;

    /// Removes the blob. A blob that does not exist is not an error.
    async fn delete(&self, path: &BlobPath) -> Result<(), BlobError>;

    /// The blobs whose paths begin with the segments of `folder`, in no particular order. Blobs that are published or
    /// deleted meanwhile are listed or not. Memory use does not grow with their number.
    fn list(&self, folder: &BlobPath) -> BoxStream<'static, Result<BlobPath, BlobError>>;
}

/// A blob that is being written. Dropping it discards what was written.
#[async_trait]
pub trait StagedBlob: Send + std::fmt::Debug {
    /// Appends a piece.
    async fn write(&mut self, piece: Bytes) -> Result<(), BlobError>;

    /// Makes the content durable and visible under `path`, replacing what was there.
    async fn publish(self: Box<Self>, path: &BlobPath) -> Result<(), BlobError>;
}
