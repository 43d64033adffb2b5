//! Try a filter: its expression, its matches among the stored jobs, and why it does not match one job (contract
//! section 4). Nothing is stored. Tests: `tests/use_case/try_filter.rs`.

use std::sync::Arc;

use serde_json::Value;

use crate::matching::{
    ExplainedCondition, Explanation, Expression, PreparedJob, SavedFilter, SignatureQuery, Verdict, fold,
};
use crate::model::{CampaignId, FieldError, JobId, JobPost, Links, OrganizationId};
use crate::port::{
    CampaignFeedStore, FilterRecord, MatchStore, Quarantine, StoreError, StoredJob, UnreadableRow,
};

/// Jobs that the console shows of each kind.
pub const PREVIEWED: usize = 10;
/// The newest jobs, which are all read: near misses are looked for among these.
pub const NEAR_MISSES_AMONG: u32 = 2_000;
/// Posts that one preview reads besides those. If more may match, the older ones are not counted.
const POSTS: usize = 2_000;
/// Posts that are read in one query.
const POSTS_AT_ONCE: usize = 250;
/// Sequence numbers whose signatures are read in one query.
const SIGNATURES_AT_ONCE: i64 = 16_384;

/// Why a keyword expression is refused, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpressionFault {
    /// The position of the faulty token in characters, from 1; the length plus one if something is missing at the end.
    pub position: usize,
    /// How many characters the token has; 0 at the end.
    pub length: usize,
    /// What is wrong.
    pub message: String,
    /// How to correct it, where that is clear.
    pub suggestion: Option<String>,
}

/// Checks a keyword expression.
///
/// # Errors
/// The first fault in reading order.
///
/// ```
/// use bidloop_domain::use_case::check_expression;
///
/// assert_eq!(check_expression("rust OR \"actix web\""), Ok(()));
/// let fault = check_expression("go AND AND rust").unwrap_err();
/// assert_eq!((fault.position, fault.length), (8, 3));
/// ```
pub fn check_expression(text: &str) -> Result<(), ExpressionFault> {
    match Expression::parse(text) {
        Ok(_) => Ok(()),
        Err(fault) => Err(ExpressionFault {
            length: token_length(text, fault.position),
            position: fault.position,
            message: fault.message,
            suggestion: fault.suggestion,
        }),
    }
}

/// The length of the token at a position: a parenthesis, a quoted phrase, or what reaches to a space or a parenthesis.
fn token_length(text: &str, position: usize) -> usize {
    let mut rest = text.chars().skip(position.saturating_sub(1));
    match rest.next() {
        None => 0,
        Some('(' | ')') => 1,
        Some('"') => {
            let mut length = 1;
            for char in rest {
                length += 1;
                if char == '"' {
                    break;
                }
            }
            length
        }
        Some(_) => {
            1 + rest
                .take_while(|char| !char.is_whitespace() && !"()".contains(*char))
                .count()
        }
    }
}

/// A stored job in a preview.
#[derive(Debug, Clone, PartialEq)]
pub struct PreviewedJob {
    /// The post.
    pub post: JobPost,
    /// The job on the marketplace.
    pub job_url: String,
}

/// What a filter would match among the stored jobs.
#[derive(Debug, Clone, PartialEq)]
pub struct FilterPreview {
    /// How many of the examined jobs match.
    pub matching: u64,
    /// How many jobs were examined, the newest.
    pub examined: u64,
    /// Whether these are all stored jobs. A filter that rules out too few jobs without reading them is tried on the newest
    /// only.
    pub is_complete: bool,
    /// The newest of those that match.
    pub newest: Vec<PreviewedJob>,
    /// The newest of those that only one condition keeps from matching, with that condition.
    pub near_misses: Vec<(PreviewedJob, ExplainedCondition)>,
    /// Among how many of the newest jobs near misses were looked for.
    pub near_misses_among: u64,
}

/// A job that a filter was tried on.
#[derive(Debug, Clone, PartialEq)]
pub struct TriedJob {
    /// The job.
    pub job: PreviewedJob,
    /// Each condition with its result.
    pub explanation: Explanation,
}

/// Tries filters on stored jobs.
#[derive(Debug)]
pub struct TryFilter {
    /// The stored jobs.
    pub matches: Arc<dyn MatchStore>,
    /// Finds a job by its id.
    pub feed: Arc<dyn CampaignFeedStore>,
    /// Addresses of jobs.
    pub links: Links,
    /// Takes jobs that cannot be read.
    pub quarantine: Quarantine,
}

