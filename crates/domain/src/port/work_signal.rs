//! Hints that there is work. If one is lost, the next poll finds the work.

/// A kind of queued work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WorkKind {
    /// Deliveries are pending.
    Deliveries,
    /// Bids are queued.
    Submissions,
    /// Intents to bid by template wait.
    AutomaticBids,
    /// Filters changed.
    Backfills,
}

/// Wakes the workers of this process.
pub trait WorkSignal: Send + Sync + std::fmt::Debug {
    /// There may be work of this kind.
    fn wake(&self, kind: WorkKind);
}
