//! The feed: posts in publishing order, read in pages after a cursor.

use std::collections::VecDeque;
use std::sync::Arc;

/// A post of the feed.
#[derive(Debug, Clone)]
struct Entry {
    id: Arc<str>,
    post: Arc<str>,
}

/// The stored posts, oldest first.
///
/// A position counts all posts ever published. A cursor holds a position and the run of the simulator, so that a cursor of
/// an earlier run is refused instead of misread.
#[derive(Debug)]
pub(crate) struct Feed {
    run: u64,
    first: u64,
    entries: VecDeque<Option<Entry>>,
    live: usize,
}

/// A page of the feed.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) posts: Vec<Arc<str>>,
    pub(crate) cursor: String,
    pub(crate) has_more: bool,
}

impl Page {
    /// The page as JSON of the protocol. Posts are copied as text.
    pub(crate) fn to_json(&self) -> String {
        let length: usize = self.posts.iter().map(|post| post.len() + 1).sum();
        let mut text = String::with_capacity(length + 96);
        text.push_str("{\"jobs\":[");
        for (index, post) in self.posts.iter().enumerate() {
            if index > 0 {
                text.push(',');
            }
            text.push_str(post);
        }
        text.push_str("],\"cursor\":\"");
        text.push_str(&self.cursor);
        text.push_str(if self.has_more {
            "\",\"hasMore\":true}"
        } else {
            "\",\"hasMore\":false}"
        });
        text
    }
}

/// The cursor is of another run, malformed, or points before the oldest stored post.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct InvalidCursor;

const RUN_DIGITS: usize = 16;

impl Feed {
    pub(crate) fn new(run: u64) -> Self {
        Self {
            run,
            first: 0,
            entries: VecDeque::new(),
            live: 0,
        }
    }

    /// The number of stored posts.
    pub(crate) fn len(&self) -> usize {
        self.live
    }

    /// The number of posts ever published, repetitions included.
    pub(crate) fn published(&self) -> u64 {
        self.first + self.entries.len() as u64
    }

    /// Appends a post and returns its position.
    pub(crate) fn append(&mut self, id: Arc<str>, post: Arc<str>) -> u64 {
        let position = self.published();
        self.entries.push_back(Some(Entry { id, post }));
        self.live += 1;
        position
    }

    /// Removes the post at a position, because it has been published again.
    pub(crate) fn withdraw(&mut self, position: u64) {
        let slot = position
            .checked_sub(self.first)
            .and_then(|index| usize::try_from(index).ok())
            .and_then(|index| self.entries.get_mut(index));
        if let Some(slot) = slot
            && slot.take().is_some()
        {
            self.live -= 1;
        }
    }

    /// Removes the oldest post and returns its id.
    pub(crate) fn drop_oldest(&mut self) -> Option<Arc<str>> {
        while let Some(slot) = self.entries.pop_front() {
            self.first += 1;
            if let Some(entry) = slot {
                self.live -= 1;
                return Some(entry.id);
            }
        }
        None
    }

    pub(crate) fn page(&self, after: Option<&str>, limit: usize) -> Result<Page, InvalidCursor> {
        let start = match after {
            Some(cursor) => self.position(cursor)?,
            None => self.first,
        };
        let skip = usize::try_from(start - self.first).map_err(|_| InvalidCursor)?;
        let mut posts = Vec::with_capacity(limit.min(self.entries.len() - skip));
        let mut next = start;
        for slot in self.entries.range(skip..) {
            if posts.len() == limit {
                break;
            }
            next += 1;
            if let Some(entry) = slot {
                posts.push(Arc::clone(&entry.post));
            }
        }
        // A withdrawn post has always been published again further back, so a rest of any length holds at least one post.
        let has_more = next < self.published();
        Ok(Page {
            posts,
            cursor: format!("{:016x}{next:x}", self.run),
            has_more,
        })
    }

    /// The ids of the newest posts, newest first.
    pub(crate) fn newest(&self, limit: usize) -> Vec<Arc<str>> {
        self.entries
            .iter()
            .rev()
            .flatten()
            .take(limit)
            .map(|entry| Arc::clone(&entry.id))
            .collect()
    }

