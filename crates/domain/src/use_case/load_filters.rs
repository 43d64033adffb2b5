//! Adds stored filters to an index.

use std::hash::Hash;

use crate::matching::index::LoadError;
use crate::matching::{FilterIndex, SavedFilter};
use crate::port::{StoreError, Threads};

/// Compiles and indexes `stored`, in parallel if there are many.
///
/// # Errors
/// The fault of a filter that cannot be compiled, or [`StoreError::Backend`] if the index is full. Some of the filters
/// are in the index then.
pub(super) fn load_filters<K: Hash + Eq + Send, S: Sync>(
    index: &mut FilterIndex<K>,
    stored: &[S],
    compile: impl Fn(&S) -> Result<(K, SavedFilter), StoreError> + Sync,
    threads: &dyn Threads,
) -> Result<(), StoreError> {
    let load = index.load(stored, compile);
    threads.run(load.useful_threads(), &|| load.work());
    load.finish().map_err(|error| match error {
        LoadError::Faulty(fault) => fault,
        LoadError::Full(full) => StoreError::Backend(full.to_string()),
    })
}
