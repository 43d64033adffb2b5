//! The reverse index: finds the saved filters that match a job without evaluating each of them.
//!
//! A search engine stores documents and receives queries. Here the filters are stored, and a job is the query.
//!
//! 1. **Term dictionary** (`dictionary`, with `interner`, `prefixes` and `frequencies`): each word, prefix and value that
//!    occurs in filters has a number, its *token*.
//! 2. **Clauses** (`clauses`): a filter is read as clauses over tokens. A matching job has at least one token of each
//!    clause. What tokens cannot express is left as a condition (`conditions`).
//! 3. **Posting lists** (`postings`): a filter is listed under each token of its rarest clause, the one that fewest jobs
//!    meet. A filter without clauses is listed under a token that every job has. An entry in a list (`entry`) has 32
//!    bytes, which hold as many of the filter's other clauses and conditions as fit.
//! 4. **Candidates**: a match turns the job into tokens (`job_tokens`) and reads the lists of these tokens. An entry that
//!    the job meets is a candidate. Most entries are *exact*: they hold the whole filter, so the filter matches.
//! 5. **Verification** (`record`): for the other candidates, the clauses, phrases and conditions that are not in the entry
//!    are evaluated. Conditions are evaluated by the same code that evaluates a filter by itself.
//!
//! A kind of condition that `clauses` does not know is left as a condition. So a new condition needs no change here.
//!
//! # Costs and limits
//!
//! The limits of the keyword language ([`MAX_TERMS`](crate::keywords::MAX_TERMS) and others) and of lists
//! ([`MAX_LIST_VALUES`](crate::MAX_LIST_VALUES)) limit the cost of one filter. An index takes some 268 million filters.
//!
//! - **Match**: a filter costs nothing unless the job has a token of its rarest clause. Then it mostly costs the
//!   nanoseconds that its entry takes. A filter that requires nothing rare, such as a one-letter prefix or only bounds,
//!   costs this for nearly every job.
//! - **Edit**: an edit reads the posting lists in which the filter is listed, 16 bytes for each entry.
//! - **Memory**: a filter takes some 150 bytes. The dictionary keeps texts that no filter uses any more until a new index
//!   is built.

mod clauses;
mod conditions;
mod dictionary;
mod entry;
mod frequencies;
mod interner;
mod job_tokens;
mod load;
mod postings;
mod prefixes;
mod record;
mod size_class;
mod token;

use std::hash::{BuildHasher, Hash};

use hashbrown::{DefaultHashBuilder, HashTable};

use self::clauses::RequiredClauses;
use self::conditions::Conditions;
use self::dictionary::Dictionary;
use self::entry::{Entry, MAX_SLOT};
use self::job_tokens::JobTokens;
use self::postings::{Candidates, Postings};
use super::{PreparedJob, SavedFilter};

pub use self::frequencies::Frequencies;
pub use self::load::FilterLoad;
pub use self::token::IndexFull;

/// Saved filters by key. It finds those that match a job.
///
/// The answer is the same as that of [`SavedFilter::matches`] on each filter.
///
/// An edit takes effect with the next match and mostly takes microseconds. Matching takes `&self`, so any number of
/// threads can match at once. To edit and match in different threads, put the index into an
/// [`RwLock`](std::sync::RwLock) and hold the lock for one edit at a time.
///
/// ```
/// use bidloop_matching::{FilterIndex, JobFacts, PaymentKind, PreparedJob, SavedFilter};
/// use serde_json::json;
///
/// let compiled = |body| SavedFilter::from_value(&body).expect("no fault");
/// let mut index = FilterIndex::new();
/// index.insert("rust", &compiled(json!({"keywords": "rust (axum OR actix)"})))?;
/// index.insert("java", &compiled(json!({"keywords": "java"})))?;
/// index.insert("paid", &compiled(json!({"hourlyRate": {"min": 60}})))?;
///
/// let job = PreparedJob::new(&JobFacts {
///     title: "Rust, Actix",
///     payment_kind: Some(PaymentKind::Hourly),
///     hourly_range: Some((50.0, 70.0)),
///     ..JobFacts::default()
/// });
/// assert_eq!(index.matches(&job), ["paid", "rust"]);
///
/// index.insert("java", &compiled(json!({"keywords": "java OR rus*"})))?;
/// index.remove(&"paid");
/// assert_eq!(index.matches(&job), ["java", "rust"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct FilterIndex<K> {
    dictionary: Dictionary,
    conditions: Conditions,
    postings: Postings,
    /// By slot.
    keys: Vec<Option<K>>,
    /// By slot, see [`record`].
    records: Vec<Box<[u32]>>,
    free_slots: Vec<u32>,
    /// Slots by key.
    slots: HashTable<u32>,
    hasher: DefaultHashBuilder,
    clauses: RequiredClauses,
    record: Vec<u32>,
}

