//! Many filters at once, as at start-up: compiled by as many threads as the caller brings, indexed as they come.

use std::fmt;
use std::hash::Hash;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::FilterIndex;
use super::token::IndexFull;
use crate::SavedFilter;

/// Filters that are compiled at a stretch; so few that they are in the processor's cache still when they are indexed.
const CHUNK: usize = 128;

/// Why filters were not loaded. Those before the fault, and some after it, are in the index.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError<E> {
    /// A filter could not be compiled.
    #[error("{0}")]
    Faulty(E),
    /// The index is full.
    #[error(transparent)]
    Full(#[from] IndexFull),
}

/// Stored filters on their way into an index; see [`FilterIndex::load`].
pub struct FilterLoad<'a, K, S, E, F> {
    stored: &'a [S],
    compile: F,
    next: AtomicUsize,
    state: Mutex<State<'a, K, E>>,
}

struct State<'a, K, E> {
    index: &'a mut FilterIndex<K>,
    outcome: Result<(), LoadError<E>>,
}

impl<K: Hash + Eq, E> State<'_, K, E> {
    fn insert(&mut self, keys: Vec<K>, filters: &[SavedFilter]) -> Result<(), IndexFull> {
        for (key, filter) in keys.into_iter().zip(filters) {
            self.index.insert(key, filter)?;
        }
        Ok(())
    }
}

impl<K: Hash + Eq> FilterIndex<K> {
    /// Prepares to add the filters that `compile` makes of what is `stored`, or to replace those with the same keys.
    ///
    /// Compiling costs more than indexing and can be done in parallel: each thread that the caller brings calls
    /// [`FilterLoad::work`]. A million filters in their stored form
    /// ([`SavedFilter::parse`](crate::SavedFilter::parse)) take some three seconds on two cores.
    ///
    /// ```
    /// use bidloop_matching::{FilterIndex, SavedFilter};
    ///
    /// let stored = [(1, r#"{"keywords": "rust"}"#), (2, r#"{"keywords": "go"}"#)];
    /// let mut index = FilterIndex::new();
    /// let load = index.load(&stored, |(id, json)| SavedFilter::parse(json).map(|filter| (*id, filter)));
    /// std::thread::scope(|threads| {
    ///     threads.spawn(|| load.work());
    ///     threads.spawn(|| load.work());
    /// });
    /// load.finish().expect("good filters");
    /// assert_eq!(index.len(), 2);
    /// ```
    pub fn load<'a, S, E, F>(&'a mut self, stored: &'a [S], compile: F) -> FilterLoad<'a, K, S, E, F>
    where
        F: Fn(&S) -> Result<(K, SavedFilter), E>,
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

impl<K, S, E, F> FilterLoad<'_, K, S, E, F>
where
    K: Hash + Eq,
    F: Fn(&S) -> Result<(K, SavedFilter), E>,
{
    /// How many threads can usefully [`work`](Self::work): one for a few filters.
    pub fn useful_threads(&self) -> usize {
        self.stored.len().div_ceil(CHUNK)
    }

    /// Compiles and indexes filters until none is left or one is faulty. Several threads may call it at once.
    pub fn work(&self) {
        loop {
            let from = self.next.fetch_add(1, Ordering::Relaxed).saturating_mul(CHUNK);
            let Some(rest) = self.stored.get(from..).filter(|rest| !rest.is_empty()) else {
                return;
            };
            let chunk = &rest[..rest.len().min(CHUNK)];
            let compiled: Result<(Vec<K>, Vec<SavedFilter>), E> = chunk.iter().map(&self.compile).collect();
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            if state.outcome.is_err() {
                return;
            }
            match compiled {
                Err(fault) => state.outcome = Err(LoadError::Faulty(fault)),
                Ok((keys, filters)) => {
                    if let Err(full) = state.insert(keys, &filters) {
                        state.outcome = Err(LoadError::Full(full));
                    }
                    // Before the filters are dropped, which takes a while.
                    drop(state);
                }
            }
        }
    }

    /// Loads what is left on this thread, and returns the outcome.
    pub fn finish(self) -> Result<(), LoadError<E>> {
        self.work();
        self.state
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
            .outcome
    }
}

impl<K, S, E, F> fmt::Debug for FilterLoad<'_, K, S, E, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FilterLoad")
            .field("filters", &self.stored.len())
            .finish_non_exhaustive()
    }
}
