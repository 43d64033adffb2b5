//! The reverse index: which of a million saved filters match a job, without asking each of them.
//!
//! How it comes by the answer:
//!
//! 1. Whatever filters name (words, prefixes, values of lists) is numbered once (`terms`); a filter's conditions
//!    are kept as a row of such numbers (`body`, `bodies`).
//! 2. From its conditions follow required groups (`required`): groups of tokens of each of which a job that matches
//!    has at least one. `rust (axum OR actix) -php` has the groups `{rust}` and `{axum, actix}`. A list of values is
//!    a group too. The filter is registered under each token of the group that is rarest in jobs (`frequencies`).
//!    A filter that requires nothing, such as one with bounds or negations alone, stands in a list that every job
//!    reads.
//! 3. An entry (`posting`) carries up to three further groups, or tokens that the job must not have in the place of two
//!    of them, and categories, flags, payment kinds and rates, in 32 bytes, so that nearly every candidate falls in one
//!    pass over the lists of the job's tokens (`postings`). An entry that says all that its filter does also tells a
//!    match.
//! 4. The other survivors are asked what their entries leave open (`survivor`): phrases, fields, numbers and whatever
//!    there was no room for.
//!
//! Prefixes are tokens like words: a job has every prefix, known to a filter, of its words (`prefixes`).
//!
//! # Limits
//!
//! What one filter can cost is bounded by the limits of the keyword language
//! ([`MAX_TERMS`](super::keywords::MAX_TERMS) and others) and of lists
//! ([`MAX_LIST_VALUES`](crate::MAX_LIST_VALUES)). A filter costs a job some nanoseconds unless the job has a
//! token of its rarest group and of the next ones. A filter that requires nothing rare, be it a one-letter prefix or
//! a common word, costs every such job an entry of 32 bytes, read in passing. Editing a filter costs the length of
//! the lists in which it stands, 16 bytes an entry. The vocabulary keeps what no filter names any more until an index
//! is built anew.

mod bodies;
mod body;
mod frequencies;
mod job_view;
mod load;
mod posting;
mod postings;
mod prefixes;
mod required;
mod rooms;
mod survivor;
mod terms;
mod token;
mod vocabulary;

use std::hash::{BuildHasher, Hash};

use hashbrown::{DefaultHashBuilder, HashTable};

use self::bodies::Bodies;
use self::job_view::JobView;
use self::posting::{MAX_FILTERS, Posting};
use self::postings::{Postings, Survivors};
use self::required::Groups;
use self::survivor::Asked;
use self::terms::Terms;
use self::token::Token;
use super::{CompiledFilter, PreparedJob};

pub use self::frequencies::Frequencies;
pub use self::load::LoadError;

/// The index cannot take the filter: some 60 million different words, 268 million filters, or 16 GiB of what entries
/// leave open, are in it already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the filter index is full")]
pub struct IndexFull;

/// Saved filters by key, asked all at once which of them match a job.
///
/// Edits take effect with the next match and mostly cost microseconds; nothing is ever rebuilt as a whole. Matching
/// takes `&self`: any number of threads may match at once. Who edits and matches in different threads wraps the index
/// in an [`RwLock`](std::sync::RwLock) and holds it for one edit at a time.
///
/// The index answers exactly as [`CompiledFilter::matches`] does, filter by filter.
///
/// ```
/// use bidloop_matching::{FilterIndex, JobFacts, PaymentKind, PreparedJob, SavedFilter};
/// use serde_json::json;
///
/// let compiled = |body| SavedFilter::from_value(&body).and_then(|filter| filter.check()).expect("no fault");
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
    terms: Terms,
    postings: Postings,
    bodies: Bodies,
    /// By slot.
    filters: Vec<Option<Filter<K>>>,
    free_slots: Vec<u32>,
    /// Slots by key.
    slots: HashTable<u32>,
    hasher: DefaultHashBuilder,
    groups: Groups,
    encoded: Vec<u32>,
}