/// Memory that a match uses and the next match reuses. Each thread that matches needs one.
#[derive(Debug, Clone, Default)]
pub struct MatchScratch {
    job: JobTokens,
    candidates: Candidates,
    seen: Seen,
    /// Slots of filters that match.
    exact: Vec<u32>,
    /// Slots of filters to be verified.
    open: Vec<u32>,
}

/// The work of one match, for measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MatchEffort {
    /// The number of entries read.
    pub entries: usize,
    /// The number of candidates verified.
    pub evaluated: usize,
    /// The number of filters that match.
    pub matched: usize,
}

impl<K> Default for FilterIndex<K> {
    fn default() -> Self {
        Self::with_frequencies(Frequencies::new())
    }
}

impl<K> FilterIndex<K> {
    /// Makes an empty index.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes an empty index that knows which words and values are rare in jobs.
    pub fn with_frequencies(frequencies: Frequencies) -> Self {
        Self {
            dictionary: Dictionary::with_frequencies(frequencies),
            conditions: Conditions::default(),
            postings: Postings::default(),
            keys: Vec::new(),
            records: Vec::new(),
            free_slots: Vec::new(),
            slots: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            clauses: RequiredClauses::default(),
            record: Vec::new(),
        }
    }

    /// Returns what the index has learnt about jobs, for the index that replaces it.
    pub fn into_frequencies(self) -> Frequencies {
        self.dictionary.into_frequencies()
    }

    /// The number of filters.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether the index has no filters.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The number of entries in all posting lists.
    pub const fn entries(&self) -> usize {
        self.postings.entries()
    }

    /// Learns from a job which words and values are frequent. This affects filters that are added later.
    pub fn observe(&mut self, job: &PreparedJob, scratch: &mut MatchScratch) {
        let conditions = &self.conditions;
        self.dictionary.observe(job, |dictionary| {
            scratch.job.read(job, dictionary, conditions);
            &scratch.job.tokens
        });
    }

    /// Calls `found` once for each filter that matches the job, with the filter's key, in no particular order.
    pub fn for_each_match(&self, job: &PreparedJob, scratch: &mut MatchScratch, mut found: impl FnMut(&K)) {
        self.find_candidates(job, scratch);
        let MatchScratch {
            job: tokens,
            exact,
            open,
            ..
        } = scratch;
        open.retain(|slot| record::matches(&self.records[*slot as usize], job, tokens, &self.conditions));
        for slot in exact.iter().chain(&*open) {
            if let Some(key) = &self.keys[*slot as usize] {
                found(key);
            }
        }
    }

    /// Finds the filters of which the job meets an entry, each once.
    fn find_candidates(&self, job: &PreparedJob, scratch: &mut MatchScratch) {
        let MatchScratch {
            job: tokens,
            candidates,
            seen,
            exact,
            open,
        } = scratch;
        tokens.read(job, &self.dictionary, &self.conditions);
        exact.clear();
        open.clear();
        for entry in self.postings.candidates(tokens, candidates) {
            if entry.is_repeated() && !seen.insert(entry.slot()) {
                continue;
            }
            let slots = if entry.is_exact() { &mut *exact } else { &mut *open };
            slots.push(entry.slot());
        }
        seen.forget(exact.iter().chain(&*open));
        // The records are far apart in memory. Reading one word of each first lets these reads overlap.
        let touched = open
            .iter()
            .fold(0, |touched, slot| touched ^ self.records[*slot as usize][0]);
        std::hint::black_box(touched);
    }

    /// The posting lists that a match of the job reads: the number of each list, and its length. For measurements.
    pub fn lists_read(&self, job: &PreparedJob, scratch: &mut MatchScratch) -> Vec<(u32, usize)> {
        scratch.job.read(job, &self.dictionary, &self.conditions);
        let lists = scratch.job.tokens.iter();
        lists
            .map(|token| (token.0, self.postings.length(*token)))
            .filter(|(_, entries)| *entries > 0)
            .collect()
    }

    /// The work of a match of the job. For measurements.
    pub fn effort(&self, job: &PreparedJob, scratch: &mut MatchScratch) -> MatchEffort {
        self.find_candidates(job, scratch);
        let evaluated = scratch.open.len();
        let mut matched = 0;
        self.for_each_match(job, scratch, |_| matched += 1);
        let lists = scratch.job.tokens.iter();
        MatchEffort {
            entries: lists.map(|token| self.postings.length(*token)).sum(),
            evaluated,
            matched,
        }
    }

