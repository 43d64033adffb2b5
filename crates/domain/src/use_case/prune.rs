//! Prune: removes what is older than the operator wants to keep, in small steps between which the loop goes on.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crate::model::Timestamp;
use crate::port::{Clock, Prunable, PruneCursor, RetentionStore, StoreError};

/// Up to this many rows of a kind are counted by [`Prune::count`].
const COUNTED_AT_MOST: u32 = 100_000;

/// How long each kind is kept; `None`: for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Activity entries, and what was counted.
    pub activity: Option<Duration>,
    /// Deliveries that ended.
    pub deliveries: Option<Duration>,
    /// Matches and job posts without leads.
    pub jobs: Option<Duration>,
    /// Letters and answers of bids that ended.
    pub letters: Option<Duration>,
}

impl Retention {
    fn of(self, kind: Prunable) -> Option<Duration> {
        match kind {
            // Counts sum up the record.
            Prunable::Activity | Prunable::Statistics => self.activity,
            Prunable::Deliveries => self.deliveries,
            Prunable::Letters => self.letters,
            Prunable::Matches | Prunable::Jobs => self.jobs,
            Prunable::SignIns => Some(Duration::ZERO),
        }
    }
}

/// How many rows a step removes: some milliseconds of work, for which pages of the feed wait; on SQLite every other
/// command does.
fn rows_at_once(kind: Prunable) -> u32 {
    match kind {
        Prunable::Matches | Prunable::Statistics => 500,
        Prunable::Activity | Prunable::Deliveries | Prunable::SignIns => 200,
        Prunable::Letters | Prunable::Jobs => 100,
    }
}

/// Removes what is old.
#[derive(Debug, Clone)]
pub struct Prune {
    /// Removes.
    pub store: Arc<dyn RetentionStore>,
    /// Tells the age.
    pub clock: Arc<dyn Clock>,
    /// What to keep.
    pub retention: Retention,
}

/// A pass over all kinds.
#[derive(Debug)]
pub struct PruneRun {
    store: Arc<dyn RetentionStore>,
    /// What is left to do: a kind, the age, and where to go on.
    left: VecDeque<(Prunable, Timestamp, PruneCursor)>,
    removed: BTreeMap<Prunable, u64>,
}

/// What of a kind a pass would remove.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrunableCount {
    /// The kind.
    pub kind: Prunable,
    /// Rows.
    pub rows: u64,
    /// Whether there may be more: counting has an end.
    pub is_least: bool,
}

impl Prune {
    /// Begins a pass over what is old now.
    pub async fn begin(&self) -> Result<PruneRun, StoreError> {
        let now = self.clock.now();
        if let Some(age) = self.retention.jobs {
            self.store.note_stored_jobs(now, now.minus(age)).await?;
        }
        let left = self
            .due(now)
            .map(|(kind, before)| (kind, before, PruneCursor::Start));
        Ok(PruneRun {
            store: Arc::clone(&self.store),
            left: left.collect(),
            removed: BTreeMap::new(),
        })
    }

    /// What a pass would remove now. Changes nothing. Matches that hold jobs count as if they were removed already.
    pub async fn count(&self) -> Result<Vec<PrunableCount>, StoreError> {
        let mut counts = Vec::new();
        for (kind, before) in self.due(self.clock.now()) {
            let rows = self.store.count_prunable(kind, before, COUNTED_AT_MOST).await?;
            counts.push(PrunableCount {
                kind,
                rows,
                is_least: rows >= u64::from(COUNTED_AT_MOST),
            });
        }
        Ok(counts)
    }

    fn due(&self, now: Timestamp) -> impl Iterator<Item = (Prunable, Timestamp)> {
        let retention = self.retention;
        Prunable::ALL
            .into_iter()
            .filter_map(move |kind| Some((kind, now.minus(retention.of(kind)?))))
    }
}

impl PruneRun {
    /// Makes one step, and returns how many rows of what it removed; `None` if nothing is left to do. A step that fails
    /// can be made again.
    pub async fn step(&mut self) -> Result<Option<(Prunable, u64)>, StoreError> {
        let Some((kind, before, from)) = self.left.front_mut() else {
            return Ok(None);
        };
        let kind = *kind;
        let step = self.store.prune(kind, *before, from, rows_at_once(kind)).await?;
        *self.removed.entry(kind).or_default() += step.removed;
        match step.next {
            Some(next) => *from = next,
            None => {
                self.left.pop_front();
            }
        }
        Ok(Some((kind, step.removed)))
    }

    /// How many rows of each kind were removed so far.
    pub fn removed(&self) -> &BTreeMap<Prunable, u64> {
        &self.removed
    }
}
