//! What the calls of a check brought. `drive` fills it, the rules judge it.

use serde_json::Value;

use crate::answer::{Answer, Asked};
use crate::shape::{self, FEED_PAGE, JOB_POST, whole};

/// Everything that rules may look at.
#[derive(Debug, Default)]
pub(crate) struct Observed {
    /// UNIX milliseconds at the beginning of the check.
    pub(crate) now: i64,
    /// Whether a bidder account's token was given.
    pub(crate) has_token: bool,
    /// Every call, with its outcome.
    pub(crate) calls: Vec<Asked>,
    pub(crate) feed: Feed,
    /// Jobs of the feed that were looked up.
    pub(crate) jobs: Vec<JobLookup>,
    pub(crate) unknown_job: Option<Asked>,
    pub(crate) account: Option<Asked>,
    pub(crate) refused: RefusedTokens,
    pub(crate) uploads: Uploads,
    pub(crate) connections: Connections,
    /// `Err` says why no proposal was made.
    pub(crate) proposals: Option<Result<Proposals, String>>,
}

// ---- the feed

/// How the feed was read.
#[derive(Debug, Default)]
pub(crate) struct Feed {
    /// In pages of 500, from the oldest job.
    pub(crate) large: Vec<FeedPage>,
    /// The feed's beginning again, in small pages.
    pub(crate) small: Vec<FeedPage>,
    /// The first large page again, if the small pages lacked jobs.
    pub(crate) large_again: Option<FeedPage>,
    /// The second small page again, after the same cursor.
    pub(crate) second_again: Option<FeedPage>,
    /// A page of one job.
    pub(crate) single: Option<FeedPage>,
    /// Two pages after the last cursor, the second with the cursor of the first.
    pub(crate) at_end: Vec<FeedPage>,
    /// The page after a cursor that the feed never gave.
    pub(crate) unknown_cursor: Option<Asked>,
}

impl Feed {
    pub(crate) fn pages(&self) -> impl Iterator<Item = &FeedPage> {
        self.large.iter().chain(&self.small).chain(&self.single)
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.pages().flat_map(|page| &page.entries)
    }

    /// The ids of the large pages, in order, without repetitions.
    pub(crate) fn ids(&self) -> Vec<&str> {
        ids_once(&self.large)
    }

    /// Whether the large pages reached the newest job.
    pub(crate) fn is_read_to_its_end(&self) -> bool {
        self.large
            .last()
            .is_some_and(|page| page.has_more == Some(false) || (page.is_answered && page.entries.is_empty()))
    }
}

/// The ids of pages, in order, without repetitions.
pub(crate) fn ids_once(pages: &[FeedPage]) -> Vec<&str> {
    let mut seen = std::collections::HashSet::new();
    let ids = pages.iter().flat_map(FeedPage::ids);
    ids.filter(|id| seen.insert(*id)).collect()
}

/// A page of the feed, without the posts themselves.
#[derive(Debug, Clone)]
pub(crate) struct FeedPage {
    pub(crate) asked: Asked,
    pub(crate) limit: usize,
    pub(crate) after: Option<String>,
    /// Whether the answer was 200.
    pub(crate) is_answered: bool,
    pub(crate) entries: Vec<Entry>,
    pub(crate) cursor: Option<String>,
    pub(crate) has_more: Option<bool>,
    /// Where the page departs from `{"jobs", "cursor", "hasMore"}`.
    pub(crate) faults: Vec<String>,
}

impl FeedPage {
    pub(crate) fn new(asked: &Asked, limit: usize, after: Option<String>) -> Self {
        let page = match asked.success() {
            Some(answer) => answer.json(),
            None => Value::Null,
        };
        let jobs = page["jobs"].as_array().into_iter().flatten();
        Self {
            limit,
            after,
            is_answered: asked.success().is_some_and(|answer| answer.status == 200),
            entries: jobs.map(Entry::new).collect(),
            cursor: page["cursor"]
                .as_str()
                .filter(|cursor| !cursor.is_empty())
                .map(str::to_owned),
            has_more: page["hasMore"].as_bool(),
            faults: shape::faults(&page, FEED_PAGE),
            asked: asked.without_page(),
        }
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().filter_map(|entry| entry.id.as_deref())
    }

    /// Whether the cursor leads nowhere although the page holds jobs and more are announced.
    pub(crate) fn stands_still(&self) -> bool {
        self.has_more == Some(true) && !self.entries.is_empty() && self.cursor == self.after
    }
}

/// What the rules need of a job of the feed.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) id: Option<String>,
    pub(crate) url: Option<String>,
    /// As it was sent, whatever its unit.
    pub(crate) posted_at: Option<i64>,
    /// Where the post departs from its shape.
    pub(crate) faults: Vec<String>,
}

impl Entry {
    fn new(post: &Value) -> Self {
        let text = |name: &str| {
            post[name]
                .as_str()
                .filter(|text| !text.is_empty())
                .map(str::to_owned)
        };
        Self {
            id: text("id"),
            url: text("url"),
            posted_at: whole(&post["postedAt"]),
            faults: shape::faults(post, JOB_POST),
        }
    }

    /// The job for a message.
    pub(crate) fn name(&self) -> String {
        match &self.id {
            Some(id) => format!("job {id}"),
            None => "a job without a valid id".to_owned(),
        }
    }
}

// ---- jobs, tokens, uploads, connections

/// The look-up of a job.
#[derive(Debug)]
pub(crate) struct JobLookup {
    pub(crate) id: String,
    pub(crate) asked: Asked,
}

/// Calls with a token that no account has, and without a token.
#[derive(Debug, Default)]
pub(crate) struct RefusedTokens {
    pub(crate) account: Option<Asked>,
    pub(crate) job: Option<Asked>,
    pub(crate) attachments: Option<Asked>,
    pub(crate) without: Vec<Asked>,
}

#[derive(Debug, Default)]
pub(crate) struct Uploads {
    pub(crate) first: Option<Asked>,
    /// The same file a second time.
    pub(crate) again: Option<Asked>,
    pub(crate) without_file: Option<Asked>,
}

#[derive(Debug, Default)]
pub(crate) struct Connections {
    /// Calls on one connection.
    pub(crate) kept: Vec<Asked>,
    /// A refused upload, and a call on the same connection.
    pub(crate) after_refusal: Vec<Asked>,
}

// ---- proposals

/// The proposals on the job that the operator named.
#[derive(Debug, Default)]
pub(crate) struct Proposals {
    pub(crate) without_token: Option<Asked>,
    pub(crate) wrong_token: Option<Asked>,
    /// No JSON, and JSON without the proposal's fields.
    pub(crate) malformed: Vec<Asked>,
    pub(crate) without_key: Option<Asked>,
    /// The same key after a connection that was cut before its answer.
    pub(crate) after_cut: Option<Asked>,
    /// Whether the key of `after_cut` had been refused before.
    pub(crate) refusal_sticks: Option<bool>,
    /// The accepted proposal.
    pub(crate) accepted: Option<Asked>,
    pub(crate) repeated: Option<Asked>,
    pub(crate) second_key: Option<Asked>,
    /// The account's balance before and after.
    pub(crate) balances: [Option<i64>; 2],
    /// Why the rest was not tried.
    pub(crate) obstacle: Option<String>,
}

impl Proposals {
    pub(crate) fn accepted(&self) -> Option<&Answer> {
        self.accepted.as_ref()?.success()
    }
}
