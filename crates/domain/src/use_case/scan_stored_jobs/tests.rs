//! Which jobs a scan reads and finds, over a store with gaps between the numbers.

use std::collections::BTreeMap;

use async_trait::async_trait;
use futures::executor::block_on;

use super::*;
use crate::model::{CampaignId, FilterId, JobId, OrganizationId, Timestamp};
use crate::port::{Backfill, CallingThread, DueBackfills, SwitchMatches};

/// The highest number: more than two pages of signatures.
const WATERMARK: i64 = 2 * SIGNATURES_AT_ONCE + 5;

/// Titles and signatures by number, and the numbers whose jobs were asked for and read.
#[derive(Debug, Default)]
struct Jobs {
    titles: BTreeMap<i64, &'static str>,
    signatures: Mutex<BTreeMap<i64, JobSignature>>,
    asked_for: Mutex<Vec<i64>>,
    read: Mutex<Vec<i64>>,
    stored: Mutex<Vec<Vec<i64>>>,
}

impl Jobs {
    fn job(&self, seq: i64) -> Option<StoredJob> {
        let title = self.titles.get(&seq)?;
        Some(StoredJob {
            seq,
            id: JobId::parse(&seq.to_string()).unwrap(),
            json: format!(
                r#"{{"id": "{seq}", "ciphertext": "~{seq}", "title": "{title}", "description": "", "url": "/{seq}", "postedAt": 1}}"#
            ),
        })
    }

    fn sign(&self, seq: i64) {
        let signature = JobSignature::of(&prepared(&self.job(seq).unwrap()).unwrap());
        self.signatures.lock().unwrap().insert(seq, signature);
    }
}

#[async_trait]
impl MatchStore for Jobs {
    async fn due_backfills(&self) -> Result<DueBackfills, StoreError> {
        Ok(DueBackfills {
            watermark: WATERMARK,
            campaigns: Vec::new(),
        })
    }

    async fn stored_jobs(
        &self,
        _watermark: i64,
        _before: Option<i64>,
        _limit: u32,
    ) -> Result<Vec<StoredJob>, StoreError> {
        Ok(Vec::new())
    }

    async fn signatures(&self, first: i64, last: i64) -> Result<Vec<StoredSignature>, StoreError> {
        let signatures = self.signatures.lock().unwrap();
        let some = signatures.range(first..=last);
        let some = some.map(|(seq, signature)| StoredSignature {
            seq: *seq,
            signature: signature.clone(),
        });
        Ok(some.collect())
    }

    async fn job_seqs(&self, first: i64, last: i64) -> Result<Vec<i64>, StoreError> {
        Ok(self.titles.range(first..=last).map(|(seq, _)| *seq).collect())
    }

    async fn store_signatures(&self, signatures: &[StoredSignature]) -> Result<(), StoreError> {
        let seqs = signatures.iter().map(|stored| stored.seq).collect();
        self.stored.lock().unwrap().push(seqs);
        Ok(())
    }

    /// In descending order, since the port promises none.
    async fn jobs_at(&self, seqs: &[i64]) -> Result<Vec<StoredJob>, StoreError> {
        self.asked_for.lock().unwrap().extend(seqs);
        let mut jobs: Vec<StoredJob> = seqs.iter().filter_map(|seq| self.job(*seq)).collect();
        jobs.sort_unstable_by_key(|job| std::cmp::Reverse(job.seq));
        self.read.lock().unwrap().extend(jobs.iter().map(|job| job.seq));
        Ok(jobs)
    }

    async fn switch(
        &self,
        _backfill: &Backfill,
        _watermark: i64,
        _matched: &[i64],
        _at: Timestamp,
    ) -> Result<SwitchMatches, StoreError> {
        Ok(SwitchMatches::Superseded)
    }

    async fn is_backfill_due(&self, _: &OrganizationId, _: &CampaignId) -> Result<bool, StoreError> {
        Ok(false)
    }

    async fn due_count(&self) -> Result<u64, StoreError> {
        Ok(0)
    }
}