    /// Adds the entries of a filter with this slot, and returns its record.
    fn register(&mut self, slot: u32, filter: &SavedFilter) -> Result<Box<[u32]>, IndexFull> {
        if slot > MAX_SLOT {
            return Err(IndexFull);
        }
        let Self {
            dictionary,
            conditions,
            postings,
            clauses,
            record,
            ..
        } = self;
        clauses.read(filter, dictionary, conditions)?;
        clauses.rank(dictionary, |token| postings.length(token));
        let bits = clauses
            .conditions
            .iter()
            .filter_map(|number| conditions.bit(*number));
        let mut entry = Entry::new(slot, bits.fold(0, |bits, bit| bits | bit));
        record::write(clauses, conditions, &mut entry, record)?;
        for token in record::anchors(record) {
            postings.add(token, entry)?;
        }
        Ok(record.as_slice().into())
    }

    /// Removes the slot's oldest entries, which belong to this record, and releases the record's conditions.
    fn release(&mut self, slot: u32, record: &[u32]) {
        for token in record::anchors(record) {
            self.postings.remove(token, slot);
        }
        for number in record::conditions(record) {
            self.conditions.release(*number);
        }
    }
}

impl<K: Hash + Eq> FilterIndex<K> {
    /// Adds a filter, or replaces the filter with the same key. Returns whether there was one.
    ///
    /// # Errors
    /// The index is full.
    pub fn insert(&mut self, key: K, filter: &SavedFilter) -> Result<bool, IndexFull> {
        if let Some(slot) = self.slot(&key) {
            let record = self.register(slot, filter)?;
            let old = std::mem::replace(&mut self.records[slot as usize], record);
            self.release(slot, &old);
            return Ok(true);
        }
        let slot = match self.free_slots.last() {
            Some(slot) => *slot,
            None => u32::try_from(self.keys.len()).map_err(|_| IndexFull)?,
        };
        let record = self.register(slot, filter)?;
        if self.free_slots.pop().is_some() {
            self.keys[slot as usize] = Some(key);
            self.records[slot as usize] = record;
        } else {
            self.keys.push(Some(key));
            self.records.push(record);
        }
        let hash = |slot: &u32| {
            let key = self.keys[*slot as usize].as_ref();
            key.map_or(0, |key| self.hasher.hash_one(key))
        };
        self.slots.insert_unique(hash(&slot), slot, hash);
        Ok(false)
    }

    /// Removes the filter with this key. Returns whether there was one.
    pub fn remove(&mut self, key: &K) -> bool {
        let Some(slot) = self.slot(key) else {
            return false;
        };
        let hash = self.hasher.hash_one(key);
        if let Ok(entry) = self.slots.find_entry(hash, |known| *known == slot) {
            entry.remove();
        }
        self.keys[slot as usize] = None;
        let record = std::mem::take(&mut self.records[slot as usize]);
        self.release(slot, &record);
        self.free_slots.push(slot);
        true
    }

    /// Whether there is a filter with this key.
    pub fn contains_key(&self, key: &K) -> bool {
        self.slot(key).is_some()
    }

    fn slot(&self, key: &K) -> Option<u32> {
        let has_key = |slot: &u32| self.keys[*slot as usize].as_ref() == Some(key);
        self.slots.find(self.hasher.hash_one(key), has_key).copied()
    }
}

impl<K: Ord + Clone> FilterIndex<K> {
    /// The keys of the filters that match the job, in ascending order.
    pub fn matches(&self, job: &PreparedJob) -> Vec<K> {
        let mut keys = Vec::new();
        self.for_each_match(job, &mut MatchScratch::default(), |key| keys.push(key.clone()));
        keys.sort_unstable();
        keys
    }
}

/// The slots seen during a match, as a set of bits.
#[derive(Debug, Clone, Default)]
struct Seen(Vec<u64>);

impl Seen {
    /// Returns whether the slot is new.
    fn insert(&mut self, slot: u32) -> bool {
        let (word, bit) = (slot as usize / 64, 1 << (slot % 64));
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        let is_new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        is_new
    }

    fn forget<'a>(&mut self, slots: impl Iterator<Item = &'a u32>) {
        for slot in slots {
            if let Some(seen) = self.0.get_mut(*slot as usize / 64) {
                *seen = 0;
            }
        }
    }
}
