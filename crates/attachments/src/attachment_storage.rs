//! The one storage that the setting names, local or not.

use std::path::PathBuf;

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

/// Which storage: settings that make sense, so that nothing but the storage itself can still be in the way.
#[derive(Clone)]
pub struct StorageSettings {
    named: Named,
}

#[derive(Clone)]
enum Named {
    Folder(PathBuf),
    Bucket(S3Bucket),
}

/// What is wrong with the settings of a storage.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StorageSettingsError {
    /// The setting is no storage's address.
    #[error(transparent)]
    Url(#[from] StorageUrlError),
    /// The bucket's settings (the `AWS_*` variables) do not make sense.
    #[error("the settings of the bucket: {0}")]
    Bucket(String),
}

/// Why the storage cannot be opened: its folder cannot be made or written.
#[derive(Debug, thiserror::Error)]
#[error("the folder {folder}: {error}")]
pub struct OpenStorageError {
    /// The folder, as set.
    pub folder: String,
    /// What the system says.
    pub error: std::io::Error,
}

impl StorageSettings {
    /// Reads the setting `attachments.url`. Looks at no disk and contacts no bucket.
    ///
    /// `aws_variables` are environment variables by name (`AWS_ACCESS_KEY_ID`, `AWS_REGION`, `AWS_ENDPOINT`,
    /// `AWS_ALLOW_HTTP` …); those with other names are passed over.
    pub fn parse(
        url: &str,
        aws_variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, StorageSettingsError> {
        Ok(match StorageUrl::parse(url)? {
            StorageUrl::Folder(folder) => Self::folder(folder),
            StorageUrl::Bucket { name, prefix } => Self {
                named: Named::Bucket(S3Bucket::new(&name, &prefix, aws_variables)?),
            },
        })
    }

    /// Attachments in this folder.
    pub fn folder(folder: impl Into<PathBuf>) -> Self {
        Self {
            named: Named::Folder(folder.into()),
        }
    }
}

/// Without the bucket's credentials.
impl std::fmt::Debug for StorageSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.named {
            Named::Folder(folder) => f.debug_tuple("Folder").field(folder).finish(),
            Named::Bucket(_) => f.debug_tuple("Bucket").finish_non_exhaustive(),
        }
    }
}

/// A storage that can say whether it works.
#[async_trait]
pub(crate) trait Place: BlobStore {
    async fn probe(&self) -> Result<(), BlobError>;
}

impl AttachmentStorage {
    /// Opens the storage; a folder is made if it is not there, and what a crash left in its staging place is
    /// cleared away. A bucket is not contacted: that is [`AttachmentStorage::probe`]'s.
    pub async fn open(settings: StorageSettings) -> Result<Self, OpenStorageError> {
        let place: Box<dyn Place> = match settings.named {
            Named::Folder(folder) => Box::new(LocalFolder::open(folder).await?),
            Named::Bucket(bucket) => Box::new(bucket),
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
