//! Attachments in a bucket of S3, or of a storage that speaks its protocol.
//!
//! Content is staged in a nameless file of this machine's temporary folder, which the system itself removes
//! whatever happens; publishing streams it up. A small file is one request; a larger one goes up in parts and
//! becomes visible, whole, when the last request completes it.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bidloop_domain::port::{BlobError, BlobPath, BlobStore, StagedBlob};
use bytes::{Bytes, BytesMut};
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::path::Path;
use object_store::{MultipartUpload, ObjectStore, ObjectStoreExt, PutPayload, RetryConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufWriter};

use crate::attachment_storage::{Place, StorageSettingsError};
use crate::hyper_connector::HyperConnector;
use crate::local_folder::{off_the_runtime, unavailable};

/// The least that S3 takes as a part other than the last, and the most that is held in memory of a file.
const PART: usize = 5 * 1024 * 1024;

/// Bytes gathered before one trip to a thread that may block.
const WRITE_BUFFER: usize = 256 * 1024;

#[derive(Debug, Clone)]
pub(crate) struct S3Bucket {
    store: Arc<dyn ObjectStore>,
    prefix: String,
}

impl S3Bucket {
    /// Contacts nobody yet.
    pub(crate) fn new(
        name: &str,
        prefix: &str,
        aws_variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, StorageSettingsError> {
        let mut builder = AmazonS3Builder::new();
        for (variable, value) in aws_variables {
            if let Ok(key) = variable.to_ascii_lowercase().parse::<AmazonS3ConfigKey>()
                && variable.starts_with("AWS_")
            {
                builder = builder.with_config(key, value);
            }
        }
        let store = builder
            .with_bucket_name(name)
            .with_http_connector(HyperConnector)
            .with_retry(RetryConfig {
                max_retries: 3,
                retry_timeout: Duration::from_secs(30),
                ..RetryConfig::default()
            })
            // Not every storage that speaks the protocol knows the bulk form.
            .with_disable_bulk_delete(true)
            .build()
            .map_err(|error| StorageSettingsError::Bucket(error.to_string()))?;
        Ok(Self {
            store: Arc::new(store),
            prefix: prefix.to_owned(),
        })
    }

    fn key_of(&self, path: &BlobPath) -> Path {
        if self.prefix.is_empty() {
            Path::from(path.as_str())
        } else {
            Path::from(format!("{}/{}", self.prefix, path.as_str()))
        }
    }
}

#[async_trait]
impl BlobStore for S3Bucket {
    async fn stage(&self) -> Result<Box<dyn StagedBlob>, BlobError> {
        let file = off_the_runtime(tempfile::tempfile)
            .await
            .and_then(|made| made)
            .map_err(unavailable)?;
        Ok(Box::new(StagedUpload {
            store: Arc::clone(&self.store),
            prefix: self.prefix.clone(),
            size: 0,
            file: BufWriter::with_capacity(WRITE_BUFFER, tokio::fs::File::from_std(file)),
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
}

#[async_trait]
impl Place for S3Bucket {
    async fn probe(&self) -> Result<(), BlobError> {
        let path = BlobPath::parse("bidloop-probe").ok_or(BlobError::NotFound)?;
        let key = self.key_of(&path);
        let stored = self.store.put(&key, PutPayload::from_static(b"probe")).await;
        stored.map_err(|error| BlobError::Unavailable(error.to_string()))?;
        self.delete(&path).await
    }
}

#[derive(Debug)]
struct StagedUpload {
    store: Arc<dyn ObjectStore>,
    prefix: String,
    size: usize,
    file: BufWriter<tokio::fs::File>,
}

#[async_trait]
impl StagedBlob for StagedUpload {
    async fn write(&mut self, piece: Bytes) -> Result<(), BlobError> {
        self.file.write_all(&piece).await.map_err(unavailable)?;
        self.size += piece.len();
        Ok(())
    }

    async fn publish(self: Box<Self>, path: &BlobPath) -> Result<(), BlobError> {
        let Self {
            store,
            prefix,
            size,
            mut file,
        } = *self;
        let key = S3Bucket {
            store: Arc::clone(&store),
            prefix,
        }
        .key_of(path);
        file.flush().await.map_err(unavailable)?;
        let file = file.into_inner().into_std().await;
        // On a task of its own: a caller that goes away leaves no half-done upload in the bucket.
        let published = tokio::spawn(async move {
            let file = rewound(file).await?;
            if size <= PART {
                publish_at_once(store.as_ref(), &key, file).await
            } else {
                publish_in_parts(store.as_ref(), &key, file).await
            }
        });
        published
            .await
            .map_err(|error| BlobError::Unavailable(error.to_string()))?
    }
}

async fn rewound(mut file: File) -> Result<tokio::fs::File, BlobError> {
    let rewound = off_the_runtime(move || file.seek(SeekFrom::Start(0)).map(|_| file));
    let file = rewound.await.and_then(|done| done).map_err(unavailable)?;
    Ok(tokio::fs::File::from_std(file))
}

async fn publish_at_once(
    store: &dyn ObjectStore,
    key: &Path,
    mut file: tokio::fs::File,
) -> Result<(), BlobError> {
    let content = next_part(&mut file).await?;
    store
        .put(key, PutPayload::from_bytes(content))
        .await
        .map_err(upload_failed)?;
    Ok(())
}

async fn publish_in_parts(
    store: &dyn ObjectStore,
    key: &Path,
    mut file: tokio::fs::File,
) -> Result<(), BlobError> {
    let mut upload = store.put_multipart(key).await.map_err(upload_failed)?;
    let uploaded = upload_parts(upload.as_mut(), &mut file).await;
    if uploaded.is_err()
        && let Err(error) = upload.abort().await
    {
        tracing::warn!(%key, %error, "parts of a broken upload are left in the bucket");
    }
    uploaded
}

async fn upload_parts(upload: &mut dyn MultipartUpload, file: &mut tokio::fs::File) -> Result<(), BlobError> {
    loop {
        let part = next_part(file).await?;
        if part.is_empty() {
            upload.complete().await.map_err(upload_failed)?;
            return Ok(());
        }
        // One after the other: a part is all of the file that is in memory.
        upload
            .put_part(PutPayload::from_bytes(part))
            .await
            .map_err(upload_failed)?;
    }
}

/// The next [`PART`] bytes, fewer at the end of the file.
async fn next_part(file: &mut tokio::fs::File) -> Result<Bytes, BlobError> {
    let mut part = BytesMut::new();
    let mut rest = file.take(PART as u64);
    while rest.read_buf(&mut part).await.map_err(unavailable)? > 0 {
        part.reserve(WRITE_BUFFER);
    }
    Ok(part.freeze())
}

/// A bucket that is not there is answered as a blob that is not.
#[expect(clippy::needless_pass_by_value, reason = "map_err hands the error over")]
fn upload_failed(error: object_store::Error) -> BlobError {
    BlobError::Unavailable(error.to_string())
}

fn blob_error(error: object_store::Error) -> BlobError {
    match error {
        object_store::Error::NotFound { .. } => BlobError::NotFound,
        other => upload_failed(other),
    }
}
