//! Scan stored jobs: finds those that match lists of filters, newest first, on the threads that the caller brings.
//!
//! If the filters are few and selective, only the jobs whose signatures may match are read, parsed and matched (ADR 11).
//! A job without a signature is read too, and its signature is stored. The caller uses the result.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::load_filters::load_filters;
use crate::matching::index::Frequencies;
use crate::matching::{FilterIndex, JobSignature, MatchScratch, PreparedJob, SignatureQuery};
use crate::model::JobPost;
use crate::port::{
    MatchStore, Quarantine, StoreError, StoredFilter, StoredJob, StoredSignature, Threads, UnreadableRow,
};

/// Jobs whose JSON is read in one query.
const JOBS_AT_ONCE: usize = 500;
/// Sequence numbers whose signatures are read in one query: about 2 MB, a few milliseconds with SQLite.
const SIGNATURES_AT_ONCE: i64 = 16_384;
/// The most filters whose signature queries are used. With more, the queries cost as much as reading the job, and
/// together they would pass most jobs.
const MAX_QUERIES: usize = 500;
/// With more filters than this, the index needs to know which words are rare.
const FILTERS_WITHOUT_SAMPLE: usize = 100;
/// Jobs from which the index learns which words are rare.
const SAMPLE: u32 = 500;

/// The number of a list and of a filter in it.
type FilterNumber = (u32, u32);

/// A running scan. Each thread that takes part runs [`Self::work`]. When all have ended, [`Self::into_found`] returns the
/// result.
#[derive(Debug)]
pub struct JobScan {
    matches: Arc<dyn MatchStore>,
    quarantine: Quarantine,
    watermark: i64,
    /// What stored signatures are asked, so that few jobs are read. `None`: every job is read.
    queries: Option<Vec<SignatureQuery>>,
    index: FilterIndex<FilterNumber>,
    /// How many sequence numbers a thread takes at a time.
    page: i64,
    /// The highest sequence number that no thread has taken.
    next: AtomicI64,
    /// How many sequence numbers are left to scan.
    left: AtomicI64,
    examined: AtomicU64,
    stopped: AtomicBool,
    found: Mutex<Vec<Vec<i64>>>,
}

impl JobScan {
    /// A scan of the jobs up to `watermark`. Finds, for each list, the jobs that match at least one of its filters.
    ///
    /// Compiles the filters on the calling thread and on `threads`. Filters and jobs that cannot be read are set aside.
    pub async fn new(
        matches: Arc<dyn MatchStore>,
        watermark: i64,
        lists: &[&[StoredFilter]],
        quarantine: Quarantine,
        threads: &dyn Threads,
    ) -> Result<Self, StoreError> {
        let filters: Vec<(FilterNumber, &StoredFilter)> = (0..)
            .zip(lists)
            .flat_map(|(list, filters)| (0..).zip(*filters).map(move |(n, filter)| ((list, n), filter)))
            .collect();
        let mut frequencies = Frequencies::new();
        if filters.len() > FILTERS_WITHOUT_SAMPLE {
            let sample = matches.stored_jobs(watermark, None, SAMPLE).await?;
            for job in sample.iter().filter_map(|job| prepared(job).ok()) {
                frequencies.observe(&job);
            }
        }
        let mut index = FilterIndex::with_frequencies(frequencies);
        let keyed = |(number, filter): &(FilterNumber, &StoredFilter)| Ok((*number, filter.compile()?));
        load_filters(&mut index, &filters, keyed, &quarantine, threads)?;
        let queries = queries(&filters);
        let top = if filters.is_empty() { 0 } else { watermark };
        Ok(Self {
            matches,
            quarantine,
            watermark,
            page: match queries {
                Some(_) => SIGNATURES_AT_ONCE,
                None => i64::try_from(JOBS_AT_ONCE).unwrap_or(i64::MAX),
            },
            queries,
            index,
            next: AtomicI64::new(top),
            left: AtomicI64::new(top),
            examined: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
            found: Mutex::new(vec![Vec::new(); lists.len()]),
        })
    }

    /// Takes part until no job is left, or the scan is stopped or fails.
    ///
    /// It computes for milliseconds between its reads. On a runtime that serves other tasks, run it on threads of its own.
    pub async fn work(&self) -> Result<(), StoreError> {
        let mut scratch = MatchScratch::default();
        while let Some((first, last)) = self.take() {
            match self.scan(first, last, &mut scratch).await {
                Ok(true) => self.left.fetch_sub(last - first + 1, Ordering::Relaxed),
                Ok(false) => return Ok(()),
                Err(error) => {
                    self.stop();
                    return Err(error);
                }
            };
        }
        Ok(())
    }

    /// Makes every thread that takes part end soon, without a result.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// The number of examined jobs, and the largest possible number of jobs.
    pub fn progress(&self) -> (u64, u64) {
        let total = u64::try_from(self.watermark).unwrap_or(0);
        (self.examined.load(Ordering::Relaxed), total)
    }

