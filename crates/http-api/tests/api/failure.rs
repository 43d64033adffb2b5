//! Failures of the service: 500 without internals, and nothing stops working.

use std::sync::Arc;

use async_trait::async_trait;
use bidloop_domain::port::{BlobError, BlobPath, BlobStore, StagedBlob};
use bidloop_fakes::MemoryBlobStore;
use bytes::Bytes;
use futures::stream::BoxStream;

use crate::upload::{Form, request};
use crate::world::{World, address_of};

/// A storage with a fault of its own.
#[derive(Debug)]
enum FaultyBlobs {
    Panics,
    Loses,
}

#[async_trait]
impl BlobStore for FaultyBlobs {
    async fn stage(&self) -> Result<Box<dyn StagedBlob>, BlobError> {
        match self {
            Self::Panics => panic!("the secret is xyzzy"),
            Self::Loses => Err(BlobError::NotFound),
        }
    }

    async fn read(&self, _: &BlobPath) -> Result<BoxStream<'static, Result<Bytes, BlobError>>, BlobError> {
        Err(BlobError::NotFound)
    }

    async fn delete(&self, _: &BlobPath) -> Result<(), BlobError> {
        Ok(())
    }

    fn list(&self, _: &BlobPath) -> BoxStream<'static, Result<BlobPath, BlobError>> {
        Box::pin(futures::stream::empty())
    }
}

#[test]
fn a_panic_and_an_unforeseen_failure_are_500_without_internals() {
    for faulty in [FaultyBlobs::Panics, FaultyBlobs::Loses] {
        let world = World::with_blobs(Arc::new(faulty), MemoryBlobStore::new());
        for _ in 0..2 {
            let upload = request(&address_of(0, "attachments"), Form::new().text("a.txt").bytes());
            let answer = world.send(&upload);
            assert_eq!(answer.status, 500);
            assert_eq!(answer.json()["error"], "Internal Server Error");
            assert_eq!(answer.json()["statusCode"], 500);
            for internal in ["xyzzy", "panic", "blob", ".rs"] {
                assert!(!answer.message().contains(internal), "{}", answer.message());
            }
            assert_eq!(answer.header("retry-after"), None);
        }
        assert_eq!(
            world.get("/v1/campaigns/camp/leads").status,
            200,
            "the service goes on"
        );
    }
}
