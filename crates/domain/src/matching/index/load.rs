//! Many filters at once, as at start-up: compiled in several threads, indexed as they come.

use std::hash::Hash;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{channel, sync_channel};
use std::thread;

use super::{FilterIndex, IndexFull};
use crate::matching::CompiledFilter;

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

impl<K: Hash + Eq + Send> FilterIndex<K> {
    /// Adds the filters that `compile` makes of what is `stored`, or replaces those with the same keys. Compiling
    /// costs more than indexing, so it is done in as many threads as the machine runs at once. `progress` is told
    /// from time to time how many filters are in.
    ///
    /// A million filters in their stored form ([`SavedFilter::compile_stored`](crate::model::SavedFilter)) take some
    /// three seconds on two cores.
    pub fn load<S: Sync, E: Send>(
        &mut self,
        stored: &[S],
        compile: impl Fn(&S) -> Result<(K, CompiledFilter), E> + Sync,
        mut progress: impl FnMut(usize),
    ) -> Result<(), LoadError<E>> {
        if stored.len() <= CHUNK {
            for stored in stored {
                let (key, filter) = compile(stored).map_err(LoadError::Faulty)?;
                self.insert(key, &filter)?;
            }
            return Ok(());
        }
        let threads = thread::available_parallelism().map_or(1, NonZero::get);
        let next = AtomicUsize::new(0);
        let (sender, receiver) = sync_channel(4 * threads);
        thread::scope(|scope| {
            for _ in 0..threads {
                let (sender, next, compile) = (sender.clone(), &next, &compile);
                scope.spawn(move || {
                    // What is indexed comes back, since memory is given up best by the thread that asked for it.
                    let (back, indexed) = channel();
                    loop {
                        while let Ok(chunk) = indexed.try_recv() {
                            drop::<Vec<CompiledFilter>>(chunk);
                        }
                        let from = next.fetch_add(1, Ordering::Relaxed) * CHUNK;
                        let Some(rest) = stored.get(from..).filter(|rest| !rest.is_empty()) else {
                            return;
                        };
                        let chunk = &rest[..rest.len().min(CHUNK)];
                        let compiled: Result<(Vec<K>, Vec<CompiledFilter>), E> =
                            chunk.iter().map(compile).collect();
                        // Nobody listens any more after a fault.
                        if sender.send((compiled, back.clone())).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(sender);
            let mut loaded = 0;
            for (compiled, back) in receiver {
                let (keys, filters) = compiled.map_err(LoadError::Faulty)?;
                for (key, filter) in keys.into_iter().zip(&filters) {
                    self.insert(key, filter)?;
                    loaded += 1;
                }
                // Its thread may be done.
                drop(back.send(filters));
                progress(loaded);
            }
            Ok(())
        })
    }
}
