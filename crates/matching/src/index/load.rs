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

/// Why loading stopped. The index has the filters before the faulty one, and some after it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError<E> {
    /// A filter could not be compiled.
    #[error("{0}")]
    Faulty(E),
    /// The index is full.
    #[error(transparent)]
    Full(#[from] IndexFull),
}

/// A load of stored filters into an index; see [`FilterIndex::load`].
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
    /// Prepares to insert many filters. `compile` makes a key and a filter of each `stored` item.
    ///
    /// Each thread that takes part calls [`FilterLoad::work`]. Filters are compiled in parallel and indexed by one thread
    /// at a time. A million filters in JSON take some two seconds on two cores.
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
    /// The largest number of threads that can [`work`](Self::work) at once.
    pub fn useful_threads(&self) -> usize {
        self.stored.len().div_ceil(CHUNK)
    }

    /// Compiles and indexes filters until none is left or one is faulty. Any number of threads may call it at once.
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

    /// Loads the filters that are left, and returns the outcome.
    ///
    /// # Errors
    /// The error of the first faulty filter, or that the index is full.
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