    /// The sequence numbers of the matching jobs, newest first, for each list of filters; `None` if the scan did not
    /// complete.
    pub fn into_found(self) -> Option<Vec<Vec<i64>>> {
        if self.left.into_inner() > 0 {
            return None;
        }
        let mut found = self.found.into_inner().unwrap_or_else(PoisonError::into_inner);
        for seqs in &mut found {
            seqs.sort_unstable_by(|a, b| b.cmp(a));
        }
        Some(found)
    }

    /// The newest sequence numbers that no thread has taken.
    fn take(&self) -> Option<(i64, i64)> {
        if self.stopped.load(Ordering::Relaxed) {
            return None;
        }
        let last = self.next.fetch_sub(self.page, Ordering::Relaxed);
        (last > 0).then(|| ((last - self.page + 1).max(1), last))
    }

    /// Scans these sequence numbers; false if the scan was stopped.
    async fn scan(&self, first: i64, last: i64, scratch: &mut MatchScratch) -> Result<bool, StoreError> {
        let (passed, unsigned) = match &self.queries {
            Some(queries) => self.candidates(queries, first, last).await?,
            None => ((first..=last).collect(), Vec::new()),
        };
        for (seqs, missing) in chunks(&passed, false).chain(chunks(&unsigned, true)) {
            if self.stopped.load(Ordering::Relaxed) {
                return Ok(false);
            }
            let jobs = self.matches.jobs_at(seqs).await?;
            let mut signatures = Vec::new();
            for job in &jobs {
                let prepared = match prepared(job) {
                    Ok(prepared) => prepared,
                    Err(row) => {
                        self.quarantine.set_aside(&row);
                        continue;
                    }
                };
                self.match_job(job.seq, &prepared, scratch);
                if missing {
                    let signature = JobSignature::of(&prepared);
                    signatures.push(StoredSignature {
                        seq: job.seq,
                        signature,
                    });
                }
            }
            if !signatures.is_empty() {
                // Always in one order, so that processes that store signatures at the same time do not deadlock.
                signatures.sort_unstable_by_key(|stored| stored.seq);
                self.matches.store_signatures(&signatures).await?;
            }
            self.examined.fetch_add(jobs.len() as u64, Ordering::Relaxed);
        }
        Ok(true)
    }

    /// The numbers of the jobs whose signatures may match, and the numbers without a signature.
    async fn candidates(
        &self,
        queries: &[SignatureQuery],
        first: i64,
        last: i64,
    ) -> Result<(Vec<i64>, Vec<i64>), StoreError> {
        let signatures = self.matches.signatures(first, last).await?;
        let may_match = |signature: &JobSignature| queries.iter().any(|query| query.may_match(signature));
        let (mut passed, mut unsigned) = (Vec::new(), Vec::new());
        let mut next = first;
        for stored in &signatures {
            unsigned.extend(next..stored.seq);
            next = stored.seq + 1;
            if may_match(&stored.signature) {
                passed.push(stored.seq);
            }
        }
        unsigned.extend(next..=last);
        if unsigned.len() > JOBS_AT_ONCE {
            // Most of these numbers no longer exist, because their jobs changed. One query finds those that do.
            let seqs = self.matches.job_seqs(first, last).await?;
            unsigned.retain(|seq| seqs.binary_search(seq).is_ok());
        }
        let dismissed = signatures.len() - passed.len();
        self.examined.fetch_add(dismissed as u64, Ordering::Relaxed);
        Ok((passed, unsigned))
    }

    fn match_job(&self, seq: i64, job: &PreparedJob, scratch: &mut MatchScratch) {
        let mut lists = Vec::new();
        self.index
            .for_each_match(job, scratch, |(list, _)| lists.push(*list));
        if lists.is_empty() {
            return;
        }
        // Several filters of a list may match the job.
        lists.sort_unstable();
        lists.dedup();
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        for list in lists {
            found[list as usize].push(seq);
        }
    }
}

/// Parts of ascending numbers, the newest first, each with `mark`.
fn chunks(seqs: &[i64], mark: bool) -> impl Iterator<Item = (&[i64], bool)> {
    seqs.rchunks(JOBS_AT_ONCE).map(move |seqs| (seqs, mark))
}

/// The queries of the filters, if each of them can rule jobs out and there are few enough for queries to save time.
fn queries(filters: &[(FilterNumber, &StoredFilter)]) -> Option<Vec<SignatureQuery>> {
    if filters.len() > MAX_QUERIES {
        return None;
    }
    let mut queries = Vec::with_capacity(filters.len());
    for filter in filters.iter().filter_map(|(_, filter)| filter.compile().ok()) {
        let query = SignatureQuery::of(&filter);
        if query.passes_all() {
            return None;
        }
        queries.push(query);
    }
    Some(queries)
}

fn prepared(job: &StoredJob) -> Result<PreparedJob, UnreadableRow> {
    let post =
        JobPost::parse(&job.json).map_err(|fault| UnreadableRow::new("jobs", job.id.as_str(), fault))?;
    Ok(PreparedJob::new(&post.facts()))
}

#[cfg(test)]
mod tests;
