//! Loads many filters at once, in any number of threads of the caller.

use std::fmt;
use std::hash::Hash;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::FilterIndex;
use super::token::IndexFull;
use crate::SavedFilter;

/// The number of filters that a thread compiles before it indexes them. They still fit into the processor's cache then.
const CHUNK: usize = 32;

/// A load of stored filters into an index; see [`FilterIndex::load`].
pub struct FilterLoad<'a, K, S, F> {
    stored: &'a [S],
    compile: F,
    next: AtomicUsize,
    state: Mutex<State<'a, K>>,
}

struct State<'a, K> {
    index: &'a mut FilterIndex<K>,
    outcome: Result<(), IndexFull>,
}

impl<K: Hash + Eq> State<'_, K> {
    fn insert(&mut self, keys: Vec<K>, filters: &[SavedFilter]) -> Result<(), IndexFull> {
        for (key, filter) in keys.into_iter().zip(filters) {
            self.index.insert(key, filter)?;
        }
        Ok(())
    }
}

impl<K: Hash + Eq> FilterIndex<K> {
    /// Prepares to insert many filters. `compile` makes a key and a filter of each `stored` item, or passes it over.
    ///
    /// Each thread that takes part calls [`FilterLoad::work`]. Filters are compiled in parallel and indexed by one thread
    /// at a time. A million filters in JSON take some two seconds on two cores.
    ///
    /// ```
    /// use bidloop_matching::{FilterIndex, SavedFilter};
    ///
    /// let stored = [(1, r#"{"keywords": "rust"}"#), (2, r#"{"keywords": "go"}"#)];
    /// let mut index = FilterIndex::new();
    /// let load = index.load(&stored, |(id, json)| Some((*id, SavedFilter::parse(json).ok()?)));
    /// std::thread::scope(|threads| {
    ///     threads.spawn(|| load.work());
    ///     threads.spawn(|| load.work());
    /// });
    /// load.finish().expect("an index that is not full");
    /// assert_eq!(index.len(), 2);
    /// ```
    pub fn load<'a, S, F>(&'a mut self, stored: &'a [S], compile: F) -> FilterLoad<'a, K, S, F>
    where
        F: Fn(&S) -> Option<(K, SavedFilter)>,
    {
        FilterLoad {
            stored,
            compile,
            next: AtomicUsize::new(0),
            state: Mutex::new(State {
                index: self,
                outcome: Ok(()),
            }),
        }
    }
}

impl<K, S, F> FilterLoad<'_, K, S, F>
where
    K: Hash + Eq,
    F: Fn(&S) -> Option<(K, SavedFilter)>,
{
    /// The largest number of threads that can [`work`](Self::work) at once.
    pub fn useful_threads(&self) -> usize {
        self.stored.len().div_ceil(CHUNK)
    }

    /// Compiles and indexes filters until none is left or the index is full. Any number of threads may call it at once.
    pub fn work(&self) {
        loop {
            let from = self.next.fetch_add(1, Ordering::Relaxed).saturating_mul(CHUNK);
            let Some(rest) = self.stored.get(from..).filter(|rest| !rest.is_empty()) else {
                return;
            };
            let chunk = &rest[..rest.len().min(CHUNK)];
            let (keys, filters): (Vec<K>, Vec<SavedFilter>) = chunk.iter().filter_map(&self.compile).unzip();
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            if state.outcome.is_err() {
                return;
            }
            state.outcome = state.insert(keys, &filters);
            // Before the filters are dropped, which takes a while.
            drop(state);
        }
    }

    /// Loads the filters that are left, and returns the outcome.
    ///
    /// # Errors
    /// The index is full. It has some of the filters.
    pub fn finish(self) -> Result<(), IndexFull> {
        self.work();
        self.state
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
            .outcome
    }
}

impl<K, S, F> fmt::Debug for FilterLoad<'_, K, S, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FilterLoad")
            .field("filters", &self.stored.len())
            .finish_non_exhaustive()
    }
}