impl TryFilter {
    /// The campaign's saved filters, by id; `None` if the organization has no such campaign.
    pub async fn saved(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
    ) -> Result<Option<Vec<FilterRecord>>, StoreError> {
        self.feed.campaign_filters(organization, campaign).await
    }

    /// What the filter would match. The newest jobs are read; of the older ones, those whose signatures may match. At most
    /// `shown` jobs of each kind are returned.
    ///
    /// # Errors
    /// Every fault of the filter; or that of the store.
    pub async fn preview(
        &self,
        body: &Value,
        shown: usize,
    ) -> Result<Result<FilterPreview, Vec<FieldError>>, StoreError> {
        let filter = match SavedFilter::from_value(body) {
            Ok(filter) => filter,
            Err(faults) => return Ok(Err(faults)),
        };
        let mut preview = FilterPreview {
            matching: 0,
            examined: 0,
            is_complete: true,
            newest: Vec::new(),
            near_misses: Vec::new(),
            near_misses_among: 0,
        };
        let older_than = self.read_newest(&filter, shown, &mut preview).await?;
        if let Some(older_than) = older_than {
            self.count_older(&filter, shown, older_than, &mut preview).await?;
        }
        Ok(Ok(preview))
    }

    /// The filter on one job: that with this id, or whose address this is, or else the newest whose title has this text,
    /// among the newest [`NEAR_MISSES_AMONG`]. `None` if there is none.
    ///
    /// # Errors
    /// Every fault of the filter; or that of the store.
    pub async fn explain(
        &self,
        body: &Value,
        job: &str,
    ) -> Result<Result<Option<TriedJob>, Vec<FieldError>>, StoreError> {
        let filter = match SavedFilter::from_value(body) {
            Ok(filter) => filter,
            Err(faults) => return Ok(Err(faults)),
        };
        let Some((post, prepared)) = self.find_job(job.trim()).await? else {
            return Ok(Ok(None));
        };
        Ok(Ok(Some(TriedJob {
            explanation: filter.explain(&prepared),
            job: self.previewed(post),
        })))
    }

    /// Reads the newest jobs. Returns the number below which older ones follow.
    async fn read_newest(
        &self,
        filter: &SavedFilter,
        shown: usize,
        preview: &mut FilterPreview,
    ) -> Result<Option<i64>, StoreError> {
        let mut before = None;
        while preview.examined < u64::from(NEAR_MISSES_AMONG) {
            let jobs = self.stored_before(before).await?;
            let Some(last) = jobs.last() else {
                before = None;
                break;
            };
            before = Some(last.seq);
            for job in &jobs {
                preview.examined += 1;
                if let Some((post, prepared)) = self.read(job) {
                    self.judge(filter, shown, (post, &prepared), preview);
                }
            }
            if jobs.len() < POSTS_AT_ONCE {
                before = None;
                break;
            }
        }
        preview.near_misses_among = preview.examined;
        Ok(before)
    }

    fn judge(
        &self,
        filter: &SavedFilter,
        shown: usize,
        (post, job): (JobPost, &PreparedJob),
        preview: &mut FilterPreview,
    ) {
        if filter.matches(job) {
            preview.matching += 1;
            if preview.newest.len() < shown {
                preview.newest.push(self.previewed(post));
            }
        } else if preview.near_misses.len() < shown {
            let is_failure = |condition: &ExplainedCondition| match condition.result {
                Verdict::Held => false,
                Verdict::Failed => true,
                Verdict::Unknown => !filter.unknown_holds(),
            };
            let mut failed = filter.explain(job).conditions.into_iter().filter(is_failure);
            if let (Some(only), None) = (failed.next(), failed.next()) {
                preview.near_misses.push((self.previewed(post), only));
            }
        }
    }

