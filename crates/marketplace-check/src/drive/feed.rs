//! Reads the feed: in large pages from the oldest job, its beginning again in small ones, and beyond its end.

use std::collections::HashSet;

use bidloop_marketplace::percent_encode;

use super::Given;
use crate::caller::{Call, Caller};
use crate::observed::{Feed, FeedPage, ids_once};

/// The protocol's largest page.
const LARGE: usize = 500;
/// The most large pages, so that a check of a large marketplace ends.
const MOST_LARGE_PAGES: usize = 40;
/// How many jobs of the beginning are read again in small pages.
const READ_AGAIN: usize = 60;
/// The number of small pages that this takes.
const SMALL_PAGES: usize = 4;

pub(super) async fn read(caller: &mut Caller, given: &Given<'_>) -> Feed {
    let mut feed = Feed {
        large: walk(caller, given, LARGE, |pages| {
            pages.len() == MOST_LARGE_PAGES || pages.last().is_some_and(|page| page.has_more != Some(true))
        })
        .await,
        ..Feed::default()
    };
    feed.single = Some(page(caller, given, 1, None).await);
    let beginning: HashSet<String> = feed
        .ids()
        .iter()
        .take(READ_AGAIN)
        .map(|id| (*id).to_owned())
        .collect();
    if beginning.len() > 1 {
        let limit = (beginning.len() / SMALL_PAGES).max(1);
        let is_read = |pages: &[FeedPage]| {
            let ids = ids_once(pages);
            ids.iter().filter(|id| beginning.contains(**id)).count() == beginning.len()
                || pages.len() > 2 * beginning.len() / limit
        };
        feed.small = walk(caller, given, limit, is_read).await;
        if !is_read(&feed.small) {
            feed.large_again = Some(page(caller, given, LARGE, None).await);
        }
        if let Some(second) = feed.small.get(1) {
            feed.second_again = Some(page(caller, given, second.limit, second.after.clone()).await);
        }
    }
    if feed.is_read_to_its_end() {
        let mut after = feed.large.last().and_then(|page| page.cursor.clone());
        for _ in 0..2 {
            if after.is_none() {
                break;
            }
            let next = page(caller, given, LARGE, after.clone()).await;
            after.clone_from(&next.cursor);
            feed.at_end.push(next);
        }
    }
    let unknown = format!("no-such-cursor-{}", given.run);
    feed.unknown_cursor = Some(page(caller, given, LARGE, Some(unknown)).await.asked);
    feed
}

/// Reads pages until one has no usable cursor, brings nothing, or `is_enough`. Whether more are announced does not count.
async fn walk(
    caller: &mut Caller,
    given: &Given<'_>,
    limit: usize,
    is_enough: impl Fn(&[FeedPage]) -> bool,
) -> Vec<FeedPage> {
    let (mut pages, mut after) = (Vec::new(), None);
    loop {
        let next = page(caller, given, limit, after.clone()).await;
        let cursor = next.cursor.clone();
        let ends = cursor.is_none() || cursor == after || next.entries.is_empty();
        pages.push(next);
        if ends || is_enough(&pages) {
            return pages;
        }
        after = cursor;
    }
}

async fn page(caller: &mut Caller, given: &Given<'_>, limit: usize, after: Option<String>) -> FeedPage {
    let path = match &after {
        Some(cursor) => format!("/api/jobs?after={}&limit={limit}", percent_encode(cursor)),
        None => format!("/api/jobs?limit={limit}"),
    };
    let asked = caller.ask(Call::get(path).token(given.feed_token)).await;
    FeedPage::new(&asked, limit, after)
}