#[derive(Debug, Clone)]
struct Filter<K> {
    key: K,
    body: u32,
}

/// Memory that matching uses again and again: one for each thread that matches.
#[derive(Debug, Clone, Default)]
pub struct MatchScratch {
    view: JobView,
    survivors: Survivors,
    /// Where the filters are that are evaluated.
    bodies: Vec<u32>,
}

/// What one match looked at, for measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MatchEffort {
    /// Entries read.
    pub entries: usize,
    /// Filters evaluated in full.
    pub evaluated: usize,
    /// Filters that matched.
    pub matched: usize,
}

impl<K> Default for FilterIndex<K> {
    fn default() -> Self {
        Self::with_frequencies(Frequencies::new())
    }
}

impl<K> FilterIndex<K> {
    /// An index without filters, which has seen no jobs.
    pub fn new() -> Self {
        Self::default()
    }

    /// An index without filters that knows what is rare in jobs.
    pub fn with_frequencies(frequencies: Frequencies) -> Self {
        Self {
            terms: Terms::with_frequencies(frequencies),
            postings: Postings::default(),
            bodies: Bodies::default(),
            filters: Vec::new(),
            free_slots: Vec::new(),
            slots: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            groups: Groups::default(),
            encoded: Vec::new(),
        }
    }

    /// What it has learnt about jobs, for the index that takes its place.
    pub fn into_frequencies(self) -> Frequencies {
        self.terms.into_frequencies()
    }

    /// How many filters there are.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there is no filter.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// How many entries the filters have together.
    pub fn entries(&self) -> usize {
        self.postings.count()
    }

    /// Learns from a job which words and values are frequent. Filters added later are registered accordingly.
    pub fn observe(&mut self, job: &PreparedJob, scratch: &mut MatchScratch) {
        self.terms.observe(job, &mut scratch.view);
    }

    /// Calls `found` with the key of each filter that matches the job, once, in no particular order.
    pub fn for_each_match(&self, job: &PreparedJob, scratch: &mut MatchScratch, mut found: impl FnMut(&K)) {
        let MatchScratch {
            view,
            survivors,
            bodies,
        } = scratch;
        view.look_at(job, &self.terms);
        self.postings.survivors(view, survivors);
        // The bodies lie far apart. Asking for all of them first lets the reads overlap, instead of each waiting for
        // what comes of the one before.
        bodies.clear();
        let open = survivors.open.iter();
        bodies.extend(open.map(|slot| {
            self.filters[*slot as usize]
                .as_ref()
                .map_or(0, |filter| filter.body)
        }));
        let touched = bodies
            .iter()
            .fold(0, |touched, body| touched ^ self.bodies.first(*body));
        std::hint::black_box(touched);
        let asked = Asked {
            job,
            view,
            terms: &self.terms,
        };
        for (slot, body) in survivors.open.iter().zip(bodies) {
            if asked.matches(self.bodies.from(*body)) {
                survivors.settled.push(*slot);
            }
        }
        for slot in &survivors.settled {
            if let Some(filter) = &self.filters[*slot as usize] {
                found(&filter.key);
            }
        }
    }

    /// The lists that a match of the job reads: a number that tells the list from others, and its entries. For
    /// measurements.
    pub fn lists_read(&self, job: &PreparedJob, scratch: &mut MatchScratch) -> Vec<(u32, usize)> {
        scratch.view.look_at(job, &self.terms);
        let lists = scratch.view.tokens.iter();
        lists
            .map(|token| (token.bits(), self.postings.load(*token)))
            .filter(|(_, entries)| *entries > 0)
            .collect()
    }

    /// What matching the job takes. For measurements.
    pub fn effort(&self, job: &PreparedJob, scratch: &mut MatchScratch) -> MatchEffort {
        let mut matched = 0;
        self.for_each_match(job, scratch, |_| matched += 1);
        MatchEffort {
            entries: scratch
                .view
                .tokens
                .iter()
                .map(|token| self.postings.load(*token))
                .sum(),
            evaluated: scratch.bodies.len(),
            matched,
        }
    }

