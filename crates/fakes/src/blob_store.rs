//! Blobs in memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bidloop_domain::port::{BlobError, BlobPath, BlobStore, StagedBlob};
use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use futures::stream::{self, BoxStream};

use crate::locked;

/// The size of the pieces in which a blob is read.
const PIECE_BYTES: usize = 64 * 1024;

/// Blobs by path.
///
/// ```
/// use bidloop_domain::port::{BlobPath, BlobStore};
/// use bidloop_fakes::MemoryBlobStore;
///
/// # futures::executor::block_on(async {
/// let blobs = MemoryBlobStore::new();
/// let path = BlobPath::parse("leads/ld_1/offer.pdf").unwrap();
/// let mut staged = blobs.stage().await?;
/// staged.write("offer".into()).await?;
/// assert!(blobs.paths().is_empty());
/// staged.publish(&path).await?;
/// assert_eq!(blobs.content(&path).as_deref(), Some(&b"offer"[..]));
/// # Ok::<(), bidloop_domain::port::BlobError>(())
/// # }).unwrap();
/// ```
#[derive(Debug, Clone, Default)]
pub struct MemoryBlobStore {
    storage: Arc<Mutex<Storage>>,
}

#[derive(Debug, Default)]
struct Storage {
    blobs: BTreeMap<BlobPath, Bytes>,
    away: bool,
}

impl MemoryBlobStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// Where something is published.
    pub fn paths(&self) -> Vec<BlobPath> {
        locked(&self.storage).blobs.keys().cloned().collect()
    }

    /// What is published there.
    pub fn content(&self, path: &BlobPath) -> Option<Bytes> {
        locked(&self.storage).blobs.get(path).cloned()
    }

    /// Takes the storage away (every call answers [`BlobError::Unavailable`]) or brings it back.
    pub fn set_available(&self, available: bool) {
        locked(&self.storage).away = !available;
    }

    fn present(storage: &Mutex<Storage>) -> Result<std::sync::MutexGuard<'_, Storage>, BlobError> {
        let storage = locked(storage);
        if storage.away {
            return Err(BlobError::Unavailable(
                "the memory storage was taken away".to_owned(),
            ));
        }
        Ok(storage)
    }
}

#[async_trait]
impl BlobStore for MemoryBlobStore {
    async fn stage(&self) -> Result<Box<dyn StagedBlob>, BlobError> {
        drop(Self::present(&self.storage)?);
        Ok(Box::new(MemoryStagedBlob {
            storage: self.storage.clone(),
            written: BytesMut::new(),
        }))
    }

    async fn read(&self, path: &BlobPath) -> Result<BoxStream<'static, Result<Bytes, BlobError>>, BlobError> {
        let content = Self::present(&self.storage)?
            .blobs
            .get(path)
            .cloned()
            .ok_or(BlobError::NotFound)?;
        let pieces = (0..content.len().div_ceil(PIECE_BYTES)).map(move |index| {
            let start = index * PIECE_BYTES;
            Ok(content.slice(start..content.len().min(start + PIECE_BYTES)))
        });
        Ok(stream::iter(pieces).boxed())
    }

    async fn delete(&self, path: &BlobPath) -> Result<(), BlobError> {
        Self::present(&self.storage)?.blobs.remove(path);
        Ok(())
    }

    fn list(&self, folder: &BlobPath) -> BoxStream<'static, Result<BlobPath, BlobError>> {
        let below = format!("{}/", folder.as_str());
        let found: Vec<_> = match Self::present(&self.storage) {
            Ok(storage) => {
                let paths = storage.blobs.keys();
                let found = paths.filter(|path| path.as_str().starts_with(&below));
                found.cloned().map(Ok).collect()
            }
            Err(away) => vec![Err(away)],
        };
        stream::iter(found).boxed()
    }
}

#[derive(Debug)]
struct MemoryStagedBlob {
    storage: Arc<Mutex<Storage>>,
    written: BytesMut,
}

#[async_trait]
impl StagedBlob for MemoryStagedBlob {
    async fn write(&mut self, piece: Bytes) -> Result<(), BlobError> {
        drop(MemoryBlobStore::present(&self.storage)?);
        self.written.extend_from_slice(&piece);
        Ok(())
    }

    async fn publish(self: Box<Self>, path: &BlobPath) -> Result<(), BlobError> {
        let this = *self;
        MemoryBlobStore::present(&this.storage)?
            .blobs
            .insert(path.clone(), this.written.freeze());
        Ok(())
    }
}
