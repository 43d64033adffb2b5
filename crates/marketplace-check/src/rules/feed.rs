//! The feed: pages, jobs, cursors.

use std::collections::HashSet;

use bidloop_domain::model::JobAddress;

use super::{Flaw, Judgement, answered, broken, not_tried};
use crate::observed::{Entry, Feed, FeedPage, Observed, ids_once};

/// 1 January 2000. A moment before it is not in milliseconds.
pub(super) const EARLIEST_MS: i64 = 946_684_800_000;
/// How far a marketplace's clock may be ahead of this machine's.
pub(super) const CLOCK_DIFFERENCE_MS: i64 = 10 * 60 * 1000;

pub(super) fn page(seen: &Observed) -> Judgement {
    let Some(first) = seen.feed.pages().next() else {
        return Err(not_tried("the feed was not read"));
    };
    answered(&first.asked)?;
    for page in seen.feed.pages().chain(&seen.feed.at_end) {
        // What the end of the feed must answer is the rule `feed.end`.
        if page.asked.outcome.is_err() || (!page.is_answered && !seen.feed.at_end.is_empty()) {
            continue;
        }
        let expected = format!("{} → 200 {{\"jobs\", \"cursor\", \"hasMore\"}}", page.asked.call);
        if !page.is_answered {
            return broken(expected, page.asked.shown());
        }
        if !page.faults.is_empty() {
            return broken(
                expected,
                format!("{}: {}", page.asked.call, page.faults.join("; ")),
            );
        }
    }
    Ok(())
}

/// The jobs of the feed, if it holds any.
fn entries(feed: &Feed) -> Result<Vec<&Entry>, Flaw> {
    let entries: Vec<&Entry> = feed.entries().collect();
    if entries.is_empty() {
        return Err(not_tried("no job was read from the feed: publish some"));
    }
    Ok(entries)
}

pub(super) fn job_shape(seen: &Observed) -> Judgement {
    match entries(&seen.feed)?.iter().find(|entry| !entry.faults.is_empty()) {
        Some(entry) => broken(
            "a JobPost",
            format!("{}: {}", entry.name(), entry.faults.join("; ")),
        ),
        None => Ok(()),
    }
}

pub(super) fn job_url(seen: &Observed) -> Judgement {
    let urls = entries(&seen.feed)?
        .into_iter()
        .filter_map(|entry| Some((entry, entry.url.as_ref()?)));
    let mut faulty = urls.filter(|(_, url)| JobAddress::parse(url).is_err());
    match faulty.next() {
        Some((entry, url)) => broken(
            "a path, or an http or https address",
            format!("{}: {url:?}", entry.name()),
        ),
        None => Ok(()),
    }
}

pub(super) fn times(seen: &Observed) -> Judgement {
    let times = entries(&seen.feed)?
        .into_iter()
        .filter_map(|entry| Some((entry, entry.posted_at?)));
    for (entry, at) in times {
        if let Some(fault) = implausible(at, seen.now) {
            return broken(
                format!(
                    "a moment in UNIX milliseconds that has passed; now is {}",
                    seen.now
                ),
                format!("{}: postedAt {at}, {fault}", entry.name()),
            );
        }
    }
    Ok(())
}

/// Why a number can be no moment of the past in milliseconds.
pub(super) fn implausible(at: i64, now: i64) -> Option<&'static str> {
    match at {
        _ if at < 0 => Some("before 1970"),
        _ if at < EARLIEST_MS => Some("which looks like seconds"),
        _ if at > now * 100 => Some("which looks like microseconds"),
        _ if at > now + CLOCK_DIFFERENCE_MS => Some("which is still to come"),
        _ => None,
    }
}

pub(super) fn unique_ids(seen: &Observed) -> Judgement {
    entries(&seen.feed)?;
    for page in seen.feed.pages() {
        let mut ids = HashSet::new();
        if let Some(twice) = page.ids().find(|id| !ids.insert(*id)) {
            return broken(
                "each id once on a page",
                format!("{}: {twice} twice", page.asked.call),
            );
        }
    }
    Ok(())
}

