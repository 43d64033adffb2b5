//! Show feed: a campaign's matches as the console shows them (decision E9). Tests: `tests/use_case/show_feed.rs`.

use std::sync::Arc;

use super::matched_filters::{MatchedFilter, MatchedFilters};
use crate::matching::{PreparedJob, SavedFilter, SignatureQuery, split_words};
use crate::model::{
    Actor, CampaignId, EmailKey, JobId, JobPost, Lead, LeadId, LeadStatus, Links, OrganizationId, Timestamp,
    UsdCents,
};
use crate::port::{
    BidSummary, CampaignFeedStore, FeedCounts, FeedNews, FeedQuery, ListedMatch, Quarantine, StoreError,
    UnreadableRow,
};

/// Cards of a page.
pub const FEED_PAGE: u32 = 50;
/// The most new matches that are counted for a campaign.
pub const MAX_NEW: u32 = 999;
/// The most matches that are counted as newer than an open page.
pub const MAX_NEWER: u32 = 100;
/// Matches whose signatures are read in one query.
const RUN: u32 = 1_000;
/// Runs of one search, if signatures can rule posts out, and if they cannot.
const RUNS: (usize, usize) = (5, 1);
/// Posts that are read in one query of a search, and in all.
const POSTS: (usize, usize) = (50, 500);

/// What to show.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FeedRequest {
    /// Only matches whose leads have this status.
    pub status: Option<LeadStatus>,
    /// Only matches whose titles, descriptions or skills have these words.
    ///
    /// It is read as the keyword expression of a saved filter: whole words without regard to case, all of which must
    /// occur; `"exact phrase"`, `prefix*`, `OR`, `-word` and `title:word` mean what they mean there. A text that is no
    /// expression is searched for its words. Blank text is no search.
    pub search: String,
    /// How many are passed over from the newest on. A search ignores it.
    pub offset: u64,
    /// Where a search goes on: see [`FeedPart::Found`]. Without a search it is ignored.
    pub below: Option<u64>,
}

/// A match as a card shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct FeedCard {
    /// The lead, or the one that the match would become.
    pub lead: Lead,
    /// Whether the lead has a record. The address of one without names its job too.
    pub is_stored: bool,
    /// The post.
    pub post: JobPost,
    /// The job on the marketplace.
    pub job_url: String,
    /// The filter that the job matches, with its conditions.
    pub matched: Option<MatchedFilter>,
    /// The lead's latest bid.
    pub bid: Option<BidSummary>,
    /// What the connects of the bid cost.
    pub connects_cost: UsdCents,
    /// Who rejected the lead, as long as the Activity record tells.
    pub rejected_by: Option<Actor>,
}

/// Which part of the Feed is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeedPart {
    /// A page of all matches, or of those of a status.
    Page {
        /// How many were passed over.
        offset: u64,
        /// How many there are in all.
        total: u64,
    },
    /// What a search found.
    Found {
        /// How many matches were searched, from the newest or from where the search went on.
        searched: u64,
        /// Where the search goes on, if there are older matches.
        older_below: Option<u64>,
    },
}

/// A part of a campaign's Feed.
#[derive(Debug, Clone, PartialEq)]
pub struct ShownFeed {
    /// The campaign's name.
    pub campaign_name: String,
    /// Of all matches, whatever is shown.
    pub counts: FeedCounts,
    /// When the newest of all matches was made.
    pub newest_at: Option<Timestamp>,
    /// Newest first.
    pub cards: Vec<FeedCard>,
    /// Which part.
    pub part: FeedPart,
    /// How many cards are left out, because they cannot be read (decision D2).
    pub unreadable: usize,
}

/// Shows a campaign's Feed. No match becomes a lead by it (decision E5).
#[derive(Debug)]
pub struct ShowFeed {
    /// Matches.
    pub feed: Arc<dyn CampaignFeedStore>,
    /// Addresses of jobs.
    pub links: Links,
    /// Takes jobs that cannot be read.
    pub quarantine: Quarantine,
}

