//! Counts how often words and values occur in jobs. This tells which clause of a filter is the rarest.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;

use crate::PreparedJob;
use crate::job_values::ValueField;

/// All of the first jobs count. Later jobs are sampled.
const LEARNING_JOBS: u64 = 4_096;
/// Of the later jobs, one in this many counts.
const SAMPLED: u64 = 16;
/// All counts are halved after this many counted jobs, so that old jobs lose weight and rare words are forgotten.
const FADING_JOBS: u32 = 16_384;
/// A prefix of more distinct words than this is taken for one that every job has.
const PREFIX_WORDS: usize = 256;

/// Counts of recent jobs with each word and value.
///
/// An index without frequencies gives the same answers. But it may list a filter under a frequent word instead of a rare
/// one, which makes matching slower. Before you build a large index, let it learn from a few hundred typical jobs. Then
/// let it learn from the jobs that are matched ([`FilterIndex::observe`](super::FilterIndex::observe)).
///
/// ```
/// use bidloop_matching::index::Frequencies;
/// use bidloop_matching::{FilterIndex, JobFacts, PreparedJob};
///
/// let mut frequencies = Frequencies::new();
/// for title in ["Rust developer", "React developer", "Data entry"] {
///     frequencies.observe(&PreparedJob::new(&JobFacts { title, ..JobFacts::default() }));
/// }
/// let index: FilterIndex<u64> = FilterIndex::with_frequencies(frequencies);
/// # assert!(index.is_empty());
/// ```
///
/// The first 4,096 jobs count, then one in 16. Old jobs lose weight, so that memory is bounded by the words of about
/// 16,000 jobs.
#[derive(Debug, Clone, Default)]
pub struct Frequencies {
    seen: u64,
    jobs: u32,
    words: BTreeMap<Box<str>, u32>,
    values: HashMap<Box<str>, u32>,
}

/// The effect of an observed job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Observed {
    /// The job was skipped.
    Nothing,
    /// The job counts.
    Counted,
    /// The job counts, and all counts were halved after it.
    Faded,
}

impl Frequencies {
    /// Frequencies of no job.
    pub fn new() -> Self {
        Self::default()
    }

    /// Learns from a job.
    pub fn observe(&mut self, job: &PreparedJob) {
        self.count(job);
    }

    pub(super) fn count(&mut self, job: &PreparedJob) -> Observed {
        self.seen += 1;
        if self.seen > LEARNING_JOBS && !self.seen.is_multiple_of(SAMPLED) {
            return Observed::Nothing;
        }
        self.jobs += 1;
        for (word, _) in job.text().distinct_words() {
            if let Some(count) = self.words.get_mut(word) {
                *count += 1;
            } else {
                self.words.insert(word.into(), 1);
            }
        }
        ValueField::of_job(job, |field, value| {
            *self
                .values
                .entry(value_key(field, value.text()).into_boxed_str())
                .or_default() += 1;
        });
        if self.jobs < FADING_JOBS {
            return Observed::Counted;
        }
        self.jobs /= 2;
        let fade = |count: &mut u32| {
            *count /= 2;
            *count > 0
        };
        self.words.retain(|_, count| fade(count));
        self.values.retain(|_, count| fade(count));
        Observed::Faded
    }

    pub(super) fn jobs_with_word(&self, word: &str) -> u32 {
        self.words.get(word).copied().unwrap_or(0)
    }

    /// An upper bound of the jobs that have a word with this prefix. A job with several such words counts several times.
    pub(super) fn jobs_with_prefix(&self, prefix: &str) -> u32 {
        let mut jobs = 0;
        let from = (Bound::Included(prefix), Bound::Unbounded);
        let words = self.words.range::<str, _>(from);
        for (n, (_, count)) in words.take_while(|(word, _)| word.starts_with(prefix)).enumerate() {
            jobs += count;
            if n >= PREFIX_WORDS || jobs >= self.jobs {
                return self.jobs;
            }
        }
        jobs
    }

    /// The jobs with this value, or, with `None`, those that do not carry a value.
    pub(super) fn jobs_with_value(&self, field: ValueField, value: Option<&str>) -> u32 {
        self.values
            .get(value_key(field, value).as_str())
            .copied()
            .unwrap_or(0)
    }
}

fn value_key(field: ValueField, value: Option<&str>) -> String {
    match value {
        Some(value) => format!("{}={value}", field.number()),
        None => field.number().to_string(),
    }
}
