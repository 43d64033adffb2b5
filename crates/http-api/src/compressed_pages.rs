//! [`CompressedPages`]: pages of leads, compressed for callers that ask for it.
//!
//! Compressing a page of a hundred leads takes many times as long as all else that is done for it. So a page that is asked
//! for again is kept compressed, by its content. A long one is compressed on a thread of its own, and few at once: while
//! all turns are taken, pages are sent as they are.

use std::sync::Arc;

use bidloop_domain::model::OrganizationId;
use bidloop_domain::use_case::Piece;
use bidloop_http_server::{ContentTag, gzip};
use bytes::Bytes;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

/// The most bytes that are kept.
const KEPT_BYTES: u64 = 16 * 1_048_576;
/// Roughly the size of a compressed page.
const USUAL_BYTES: u64 = 32 * 1024;
/// Pages up to this length are compressed where their request is served: a hand-over would take longer.
const SHORT_PAGE_BYTES: usize = 32 * 1024;
/// Pages that are compressed at once.
const TURNS: usize = 2;

/// Organizations never share an entry: a tag resists chance and not malice.
type Key = (OrganizationId, ContentTag);

#[derive(Debug, Clone)]
struct BytesOfPage;

impl Weighter<Key, Bytes> for BytesOfPage {
    fn weight(&self, _: &Key, page: &Bytes) -> u64 {
        page.len() as u64
    }
}

/// The pages that were compressed last.
#[derive(Debug)]
pub(crate) struct CompressedPages {
    kept: Cache<Key, Bytes, BytesOfPage>,
    turns: Arc<Semaphore>,
}

impl CompressedPages {
    pub(crate) fn new() -> Self {
        let usual = usize::try_from(KEPT_BYTES / USUAL_BYTES).unwrap_or_default();
        Self {
            kept: Cache::with_weighter(usual, KEPT_BYTES, BytesOfPage),
            turns: Arc::new(Semaphore::new(TURNS)),
        }
    }

    /// An organization's page with this tag, compressed; `None` if that has to wait.
    pub(crate) async fn page(
        &self,
        organization: &OrganizationId,
        tag: ContentTag,
        pieces: &[Piece],
        runtime: &Handle,
    ) -> Option<Bytes> {
        let key = (organization.clone(), tag);
        if let Some(kept) = self.kept.get(&key) {
            return Some(kept);
        }
        let compressed = if length_of(pieces) <= SHORT_PAGE_BYTES {
            compress(pieces)
        } else {
            let turn = Arc::clone(&self.turns).try_acquire_owned().ok()?;
            let pieces = pieces.to_vec();
            // The turn ends with the work, though the caller may be gone before.
            let work = move || {
                let _turn = turn;
                compress(&pieces)
            };
            runtime.spawn_blocking(work).await.ok()?
        };
        self.kept.insert(key, compressed.clone());
        Some(compressed)
    }
}

/// How many bytes of JSON the pieces are.
pub(crate) fn length_of(pieces: &[Piece]) -> usize {
    pieces.iter().map(|piece| piece.bytes().len()).sum()
}

fn compress(pieces: &[Piece]) -> Bytes {
    gzip(pieces.iter().map(Piece::bytes))
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    fn organization(id: &str) -> OrganizationId {
        OrganizationId::parse(id).unwrap()
    }

    fn tag_of(pieces: &[Piece]) -> ContentTag {
        ContentTag::of(pieces.iter().map(Piece::identity))
    }

    #[tokio::test]
    async fn a_page_is_compressed_once_for_each_organization() {
        let pages = CompressedPages::new();
        let pieces = [Piece::Own("a lead ".repeat(10_000).into())];
        let (tag, runtime) = (tag_of(&pieces), Handle::current());
        let of = |organization| pages.page(organization, tag, &pieces, &runtime);
        let (one, other) = (organization("one"), organization("other"));
        let first = of(&one).await.unwrap();
        assert!(first.len() < pieces[0].bytes().len() / 4);
        assert_eq!(of(&one).await.unwrap().as_ptr(), first.as_ptr(), "the same bytes");
        assert_ne!(of(&other).await.unwrap().as_ptr(), first.as_ptr());
    }

    #[tokio::test]
    async fn a_caller_that_is_gone_does_not_end_the_turn_of_its_page() {
        let pages = CompressedPages::new();
        // Compressing it takes a moment.
        let noise = (0..8_000_000_u32).map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes()[3]);
        let long = [Piece::Own(noise.collect::<Vec<u8>>().into())];
        let (one, runtime) = (organization("one"), Handle::current());
        let gone = pages.page(&one, tag_of(&long), &long, &runtime).now_or_never();
        assert_eq!(gone, None);
        assert_eq!(pages.turns.available_permits(), TURNS - 1);
        let _ended = pages.turns.acquire_many(2).await.unwrap();
    }

    #[tokio::test]
    async fn a_long_page_does_not_wait_for_others_and_a_short_one_needs_no_turn() {
        let pages = CompressedPages::new();
        let (long, short) = (
            [Piece::Own(vec![b'x'; 100_000].into())],
            [Piece::Own(vec![b'x'; 10_000].into())],
        );
        let (one, runtime) = (organization("one"), Handle::current());
        let turns = pages.turns.try_acquire_many(2).unwrap();
        assert_eq!(pages.page(&one, tag_of(&long), &long, &runtime).await, None);
        assert!(pages.page(&one, tag_of(&short), &short, &runtime).await.is_some());
        drop(turns);
        assert!(pages.page(&one, tag_of(&long), &long, &runtime).await.is_some());
    }
}