    fn position(&self, cursor: &str) -> Result<u64, InvalidCursor> {
        if !cursor.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(InvalidCursor);
        }
        let (run, position) = cursor.split_at_checked(RUN_DIGITS).ok_or(InvalidCursor)?;
        let run = u64::from_str_radix(run, 16).map_err(|_| InvalidCursor)?;
        let position = u64::from_str_radix(position, 16).map_err(|_| InvalidCursor)?;
        let known = run == self.run && (self.first..=self.published()).contains(&position);
        if known { Ok(position) } else { Err(InvalidCursor) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn feed_of(ids: &[&str]) -> Feed {
        let mut feed = Feed::new(9);
        for id in ids {
            feed.append(Arc::from(*id), Arc::from(format!("\"{id}\"")));
        }
        feed
    }

    #[test]
    fn a_withdrawn_post_is_passed_over() {
        let mut feed = feed_of(&["a", "b", "c"]);
        feed.withdraw(0);
        feed.append(Arc::from("a"), Arc::from("\"a2\""));
        let page = feed.page(None, 2).unwrap();
        assert_eq!(
            page.posts.iter().map(AsRef::as_ref).collect::<Vec<&str>>(),
            ["\"b\"", "\"c\""]
        );
        assert!(page.has_more);
        let page = feed.page(Some(&page.cursor), 2).unwrap();
        assert_eq!(page.posts[0].as_ref(), "\"a2\"");
        assert!(!page.has_more);
    }

    #[test]
    fn cursors_of_another_run_and_made_up_ones_are_refused() {
        let feed = feed_of(&["a"]);
        let foreign = Feed::new(8).page(None, 1).unwrap().cursor;
        for cursor in [
            foreign.as_str(),
            "",
            "x",
            "ééééééééé",
            "00000000000000092",
            "0000000000000009+1",
        ] {
            assert_eq!(feed.page(Some(cursor), 1).unwrap_err(), InvalidCursor, "{cursor}");
        }
    }

    #[test]
    fn a_cursor_before_the_oldest_kept_has_expired() {
        let mut feed = feed_of(&["a", "b", "c"]);
        let start = feed.page(None, 1).unwrap().cursor;
        feed.drop_oldest();
        assert_eq!(feed.page(Some(&start), 5).unwrap().posts.len(), 2);
        assert_eq!(feed.drop_oldest().as_deref(), Some("b"));
        assert_eq!(feed.page(Some(&start), 5).unwrap_err(), InvalidCursor);
        assert_eq!(feed.page(None, 5).unwrap().posts.len(), 1);
    }

    proptest! {
        /// Posts are published, repeated and removed: pages read to the end return each stored post once, in publishing
        /// order.
        #[test]
        fn reading_to_the_end_yields_every_post_once(repeated in prop::collection::vec(0u64..40, 0..30), limit in 1usize..9, dropped in 0usize..10) {
            let ids: Vec<String> = (0..40).map(|n| n.to_string()).collect();
            let mut feed = feed_of(&ids.iter().map(String::as_str).collect::<Vec<_>>());
            let mut at: Vec<u64> = (0..40).collect();
            for id in repeated {
                let slot = usize::try_from(id).unwrap();
                feed.withdraw(at[slot]);
                at[slot] = feed.append(Arc::from(id.to_string()), Arc::from(id.to_string()));
            }
            for _ in 0..dropped { feed.drop_oldest(); }
            let mut expected: Vec<(u64, usize)> = at.iter().copied().zip(0..).collect();
            expected.sort_unstable();
            let expected: Vec<String> = expected.into_iter().skip(dropped).map(|(_, id)| id.to_string()).collect();
            let mut read = Vec::new();
            let mut cursor: Option<String> = None;
            loop {
                let page = feed.page(cursor.as_deref(), limit).unwrap();
                prop_assert!(page.posts.len() == limit || !page.has_more);
                read.extend(page.posts.iter().map(|post| post.trim_matches('"').to_owned()));
                if !page.has_more { break; }
                prop_assert!(!page.posts.is_empty());
                cursor = Some(page.cursor);
            }
            prop_assert_eq!(read, expected);
        }
    }
}