/// What a search found so far.
struct Search {
    found: Vec<(ListedMatch, JobPost, PreparedJob)>,
    searched: u64,
    /// Where it goes on; 0 at the end of the list.
    older_below: u64,
    posts_read: usize,
}

impl ShowFeed {
    /// A page of the Feed, or what a search found; `None` if the organization has no such campaign.
    pub async fn execute(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
        request: &FeedRequest,
    ) -> Result<Option<ShownFeed>, StoreError> {
        let words = search_filter(&request.search);
        let query = FeedQuery {
            status: request.status,
            offset: request.offset,
            limit: if words.is_some() { 0 } else { FEED_PAGE },
        };
        let Some(page) = self.feed.feed_page(organization, campaign, &query).await? else {
            return Ok(None);
        };
        let filters = self.feed.campaign_filters(organization, campaign).await?;
        let filters = MatchedFilters::of(filters.unwrap_or_default());
        let mut unreadable = page.unreadable;
        let (entries, part) = if let Some(words) = words {
            let search = self.search(organization, campaign, request, &words).await?;
            let part = FeedPart::Found {
                searched: search.searched,
                older_below: (search.older_below > 0).then_some(search.older_below),
            };
            (search.found, part)
        } else {
            let total = request
                .status
                .map_or(page.counts.all, |status| page.counts.of(status));
            let offset = request.offset;
            let read: Vec<_> = page.entries.into_iter().map(|entry| self.read(entry)).collect();
            unreadable += read.iter().filter(|entry| entry.is_none()).count();
            (
                read.into_iter().flatten().collect(),
                FeedPart::Page { offset, total },
            )
        };
        let card = |(entry, post, job)| self.card(entry, post, &job, &filters);
        Ok(Some(ShownFeed {
            campaign_name: page.campaign_name,
            counts: page.counts,
            newest_at: page.newest_at,
            cards: entries.into_iter().map(card).collect(),
            part,
            unreadable,
        }))
    }

    /// What changed since a page of the Feed was read whose newest match was made at `since` and that shows these leads, of
    /// which it looks at [`FEED_PAGE`]. Counts up to [`MAX_NEWER`] matches. `None` if the organization has no such campaign.
    pub async fn news(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
        since: Option<Timestamp>,
        shown: &[LeadId],
    ) -> Result<Option<FeedNews>, StoreError> {
        let shown = &shown[..shown.len().min(FEED_PAGE as usize)];
        let feed = &self.feed;
        feed.feed_news(organization, campaign, since, shown, MAX_NEWER)
            .await
    }

    /// For each of the organization's campaigns, how many matches are newer than the person's last look, up to
    /// [`MAX_NEW`].
    pub async fn new_matches(
        &self,
        organization: &OrganizationId,
        person: &EmailKey,
    ) -> Result<Vec<(CampaignId, u64)>, StoreError> {
        self.feed.new_matches(organization, person, MAX_NEW).await
    }

    /// Notes that the person looked at the campaign's Feed. False if the organization has no such campaign.
    pub async fn looked_at(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
        person: &EmailKey,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        self.feed.looked_at(organization, campaign, person, at).await
    }

    /// Looks through the newest matches: first their signatures, then the posts that may have the words.
    async fn search(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
        request: &FeedRequest,
        words: &SavedFilter,
    ) -> Result<Search, StoreError> {
        let query = SignatureQuery::of(words);
        let runs = if query.passes_all() { RUNS.1 } else { RUNS.0 };
        let mut search = Search {
            found: Vec::new(),
            searched: 0,
            older_below: request.below.unwrap_or(u64::MAX),
            posts_read: 0,
        };
        for _ in 0..runs {
            let below = Some(search.older_below).filter(|below| *below < u64::MAX);
            let run = self
                .feed
                .signed_matches(organization, campaign, below, RUN)
                .await?;
            let Some(run) = run else {
                break;
            };
            let newest = run.matches.first().map_or(0, |newest| newest.place);
            let may_have = run.matches.into_iter().filter(|known| {
                request.status.is_none_or(|status| status == known.status)
                    && known
                        .signature
                        .as_ref()
                        .is_none_or(|signature| query.may_match(signature))
            });
            let candidates: Vec<(u64, JobId)> = may_have.map(|known| (known.place, known.job_id)).collect();
            let stopped_at = self
                .read_candidates(organization, campaign, &candidates, words, &mut search)
                .await?;
            search.older_below = stopped_at.unwrap_or(run.older_below);
            search.searched += (newest + 1).saturating_sub(search.older_below.max(1));
            if stopped_at.is_some() || search.older_below == 0 {
                break;
            }
        }
        Ok(search)
    }