    #[cfg(test)]
    pub(crate) fn body_words(&self) -> usize {
        self.bodies.len()
    }

    /// Forgets the oldest entries of the slot, which are those of this body.
    fn release(&mut self, slot: u32, body: u32) {
        let words = self.bodies.from(body);
        let length = body::length(words[0]);
        for token in body::tokens(&words[..length]) {
            self.postings.remove(Token::from_bits(*token), slot);
        }
        self.bodies.release(body, length);
    }

    /// Stores and registers a filter for the slot; tells its body's place.
    fn register(&mut self, slot: u32, filter: &CompiledFilter) -> Result<u32, IndexFull> {
        let Self {
            terms,
            postings,
            bodies,
            groups,
            encoded,
            ..
        } = self;
        if slot as usize >= MAX_FILTERS {
            return Err(IndexFull);
        }
        groups.clear();
        body::encode(filter, terms, groups, encoded)?;
        groups.rank(terms, |token| postings.load(token));
        let anchors = groups.rarest();
        let mut posting = Posting::new(slot, filter, &groups.categories);
        groups.enter(&mut posting, encoded);
        if anchors.len() > 1 {
            posting.set_one_of_several();
        }
        if body::is_settled(encoded) {
            posting.set_settled();
        }
        body::finish(anchors.iter().map(|token| token.bits()), encoded)?;
        let body = bodies.store(encoded)?;
        for token in anchors {
            postings.add(token, posting)?;
        }
        Ok(body)
    }
}

impl<K: Hash + Eq> FilterIndex<K> {
    /// Adds a filter, or replaces the one with the same key; tells whether there was one.
    pub fn insert(&mut self, key: K, filter: &CompiledFilter) -> Result<bool, IndexFull> {
        if let Some(slot) = self.slot(&key) {
            let body = self.register(slot, filter)?;
            if let Some(known) = &mut self.filters[slot as usize] {
                let old = std::mem::replace(&mut known.body, body);
                self.release(slot, old);
            }
            return Ok(true);
        }
        let slot = match self.free_slots.last() {
            Some(slot) => *slot,
            None => u32::try_from(self.filters.len()).map_err(|_| IndexFull)?,
        };
        let body = self.register(slot, filter)?;
        let filter = Some(Filter { key, body });
        if self.free_slots.pop().is_some() {
            self.filters[slot as usize] = filter;
        } else {
            self.filters.push(filter);
        }
        let (filters, hasher) = (&self.filters, &self.hasher);
        let hash = |slot: &u32| {
            filters[*slot as usize]
                .as_ref()
                .map_or(0, |filter| hasher.hash_one(&filter.key))
        };
        self.slots.insert_unique(hash(&slot), slot, hash);
        Ok(false)
    }

    /// Takes the filter with this key out; tells whether there was one.
    pub fn remove(&mut self, key: &K) -> bool {
        let hash = self.hasher.hash_one(key);
        let filters = &self.filters;
        let Ok(entry) = self.slots.find_entry(hash, |slot| has_key(filters, *slot, key)) else {
            return false;
        };
        let (slot, _) = entry.remove();
        if let Some(filter) = self.filters[slot as usize].take() {
            self.release(slot, filter.body);
        }
        self.free_slots.push(slot);
        true
    }

    /// Whether there is a filter with this key.
    pub fn contains_key(&self, key: &K) -> bool {
        self.slot(key).is_some()
    }

    fn slot(&self, key: &K) -> Option<u32> {
        let hash = self.hasher.hash_one(key);
        self.slots
            .find(hash, |slot| has_key(&self.filters, *slot, key))
            .copied()
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

fn has_key<K: Eq>(filters: &[Option<Filter<K>>], slot: u32, key: &K) -> bool {
    filters[slot as usize]
        .as_ref()
        .is_some_and(|filter| filter.key == *key)
}
