//! The one storage that the setting names, local or not.

use async_trait::async_trait;
use bidloop_domain::port::{BlobError, BlobPath, BlobStore, StagedBlob};
use bytes::Bytes;
use futures::stream::BoxStream;

use crate::local_folder::LocalFolder;
use crate::s3_bucket::S3Bucket;
use crate::storage_url::{StorageUrl, StorageUrlError};

/// Stores attachments where the setting `attachments.url` says.
#[derive(Debug)]
pub struct AttachmentStorage {
    place: Box<dyn Place>,
}

/// Why the storage cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenStorageError {
    /// The setting is no storage's address.
    #[error(transparent)]
    Url(#[from] StorageUrlError),
    /// The folder cannot be made or written.
    #[error("the folder {folder}: {error}")]
    Folder {
        /// The folder, as set.
        folder: String,
        /// What the system says.
        error: std::io::Error,
    },
    /// The bucket's settings (the `AWS_*` variables) do not make sense.
    #[error("the settings of the bucket: {0}")]
    Bucket(String),
}

/// A storage that can say whether it works.
#[async_trait]
pub(crate) trait Place: BlobStore {
    async fn probe(&self) -> Result<(), BlobError>;
}

impl AttachmentStorage {
    /// Opens the storage that `url` names; a folder is made if it is not there, and what a crash left in its
    /// staging place is cleared away.
    ///
    /// `aws_variables` are environment variables by name (`AWS_ACCESS_KEY_ID`, `AWS_REGION`, `AWS_ENDPOINT`,
    /// `AWS_ALLOW_HTTP` …); those with other names are passed over. A bucket is not contacted: that is
    /// [`AttachmentStorage::probe`]'s.
    pub async fn open(
        url: &str,
        aws_variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, OpenStorageError> {
        let place: Box<dyn Place> = match StorageUrl::parse(url)? {
            StorageUrl::Folder(folder) => Box::new(LocalFolder::open(folder).await?),
            StorageUrl::Bucket { name, prefix } => Box::new(S3Bucket::open(&name, &prefix, aws_variables)?),
        };
        Ok(Self { place })
    }

    /// Writes and removes a small blob, to learn whether attachments can be stored now.
    ///
    /// # Errors
    ///
    /// [`BlobError::Unavailable`] with the reason.
    pub async fn probe(&self) -> Result<(), BlobError> {
        self.place.probe().await
    }
}

#[async_trait]
impl BlobStore for AttachmentStorage {
    async fn stage(&self) -> Result<Box<dyn StagedBlob>, BlobError> {
        self.place.stage().await
    }

    async fn read(&self, path: &BlobPath) -> Result<BoxStream<'static, Result<Bytes, BlobError>>, BlobError> {
        self.place.read(path).await
    }

    async fn delete(&self, path: &BlobPath) -> Result<(), BlobError> {
        self.place.delete(path).await
    }
}