    /// Reads the posts and keeps those with the words. If the page is full or enough was read, it returns the place below
    /// which the search goes on.
    async fn read_candidates(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
        candidates: &[(u64, JobId)],
        words: &SavedFilter,
        search: &mut Search,
    ) -> Result<Option<u64>, StoreError> {
        for some in candidates.chunks(POSTS.0) {
            let jobs: Vec<JobId> = some.iter().map(|(_, job)| job.clone()).collect();
            let entries = self.feed.feed_entries(organization, campaign, &jobs).await?;
            for entry in entries.unwrap_or_default() {
                let place = some.iter().find(|(_, job)| *job == entry.lead.job_id);
                let Some((entry, post, job)) = self.read(entry) else {
                    continue;
                };
                if !words.matches(&job) {
                    continue;
                }
                search.found.push((entry, post, job));
                if search.found.len() >= FEED_PAGE as usize {
                    return Ok(place.map(|(place, _)| *place).filter(|place| *place > 1));
                }
            }
            search.posts_read += some.len();
            if search.posts_read >= POSTS.1 {
                return Ok(some.last().map(|(place, _)| *place).filter(|place| *place > 1));
            }
        }
        Ok(None)
    }

    fn read(&self, entry: ListedMatch) -> Option<(ListedMatch, JobPost, PreparedJob)> {
        match JobPost::parse(&entry.job_json) {
            Ok(post) => {
                let job = PreparedJob::new(&post.facts());
                Some((entry, post, job))
            }
            Err(fault) => {
                let job = entry.lead.job_id.as_str();
                self.quarantine.set_aside(&UnreadableRow::new("jobs", job, fault));
                None
            }
        }
    }

    fn card(
        &self,
        entry: ListedMatch,
        post: JobPost,
        job: &PreparedJob,
        filters: &MatchedFilters,
    ) -> FeedCard {
        let cost = entry.bid.as_ref().map(|bid| bid.connects_spent.cost());
        FeedCard {
            lead: entry.lead,
            is_stored: entry.is_stored,
            job_url: self.links.job_url(&post.url),
            matched: filters.matching(job),
            connects_cost: cost.unwrap_or(UsdCents::ZERO),
            bid: entry.bid,
            rejected_by: entry.rejected_by,
            post,
        }
    }
}

/// What a search text asks for; `None` if it has no word.
fn search_filter(text: &str) -> Option<SavedFilter> {
    let words = split_words(text);
    if words.is_empty() {
        return None;
    }
    let with = |keywords: &str| SavedFilter::from_value(&serde_json::json!({ "keywords": keywords }));
    let words: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    with(text).or_else(|_| with(&words.join(" "))).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matching::JobFacts;

    fn finds(search: &str, title: &str) -> bool {
        let facts = JobFacts {
            title,
            ..JobFacts::default()
        };
        search_filter(search).is_some_and(|filter| filter.matches(&PreparedJob::new(&facts)))
    }

    #[test]
    fn a_search_is_a_keyword_expression_or_else_its_words() {
        assert!(finds("RUST service", "A service in Rust"));
        assert!(!finds("rust go", "A service in Rust"));
        assert!(finds("rust OR go", "A service in Rust"));
        assert!(finds("serv*", "A service in Rust"));
        assert!(
            finds("in AND AND (rust", "and rust in"),
            "no expression, so its words"
        );
        assert!(!finds("in AND AND (rust", "go in"));
        assert!(search_filter(" -- ").is_none());
    }
}
