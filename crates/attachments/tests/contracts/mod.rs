//! The storage keeps the contract of `BlobStore`, in a folder and in a bucket.

use std::sync::Arc;

use bidloop_domain::port::BlobStore;
use bidloop_port_contracts::BlobBed;
use tempfile::TempDir;

use crate::fake_s3::FakeS3;
use crate::{open_bucket, open_folder};

/// A storage, and what must outlive it.
struct Bed<T> {
    storage: Arc<dyn BlobStore>,
    _place: T,
}

impl<T: Send + Sync + 'static> BlobBed for Bed<T> {
    fn blobs(&self) -> Arc<dyn BlobStore> {
        self.storage.clone()
    }
}

async fn folder_bed() -> Bed<TempDir> {
    let folder = TempDir::new().unwrap();
    Bed {
        storage: open_folder(folder.path()).await,
        _place: folder,
    }
}

async fn bucket_bed() -> Bed<FakeS3> {
    let s3 = FakeS3::start().await;
    Bed {
        storage: open_bucket(&s3, "s3://files/prefix").await,
        _place: s3,
    }
}

mod folder {
    bidloop_port_contracts::blob_store_contracts!(crate::contracts::folder_bed);
}

mod bucket {
    bidloop_port_contracts::blob_store_contracts!(crate::contracts::bucket_bed);
}
