//! Posts as listed leads show them, kept in memory.
//!
//! They are kept by the sequence number of the job's content, which no other content ever has. So nothing that is kept
//! can be out of date.

use std::sync::atomic::{AtomicU64, Ordering};

use quick_cache::Weighter;
use quick_cache::sync::Cache;

use crate::model::PostFields;

/// What a post takes beside its bytes, about.
const OVERHEAD: u64 = 256;
/// The usual size of a post, for a first guess of how many there will be.
const USUAL_BYTES: u64 = 4_096;

/// The posts of a process, up to a number of bytes. Those that are used again stay longest.
#[derive(Debug)]
pub struct PostCache {
    posts: Cache<i64, PostFields, Bytes>,
    hits: AtomicU64,
    misses: AtomicU64,
}

impl PostCache {
    /// 16 MiB: some 6,000 usual posts.
    pub const DEFAULT_BYTES: u64 = 16 * 1_048_576;

    /// Keeps at most so many bytes. With 0 it keeps nothing.
    pub fn new(bytes: u64) -> Self {
        let posts = usize::try_from(bytes / USUAL_BYTES).unwrap_or(usize::MAX);
        Self {
            posts: Cache::with_weighter(posts, bytes, Bytes),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }

    /// How many bytes it holds.
    pub fn bytes(&self) -> u64 {
        self.posts.weight()
    }

    /// How many posts were found in it.
    pub fn hits(&self) -> u64 {
        self.hits.load(Ordering::Relaxed)
    }

    /// How many posts were not found in it.
    pub fn misses(&self) -> u64 {
        self.misses.load(Ordering::Relaxed)
    }

    /// The posts of these contents, each as far as it is kept.
    pub(super) fn posts(&self, seqs: impl Iterator<Item = i64>) -> Vec<Option<PostFields>> {
        let posts: Vec<_> = seqs.map(|seq| self.posts.get(&seq)).collect();
        let hits = posts.iter().flatten().count();
        self.hits.fetch_add(hits as u64, Ordering::Relaxed);
        self.misses
            .fetch_add((posts.len() - hits) as u64, Ordering::Relaxed);
        posts
    }

    /// Keeps the post of a content.
    pub(super) fn keep(&self, seq: i64, post: &PostFields) {
        self.posts.insert(seq, post.clone());
    }
}

impl Default for PostCache {
    fn default() -> Self {
        Self::new(Self::DEFAULT_BYTES)
    }
}

/// Weighs a post in bytes.
#[derive(Debug, Clone)]
struct Bytes;

impl Weighter<i64, PostFields> for Bytes {
    fn weight(&self, _: &i64, post: &PostFields) -> u64 {
        post.size() as u64 + OVERHEAD
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn post(title: &str) -> PostFields {
        let json = format!(
            r#"{{"id":"1","title":"{title}","description":"","url":"/jobs/~1","postedAt":1790000000000}}"#
        );
        PostFields::of(&json).unwrap()
    }

    #[test]
    fn a_post_is_kept_under_its_contents_number() {
        let cache = PostCache::default();
        cache.keep(7, &post("Seven"));
        assert_eq!(cache.posts([7, 8].into_iter()), [Some(post("Seven")), None]);
        assert_eq!((cache.hits(), cache.misses()), (1, 1));
        assert!(cache.bytes() > post("Seven").json().len() as u64);
    }

    #[test]
    fn it_never_holds_more_bytes_than_it_may() {
        let (bytes, long) = (1_048_576, post(&"x".repeat(10_000)));
        let cache = PostCache::new(bytes);
        for seq in 0..1_000 {
            cache.keep(seq, &long);
            assert!(cache.bytes() <= bytes, "{seq}");
        }
        assert!(cache.bytes() > bytes / 2, "{}", cache.bytes());
        let nothing = PostCache::new(0);
        nothing.keep(1, &long);
        assert_eq!((nothing.bytes(), nothing.posts([1].into_iter())), (0, vec![None]));
    }

    #[test]
    fn a_post_that_is_larger_than_the_cache_is_not_kept() {
        let cache = PostCache::new(65_536);
        cache.keep(1, &post(&"x".repeat(100_000)));
        cache.keep(2, &post("Small"));
        assert_eq!(cache.posts([1, 2].into_iter()), [None, Some(post("Small"))]);
    }
}
