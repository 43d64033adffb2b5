//! [`BodiesInFlight`]: the bytes of bodies that the service holds, shared fairly among keys and organizations
//! ([`BytePool`]).
//!
//! The interface has no rate limit. This is the limit of what fits at once: beyond it, a request is answered 503 and may
//! be repeated (decision A3). A request's body counts as it arrives, whatever length it declares, until the request is
//! answered. A page of leads counts until it is written, as fast as the caller reads.

use std::panic::resume_unwind;
use std::sync::Arc;

use bidloop_domain::use_case::{Caller, LeadError};
use bytes::Bytes;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use bidloop_http_server::{BytePool, ByteShare, NoRoom, SHORT_BODY_BYTES};

use crate::compressed_pages::CompressedPages;

const MB: u64 = 1_048_576;

/// The most bytes of bodies at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodyLimits {
    /// Bids and rejections, which are held in memory. While one is read, its buffer and its parsed texts take up to four
    /// times its length.
    pub json_bytes: u64,
    /// Uploads, which are staged on disk, or in the parts of an upload to a bucket.
    pub upload_bytes: u64,
    /// Pages of leads that callers have not read yet, which are held in memory.
    pub page_bytes: u64,
}

impl BodyLimits {
    /// 32 MB of JSON: ten of the largest bodies, or thousands of usual ones. 2 GB of files: sixteen of the largest uploads.
    /// 128 MB of pages: hundreds of them, each with a hundred leads.
    pub const DEFAULT: Self = Self {
        json_bytes: 32 * MB,
        upload_bytes: 2_048 * MB,
        page_bytes: 128 * MB,
    };
}

/// The bodies of all requests of a process. Clones share them.
#[derive(Debug, Clone)]
pub(crate) struct BodiesInFlight {
    pub(crate) json: Arc<BytePool>,
    pub(crate) uploads: Arc<BytePool>,
    pub(crate) pages: Arc<BytePool>,
    pub(crate) compressed_pages: Arc<CompressedPages>,
    /// Permits parsing a long body: one at a time.
    long_bodies: Arc<Semaphore>,
}

impl BodiesInFlight {
    pub(crate) fn new(limits: BodyLimits) -> Self {
        Self {
            json: BytePool::of(limits.json_bytes),
            uploads: BytePool::of(limits.upload_bytes),
            pages: BytePool::of(limits.page_bytes),
            compressed_pages: Arc::new(CompressedPages::new()),
            long_bodies: Arc::new(Semaphore::new(1)),
        }
    }

    /// Parses a body. A short one takes less than a millisecond, where its request is served. Long ones take turns on a
    /// thread of their own, so that they delay each other and not the use cases, which share a few threads.
    pub(crate) async fn parse<T: Send + 'static>(
        &self,
        body: Bytes,
        parse: fn(&[u8]) -> Result<T, LeadError>,
    ) -> Result<T, LeadError> {
        if body.len() <= SHORT_BODY_BYTES {
            return parse(&body);
        }
        let _turn = self.long_bodies.acquire().await;
        match spawn_blocking(move || parse(&body)).await {
            Ok(parsed) => parsed,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                // The process is stopping.
                Err(_) => Err(LeadError::Overloaded),
            },
        }
    }
}

/// What one request holds, which counts to its key.
pub(crate) fn share_of(pool: &Arc<BytePool>, caller: &Caller) -> ByteShare {
    pool.share_of(caller.organization_id.clone(), caller.key_id.clone())
}

/// There is no room for more (decision A3).
pub(crate) fn overloaded(_: NoRoom) -> LeadError {
    LeadError::Overloaded
}
