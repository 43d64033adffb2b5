//! Attachments in a bucket of S3, or of a storage with the same protocol.
//!
//! Content is staged in an unnamed temporary file, which the system removes even after a crash, and uploaded when it is
//! published. A small file takes one request. A larger one is uploaded in parts and becomes visible as a whole with the
//! last request. Uploads take [turns](UploadTurns), so that their number does not decide how much memory they take.

use std::io::{Seek, SeekFrom};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bidloop_domain::port::{BlobError, BlobPath, BlobStore, StagedBlob};
use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt, future};
use object_store::ClientConfigKey;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::buffered::BufWriter as Upload;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, RetryConfig};
use rustls::ClientConfig;
use tokio::fs::File;
use tokio::io::{AsyncWriteExt, BufReader, BufWriter};

use crate::bucket_fault::{self, blob_error};
use crate::file_io::{BUFFER, off_the_runtime, staging_writer, unavailable};
use crate::hyper_connector::HyperConnector;
use crate::storage_settings::StorageSettingsError;
use crate::upload_turns::UploadTurns;

/// The smallest part that S3 accepts, except for the last one, in bytes. At most two parts of an upload are in memory: one
/// that is being uploaded and one that is being read.
const PART: usize = 5 * 1024 * 1024;

/// The ends of host names of AWS.
const AWS: [&str; 2] = [".amazonaws.com", ".amazonaws.com.cn"];

#[derive(Clone)]
pub(crate) struct S3Bucket {
    store: Arc<dyn ObjectStore>,
    prefix: String,
    asks_the_machine: bool,
    turns: Arc<UploadTurns>,
}

/// Refuses an endpoint that no request would reach, or that would refuse every request.
fn check_endpoint(builder: &AmazonS3Builder) -> Result<(), StorageSettingsError> {
    let of_s3 = builder.get_config_value(&AmazonS3ConfigKey::S3Endpoint);
    let Some(endpoint) = of_s3.or_else(|| builder.get_config_value(&AmazonS3ConfigKey::Endpoint)) else {
        return Ok(());
    };
    let Ok(url) = endpoint.parse::<hyper::Uri>() else {
        return Err(StorageSettingsError::Endpoint);
    };
    match url.scheme_str() {
        Some("https") => {}
        Some("http") if is_true(builder, AmazonS3ConfigKey::Client(ClientConfigKey::AllowHttp)) => {}
        Some("http") => return Err(StorageSettingsError::PlainEndpoint),
        _ => return Err(StorageSettingsError::Endpoint),
    }
    let is_of_aws = url
        .host()
        .is_some_and(|host| AWS.iter().any(|domain| host.ends_with(domain)));
    if asks_the_machine(builder) && !is_of_aws {
        return Err(StorageSettingsError::NoCredentials);
    }
    Ok(())
}

/// Whether no variable says where the credentials come from, so that the machine's metadata service is asked, which
/// machines at AWS have.
fn asks_the_machine(builder: &AmazonS3Builder) -> bool {
    use AmazonS3ConfigKey::{
        AccessKeyId, ContainerCredentialsFullUri, ContainerCredentialsRelativeUri, MetadataEndpoint,
        SecretAccessKey, SkipSignature, WebIdentityTokenFile,
    };
    let is_set = |key: AmazonS3ConfigKey| builder.get_config_value(&key).is_some();
    let sources = [
        AccessKeyId,
        SecretAccessKey,
        WebIdentityTokenFile,
        ContainerCredentialsRelativeUri,
        ContainerCredentialsFullUri,
        MetadataEndpoint,
    ];
    !is_true(builder, SkipSignature) && !sources.into_iter().any(is_set)
}

/// Reads a variable as the builder will.
fn is_true(builder: &AmazonS3Builder, key: AmazonS3ConfigKey) -> bool {
    let value = builder.get_config_value(&key).unwrap_or_default();
    ["1", "true", "on", "yes", "y"].contains(&value.to_ascii_lowercase().as_str())
}

/// Without the store, which holds the credentials.
impl std::fmt::Debug for S3Bucket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("S3Bucket")
            .field("prefix", &self.prefix)
            .finish_non_exhaustive()
    }
}

impl S3Bucket {
    /// Checks the settings. Does not contact the bucket.
    pub(crate) fn new(
        name: &str,
        prefix: &str,
        aws_variables: impl IntoIterator<Item = (String, String)>,
        tls: Arc<ClientConfig>,
    ) -> Result<Self, StorageSettingsError> {
        let mut builder = AmazonS3Builder::new();
        for (variable, value) in aws_variables {
            if let Ok(key) = variable.to_ascii_lowercase().parse::<AmazonS3ConfigKey>()
                && variable.starts_with("AWS_")
            {
                builder = builder.with_config(key, value);
            }
        }
        check_endpoint(&builder)?;
        let asks_the_machine = asks_the_machine(&builder);
        let store = builder
            .with_bucket_name(name)
            .with_http_connector(HyperConnector { tls })
            .with_retry(RetryConfig {
                max_retries: 3,
                retry_timeout: Duration::from_secs(30),
                ..RetryConfig::default()
            })
            // Not every storage with this protocol supports bulk deletion.
            .with_disable_bulk_delete(true)
            .build()
            .map_err(|error| StorageSettingsError::Bucket(error.to_string()))?;
        Ok(Self {
            store: Arc::new(store),
            prefix: prefix.to_owned(),
            asks_the_machine,
            turns: Arc::default(),
        })
    }