    /// Counts older jobs by their signatures and, where these leave it open, their posts.
    async fn count_older(
        &self,
        filter: &SavedFilter,
        shown: usize,
        older_than: i64,
        preview: &mut FilterPreview,
    ) -> Result<(), StoreError> {
        let query = SignatureQuery::of(filter);
        let (mut last, mut posts) = (older_than - 1, 0);
        while last > 0 {
            let first = (last - SIGNATURES_AT_ONCE + 1).max(1);
            let signatures = self.matches.signatures(first, last).await?;
            let mut open: Vec<i64> = signatures
                .iter()
                .filter(|stored| query.may_match(&stored.signature))
                .map(|stored| stored.seq)
                .collect();
            let signed: std::collections::HashSet<i64> = signatures.iter().map(|stored| stored.seq).collect();
            if i64::try_from(signed.len()).is_ok_and(|signed| signed < last - first + 1) {
                let stored = self.matches.job_seqs(first, last).await?;
                open.extend(stored.into_iter().filter(|seq| !signed.contains(seq)));
                open.sort_unstable();
            }
            for some in open.rchunks(POSTS_AT_ONCE) {
                if posts >= POSTS {
                    // Those above were judged.
                    let judged = signatures
                        .iter()
                        .filter(|stored| stored.seq > some[some.len() - 1]);
                    preview.examined += judged.count() as u64;
                    preview.is_complete = false;
                    return Ok(());
                }
                posts += some.len();
                let mut jobs = self.matches.jobs_at(some).await?;
                jobs.sort_unstable_by_key(|job| std::cmp::Reverse(job.seq));
                for (post, prepared) in jobs.iter().filter_map(|job| self.read(job)) {
                    if filter.matches(&prepared) {
                        preview.matching += 1;
                        if preview.newest.len() < shown {
                            preview.newest.push(self.previewed(post));
                        }
                    }
                }
            }
            preview.examined += signed.len().max(open.len()) as u64;
            last = first - 1;
        }
        Ok(())
    }

    async fn find_job(&self, text: &str) -> Result<Option<(JobPost, PreparedJob)>, StoreError> {
        if text.is_empty() {
            return Ok(None);
        }
        // The last part of an address may be the job's id, too.
        let part = text.trim_end_matches('/').rsplit('/').next().unwrap_or(text);
        for id in [text, part] {
            if let Ok(id) = JobId::parse(id)
                && let Some(job) = self.feed.stored_job(&id).await?
            {
                return Ok(self.read(&job));
            }
        }
        let title = fold(text);
        let (mut before, mut examined) = (None, 0);
        while examined < NEAR_MISSES_AMONG as usize {
            let jobs = self.stored_before(before).await?;
            examined += jobs.len();
            for (post, prepared) in jobs.iter().filter_map(|job| self.read(job)) {
                let is_address = post.url.ends_with(part) || post.ciphertext == part;
                if is_address || fold(&post.title).contains(&*title) {
                    return Ok(Some((post, prepared)));
                }
            }
            before = jobs.last().map(|job| job.seq);
            if jobs.len() < POSTS_AT_ONCE {
                break;
            }
        }
        Ok(None)
    }

    async fn stored_before(&self, before: Option<i64>) -> Result<Vec<StoredJob>, StoreError> {
        let limit = u32::try_from(POSTS_AT_ONCE).unwrap_or(u32::MAX);
        self.matches.stored_jobs(i64::MAX, before, limit).await
    }

    fn read(&self, job: &StoredJob) -> Option<(JobPost, PreparedJob)> {
        match JobPost::parse(&job.json) {
            Ok(post) => {
                let prepared = PreparedJob::new(&post.facts());
                Some((post, prepared))
            }
            Err(fault) => {
                self.quarantine
                    .set_aside(&UnreadableRow::new("jobs", job.id.as_str(), fault));
                None
            }
        }
    }

    fn previewed(&self, post: JobPost) -> PreviewedJob {
        PreviewedJob {
            job_url: self.links.job_url(&post.url),
            post,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_faulty_token_of_an_expression_is_told_with_its_length() {
        for (text, position, length) in [
            ("go AND AND rust", 8, 3),
            ("rust OR", 8, 0),
            ("(rust", 6, 0),
            ("rust )", 6, 1),
            ("a colour:red b", 3, 10),
        ] {
            let fault = check_expression(text).unwrap_err();
            assert_eq!(
                (fault.position, fault.length),
                (position, length),
                "{text}: {fault:?}"
            );
        }
    }

    #[test]
    fn a_quoted_phrase_is_one_token() {
        assert_eq!(token_length("a \"b c\" d", 3), 5);
        assert_eq!(token_length("a \"b c", 3), 4);
    }
}
