//! Adds stored filters to an index, in as many threads as the machine runs at once.

use std::hash::Hash;
use std::num::NonZero;
use std::thread;

use crate::matching::index::LoadError;
use crate::matching::{FilterIndex, SavedFilter};
use crate::port::StoreError;

/// Compiles and indexes `stored`, in parallel if there are many.
///
/// # Errors
/// The fault of a filter that cannot be compiled, or [`StoreError::Backend`] if the index is full. Some of the filters
/// are in the index then.
pub(super) fn load_in_parallel<K: Hash + Eq + Send, S: Sync>(
    index: &mut FilterIndex<K>,
    stored: &[S],
    compile: impl Fn(&S) -> Result<(K, SavedFilter), StoreError> + Sync,
) -> Result<(), StoreError> {
    let load = index.load(stored, compile);
    let available = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        // This thread takes part, too.
        for _ in 1..available.min(load.useful_threads()) {
            scope.spawn(|| load.work());
        }
        load.work();
    });
    load.finish().map_err(|error| match error {
        LoadError::Faulty(fault) => fault,
        LoadError::Full(full) => StoreError::Backend(full.to_string()),
    })
}