pub(super) fn order(seen: &Observed) -> Judgement {
    let mut ids = HashSet::new();
    let entries = seen.feed.large.iter().flat_map(|page| &page.entries);
    let posted: Vec<(&Entry, i64)> = entries
        .filter(|entry| entry.id.as_ref().is_some_and(|id| ids.insert(id)))
        .filter_map(|entry| Some((entry, entry.posted_at?)))
        .collect();
    let times: Vec<i64> = posted.iter().map(|(_, at)| *at).collect();
    if times.iter().collect::<HashSet<_>>().len() < 2 {
        return Err(not_tried("the feed holds fewer than two jobs of different age"));
    }
    let out_of_place = times.len() - longest_ascending(&times);
    if out_of_place * 10 <= times.len() {
        return Ok(());
    }
    let mut pairs = posted.iter().zip(posted.iter().skip(1));
    let Some(((older, at), (newer, then))) = pairs.find(|((_, at), (_, then))| at > then) else {
        return Ok(());
    };
    broken(
        "postedAt that does not fall from job to job",
        format!(
            "{} ({at}) before {} ({then}); {out_of_place} of {} jobs are out of place",
            older.name(),
            newer.name(),
            times.len()
        ),
    )
}

/// The length of the longest subsequence that does not fall.
fn longest_ascending(times: &[i64]) -> usize {
    // The least last element of a subsequence of each length.
    let mut ends: Vec<i64> = Vec::new();
    for time in times {
        let place = ends.partition_point(|end| end <= time);
        match ends.get_mut(place) {
            Some(end) => *end = *time,
            None => ends.push(*time),
        }
    }
    ends.len()
}

pub(super) fn limit(seen: &Observed) -> Judgement {
    entries(&seen.feed)?;
    match seen.feed.pages().find(|page| page.entries.len() > page.limit) {
        Some(page) => broken(
            format!("at most {} jobs", page.limit),
            format!("{}: {} jobs", page.asked.call, page.entries.len()),
        ),
        None => Ok(()),
    }
}

/// The walks of which more than one page was read.
fn walks(feed: &Feed) -> Result<Vec<&[FeedPage]>, Flaw> {
    let walks: Vec<&[FeedPage]> = [feed.large.as_slice(), &feed.small]
        .into_iter()
        .filter(|walk| walk.len() > 1 && walk.iter().all(|page| page.is_answered))
        .collect();
    if walks.is_empty() {
        return Err(not_tried(
            "no second page was read; at least two jobs are needed, and a limit that is applied",
        ));
    }
    Ok(walks)
}

pub(super) fn after_cursor(seen: &Observed) -> Judgement {
    for walk in walks(&seen.feed)? {
        let mut earlier = HashSet::new();
        let mut last = None;
        for page in walk {
            // A page after a cursor that does not move holds the same jobs by itself.
            if let Some(id) = page.ids().find(|id| earlier.contains(id))
                && !last.is_some_and(FeedPage::stands_still)
            {
                return broken(
                    "no job of an earlier page",
                    format!("{}: job {id} again", page.asked.call),
                );
            }
            earlier.extend(page.ids());
            last = Some(page);
        }
    }
    Ok(())
}

pub(super) fn cursor_moves(seen: &Observed) -> Judgement {
    entries(&seen.feed)?;
    match seen.feed.pages().find(|page| page.stands_still()) {
        Some(page) => broken(
            "another cursor, since hasMore is true",
            format!(
                "{}: the cursor {:?} again",
                page.asked.call,
                page.cursor.as_deref().unwrap_or_default()
            ),
        ),
        None => Ok(()),
    }
}

pub(super) fn same_cursor(seen: &Observed) -> Judgement {
    let (Some(first), Some(again)) = (seen.feed.small.get(1), &seen.feed.second_again) else {
        return Err(not_tried("no second page was read"));
    };
    answered(&again.asked)?;
    let ids = |page: &FeedPage| page.ids().map(str::to_owned).collect::<Vec<_>>();
    let (first, now) = (ids(first), ids(again));
    if first == now {
        return Ok(());
    }
    let came = if again.is_answered {
        list(&now)
    } else {
        again.asked.shown()
    };
    broken(format!("{}: {}", again.asked.call, list(&first)), came)
}

fn list(ids: &[String]) -> String {
    const SHOWN: usize = 5;
    let mut text = ids
        .iter()
        .take(SHOWN)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ");
    if ids.len() > SHOWN {
        text.push_str(", …");
    }
    if text.is_empty() {
        "no job".to_owned()
    } else {
        format!("jobs {text}")
    }
}