fn filter(keywords: &str) -> StoredFilter {
    StoredFilter {
        organization_id: OrganizationId::parse("org").unwrap(),
        campaign_id: CampaignId::parse("camp").unwrap(),
        id: FilterId::parse("f").unwrap(),
        body: format!(r#"{{"keywords": "{keywords}"}}"#),
    }
}

/// What the scan finds for each list of one filter.
fn found(jobs: &Arc<Jobs>, lists: &[StoredFilter]) -> Vec<Vec<i64>> {
    let lists: Vec<&[StoredFilter]> = lists.iter().map(std::slice::from_ref).collect();
    let matches: Arc<dyn MatchStore> = Arc::<Jobs>::clone(jobs);
    let scan = block_on(JobScan::new(
        matches,
        WATERMARK,
        &lists,
        Quarantine::default(),
        &CallingThread,
    ))
    .unwrap();
    block_on(scan.work()).unwrap();
    scan.into_found().unwrap()
}

/// Where pages of signatures begin and end, counted from the watermark, and where all do.
const ENDS: [i64; 8] = [
    1,
    2,
    WATERMARK - 2 * SIGNATURES_AT_ONCE,
    WATERMARK - 2 * SIGNATURES_AT_ONCE + 1,
    WATERMARK - SIGNATURES_AT_ONCE,
    WATERMARK - SIGNATURES_AT_ONCE + 1,
    WATERMARK - 1,
    WATERMARK,
];

fn newest_first(seqs: impl Iterator<Item = i64>) -> Vec<i64> {
    let mut seqs: Vec<i64> = seqs.collect();
    seqs.reverse();
    seqs
}

#[test]
fn jobs_at_the_ends_of_pages_of_signatures_are_found_signed_or_not() {
    for signed in [[true, true], [true, false], [false, true], [false, false]] {
        let titles = (0..).zip(ENDS);
        let titles = titles.map(|(n, seq)| (seq, if n % 2 == 0 { "Rust" } else { "Cobol" }));
        let jobs = Arc::new(Jobs {
            titles: titles.collect(),
            ..Jobs::default()
        });
        for (n, seq) in ENDS.into_iter().enumerate() {
            if signed[n % 2] {
                jobs.sign(seq);
            }
        }
        let [rust, cobol] = [0, 1].map(|odd| newest_first(ENDS.into_iter().skip(odd).step_by(2)));
        let lists = [filter("rust"), filter("cobol"), filter("fortran")];
        assert_eq!(
            found(&jobs, &lists),
            [rust.clone(), cobol, Vec::new()],
            "{signed:?}"
        );
        jobs.read.lock().unwrap().clear();
        jobs.asked_for.lock().unwrap().clear();
        assert_eq!(found(&jobs, &lists[..1]), [rust], "{signed:?}");
        let read = jobs.read.lock().unwrap().len();
        assert_eq!(read, if signed[1] { 4 } else { 8 }, "{signed:?}");
        let asked_for = jobs.asked_for.lock().unwrap().len();
        assert!(
            asked_for < 20,
            "not for all that are gone: {asked_for}, {signed:?}"
        );
    }
}

#[test]
fn jobs_above_the_watermark_are_left_to_ingesting() {
    let jobs = Arc::new(Jobs {
        titles: [(WATERMARK, "Rust"), (WATERMARK + 1, "Rust")].into(),
        ..Jobs::default()
    });
    jobs.sign(WATERMARK + 1);
    // The second way reads every job, since the filter requires nothing that a signature tells.
    for keywords in ["rust", "NOT cobol"] {
        assert_eq!(found(&jobs, &[filter(keywords)]), [[WATERMARK]], "{keywords}");
    }
}

#[test]
fn signatures_are_stored_in_the_order_of_the_jobs() {
    let jobs = Arc::new(Jobs {
        titles: [(7, "Rust"), (8, "Cobol"), (9, "Rust")].into(),
        ..Jobs::default()
    });
    found(&jobs, &[filter("rust")]);
    assert_eq!(*jobs.stored.lock().unwrap(), [[7, 8, 9]]);
}
