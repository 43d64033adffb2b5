//! Adds stored filters to an index.

use std::hash::Hash;

use crate::matching::{FilterIndex, SavedFilter};
use crate::port::{Quarantine, StoreError, Threads, UnreadableRow};

/// Compiles and indexes `stored`, in parallel if there are many. Filters that cannot be compiled are set aside.
///
/// # Errors
/// [`StoreError::Backend`] if the index is full. Some of the filters are in the index then.
pub(super) fn load_filters<K: Hash + Eq + Send, S: Sync>(
    index: &mut FilterIndex<K>,
    stored: &[S],
    compile: impl Fn(&S) -> Result<(K, SavedFilter), UnreadableRow> + Sync,
    quarantine: &Quarantine,
    threads: &dyn Threads,
) -> Result<(), StoreError> {
    let readable = |stored: &S| compile(stored).inspect_err(|row| quarantine.set_aside(row)).ok();
    let load = index.load(stored, readable);
    threads.run(load.useful_threads(), &|| load.work());
    load.finish()
        .map_err(|full| StoreError::Backend(full.to_string()))
}
