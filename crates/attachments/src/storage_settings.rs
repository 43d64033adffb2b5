//! The storage in the setting `attachments.url`.

use std::path::PathBuf;
use std::sync::Arc;

use bidloop_domain::port::BlobStore;
use rustls::ClientConfig;

use crate::local_folder::{LocalFolder, OpenFolderError};
use crate::s3_bucket::S3Bucket;
use crate::storage_url::{StorageUrl, StorageUrlError};

/// The checked settings of a storage. Only the storage itself can still fail.
#[derive(Clone)]
pub struct StorageSettings(Storage);

#[derive(Clone)]
enum Storage {
    Folder(PathBuf),
    Bucket(S3Bucket),
}

/// Why the settings of a storage are refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StorageSettingsError {
    /// `attachments.url` is not valid.
    #[error(transparent)]
    Url(#[from] StorageUrlError),
    /// The settings of the bucket (the `AWS_*` variables) are not valid.
    #[error("the settings of the bucket: {0}")]
    Bucket(String),
    /// The endpoint is no URL.
    #[error("AWS_ENDPOINT_URL must be an address such as https://storage.example.com")]
    Endpoint,
    /// The endpoint is reached without TLS, and nothing permits that.
    #[error(
        "AWS_ENDPOINT_URL begins with http://: use an https:// address, or set AWS_ALLOW_HTTP=true if the network may \
         be trusted"
    )]
    PlainEndpoint,
    /// Another storage than AWS would be asked without credentials.
    #[error(
        "there are no credentials for AWS_ENDPOINT_URL: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or \
         AWS_SKIP_SIGNATURE=true for a bucket that takes requests without a signature"
    )]
    NoCredentials,
}

impl StorageSettings {
    /// Reads the setting `attachments.url`. Touches no disk and contacts no bucket.
    ///
    /// `aws_variables` are environment variables by name (`AWS_ACCESS_KEY_ID`, `AWS_REGION`, `AWS_ENDPOINT`,
    /// `AWS_ALLOW_HTTP` …); those with other names are ignored. `tls` is for connections to a bucket, and must
    /// not have ALPN protocols.
    pub fn parse(
        url: &str,
        aws_variables: impl IntoIterator<Item = (String, String)>,
        tls: Arc<ClientConfig>,
    ) -> Result<Self, StorageSettingsError> {
        match StorageUrl::parse(url)? {
            StorageUrl::Folder(folder) => Ok(Self::folder(folder)),
            StorageUrl::Bucket { name, prefix } => {
                let bucket = S3Bucket::new(&name, &prefix, aws_variables, tls)?;
                Ok(Self(Storage::Bucket(bucket)))
            }
        }
    }

    /// What is permitted, but an operator should know.
    pub fn warning(&self) -> Option<&'static str> {
        match &self.0 {
            Storage::Bucket(bucket) if bucket.asks_the_machine() => Some(
                "no credentials are set (AWS_ACCESS_KEY_ID …): they are asked of the machine's metadata service, which \
                 only machines at AWS have",
            ),
            _ => None,
        }
    }

    /// Whether attachments are in a bucket, which only a request shows to be there and to be ours.
    pub fn is_bucket(&self) -> bool {
        matches!(self.0, Storage::Bucket(_))
    }

    /// Attachments in this folder.
    pub fn folder(folder: impl Into<PathBuf>) -> Self {
        Self(Storage::Folder(folder.into()))
    }

    /// Opens the storage. Creates a missing folder, and removes staging files that a crash left. Does not contact a
    /// bucket.
    pub async fn open(self) -> Result<Arc<dyn BlobStore>, OpenFolderError> {
        Ok(match self.0 {
            Storage::Folder(folder) => Arc::new(LocalFolder::open(folder).await?),
            Storage::Bucket(bucket) => Arc::new(bucket),
        })
    }
}

/// Without the bucket's credentials.
impl std::fmt::Debug for StorageSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Storage::Folder(folder) => f.debug_tuple("Folder").field(folder).finish(),
            Storage::Bucket(_) => f.debug_tuple("Bucket").finish_non_exhaustive(),
        }
    }
}