pub(super) fn page_sizes(seen: &Observed) -> Judgement {
    let feed = &seen.feed;
    let (Some(first), Some(last)) = (feed.small.first(), feed.small.last()) else {
        return Err(not_tried("the feed holds fewer than two jobs"));
    };
    if let Some(page) = feed.small.iter().find(|page| !page.is_answered) {
        return Err(not_tried(page.asked.shown()));
    }
    if last.stands_still() {
        return Err(not_tried("the cursor did not move: see feed.cursor-moves"));
    }
    let read: HashSet<&str> = ids_once(&feed.small).into_iter().collect();
    let Some(again) = &feed.large_again else {
        return Ok(());
    };
    // Only jobs that were in the large page before and after count: others may have been dropped or moved.
    let still: HashSet<&str> = again.ids().collect();
    let reach = feed
        .ids()
        .into_iter()
        .rposition(|id| read.contains(id))
        .unwrap_or_default();
    let ids = feed.ids();
    let beyond = if last.entries.is_empty() { ids.len() } else { reach };
    let skipped: Vec<String> = ids
        .into_iter()
        .take(beyond)
        .filter(|id| still.contains(id) && !read.contains(id))
        .map(str::to_owned)
        .collect();
    if skipped.is_empty() {
        return Ok(());
    }
    broken(
        format!("the same jobs with limit={} as with limit=500", first.limit),
        format!("without {}", list(&skipped)),
    )
}

pub(super) fn has_more(seen: &Observed) -> Judgement {
    let feed = &seen.feed;
    let known: HashSet<&str> = feed.ids().into_iter().collect();
    let mut is_tried = feed.is_read_to_its_end();
    for walk in [&feed.large, &feed.small] {
        for (page, next) in walk.iter().zip(walk.iter().skip(1)) {
            if !next.is_answered {
                continue;
            }
            is_tried = true;
            if page.has_more == Some(true) && next.entries.is_empty() {
                return broken(
                    format!("{}: hasMore false, since nothing follows", page.asked.call),
                    "hasMore true, and an empty page after it",
                );
            }
            if page.has_more == Some(false)
                && let Some(id) = next.ids().find(|id| known.contains(id))
            {
                return broken(
                    format!("{}: hasMore true, since job {id} follows", page.asked.call),
                    "hasMore false",
                );
            }
        }
    }
    if is_tried {
        Ok(())
    } else {
        Err(not_tried("no second page was read"))
    }
}

pub(super) fn end(seen: &Observed) -> Judgement {
    let feed = &seen.feed;
    if feed.at_end.is_empty() {
        return Err(not_tried(
            "the feed was not read to its end, or gave no cursor there",
        ));
    }
    let known: HashSet<&str> = feed.ids().into_iter().collect();
    for page in &feed.at_end {
        answered(&page.asked)?;
        if !page.is_answered {
            return broken(format!("{} → 200", page.asked.call), page.asked.shown());
        }
        if let Some(id) = page.ids().find(|id| known.contains(id)) {
            return broken(
                "none of the jobs before the cursor",
                format!("{}: job {id} again", page.asked.call),
            );
        }
    }
    Ok(())
}

pub(super) fn unknown_cursor(seen: &Observed) -> Judgement {
    let Some(asked) = &seen.feed.unknown_cursor else {
        return Err(not_tried("the feed was not read"));
    };
    let status = answered(asked)?.status;
    if status.is_client_error() && ![401, 408, 429].contains(&status.as_u16()) {
        return Ok(());
    }
    broken(
        format!("{} → 400 {{\"code\": \"invalid_cursor\", …}}", asked.call),
        asked.shown(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_ascending_subsequence_counts_equal_times() {
        assert_eq!(longest_ascending(&[1, 1, 2]), 3);
        assert_eq!(longest_ascending(&[5, 4, 3, 2, 1]), 1);
        assert_eq!(longest_ascending(&[1, 2, 9, 3, 4]), 4);
        assert_eq!(longest_ascending(&[]), 0);
    }

    #[test]
    fn moments_in_other_units_and_in_the_future_are_implausible() {
        let now = 1_790_000_000_000;
        assert_eq!(implausible(now - 1, now), None);
        assert_eq!(implausible(now + CLOCK_DIFFERENCE_MS, now), None);
        assert_eq!(implausible(now / 1000, now), Some("which looks like seconds"));
        assert_eq!(
            implausible(now * 1000, now),
            Some("which looks like microseconds")
        );
        assert_eq!(implausible(now + 3_600_000, now), Some("which is still to come"));
        assert_eq!(implausible(-1, now), Some("before 1970"));
    }
}