    /// Whether the credentials come from the metadata service of a machine at AWS.
    pub(crate) fn asks_the_machine(&self) -> bool {
        self.asks_the_machine
    }

    fn key_of(&self, path: &BlobPath) -> Path {
        Path::from(format!("{}/{}", self.prefix, path.as_str()))
    }
}

#[async_trait]
impl BlobStore for S3Bucket {
    async fn stage(&self) -> Result<Box<dyn StagedBlob>, BlobError> {
        let file = off_the_runtime(tempfile::tempfile).await.map_err(unavailable)?;
        Ok(Box::new(StagedUpload {
            bucket: self.clone(),
            file: staging_writer(file),
        }))
    }

    async fn read(&self, path: &BlobPath) -> Result<BoxStream<'static, Result<Bytes, BlobError>>, BlobError> {
        let blob = self.store.get(&self.key_of(path)).await.map_err(blob_error)?;
        Ok(blob.into_stream().map_err(blob_error).boxed())
    }

    async fn delete(&self, path: &BlobPath) -> Result<(), BlobError> {
        match self.store.delete(&self.key_of(path)).await.map_err(blob_error) {
            Err(BlobError::NotFound) => Ok(()),
            done => done,
        }
    }

    fn list(&self, folder: &BlobPath) -> BoxStream<'static, Result<BlobPath, BlobError>> {
        let root = Path::from(self.prefix.as_str());
        let objects = self.store.list(Some(&self.key_of(folder))).map_err(blob_error);
        let paths = objects.try_filter_map(move |object| {
            let below = object.location.prefix_match(&root).map(|segments| {
                let segments: Vec<_> = segments.map(|segment| segment.as_ref().to_owned()).collect();
                segments.join("/")
            });
            // What others put there is no blob.
            future::ready(Ok(below.as_deref().and_then(BlobPath::parse)))
        });
        paths.boxed()
    }
}

#[derive(Debug)]
struct StagedUpload {
    bucket: S3Bucket,
    file: BufWriter<File>,
}

#[async_trait]
impl StagedBlob for StagedUpload {
    async fn write(&mut self, piece: Bytes) -> Result<(), BlobError> {
        self.file.write_all(&piece).await.map_err(unavailable)
    }

    async fn publish(self: Box<Self>, path: &BlobPath) -> Result<(), BlobError> {
        let Self { bucket, mut file } = *self;
        let (key, owner) = (bucket.key_of(path), owner_of(path).to_owned());
        file.flush().await.map_err(unavailable)?;
        let mut file = file.into_inner().into_std().await;
        // A task of its own, so that a cancelled caller leaves no incomplete upload in the bucket.
        let published = tokio::spawn(async move {
            let (file, size) = off_the_runtime(move || {
                file.seek(SeekFrom::Start(0))?;
                let size = file.metadata()?.len();
                Ok((file, size))
            })
            .await?;
            let _turn = if size < PART as u64 {
                bucket.turns.of_small().await?
            } else {
                bucket.turns.of_large(owner).await?
            };
            upload(File::from_std(file), Arc::clone(&bucket.store), key).await
        });
        let published = published.await.map_err(std::io::Error::other);
        published
            .flatten()
            .map_err(|error| bucket_fault::unavailable(&error.to_string()))
    }
}

/// Whose turn an upload takes: the organization's, whose id is the first segment of an upload's path and the second of a
/// campaign's file.
fn owner_of(path: &BlobPath) -> &str {
    let mut segments = path.as_str().split('/');
    match (segments.next(), segments.next()) {
        (Some("campaigns"), Some(owner)) | (Some(owner), _) => owner,
        (None, _) => path.as_str(),
    }
}

async fn upload(file: File, store: Arc<dyn ObjectStore>, key: Path) -> std::io::Result<()> {
    let mut file = BufReader::with_capacity(BUFFER, file);
    let mut upload = Upload::with_capacity(store, key.clone(), PART).with_max_concurrency(1);
    if let Err(error) = tokio::io::copy_buf(&mut file, &mut upload).await {
        if let Err(error) = upload.abort().await {
            tracing::warn!(%key, %error, "parts of a broken upload are left in the bucket");
        }
        return Err(error);
    }
    // Completes the upload, or aborts it.
    upload.shutdown().await
}
