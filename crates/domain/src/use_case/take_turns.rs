//! Take turns: one process reads the feed at a time, and the others stand by. Tests: `tests/use_case/take_turns.rs`.

use std::sync::Arc;
use std::time::Duration;

use crate::port::{Clock, FeedLeaseStore, LeaseOwner, StoreError};

/// How long a reader that stops without a word keeps the others from reading. With the time between two tries reading
/// goes on within 5 s.
const LASTS: Duration = Duration::from_millis(3_500);
/// How often the reader renews its lease: it may miss one renewal.
const RENEWED_AFTER: Duration = Duration::from_millis(1_500);
/// How often those who stand by try to take the lease. A try that fails writes nothing.
const TRIED_AFTER: Duration = Duration::from_millis(500);

/// A process's turns of reading the feed.
#[derive(Debug, Clone)]
pub struct TakeTurns {
    /// Holds the lease.
    pub store: Arc<dyn FeedLeaseStore>,
    /// Tells how long the lease lasts.
    pub clock: Arc<dyn Clock>,
    /// Holds the lease, or tries to.
    pub owner: LeaseOwner,
}

/// Whether it is this process's turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// It reads; otherwise another process does.
    pub reads: bool,
    /// When to ask again.
    pub ask_after: Duration,
}

impl TakeTurns {
    /// Takes the turn if nobody has it, or keeps it.
    pub async fn ask(&self) -> Result<Turn, StoreError> {
        let now = self.clock.now();
        let reads = self.store.hold(&self.owner, now, now.plus(LASTS)).await?;
        Ok(Turn {
            reads,
            ask_after: if reads { RENEWED_AFTER } else { TRIED_AFTER },
        })
    }

    /// What to believe if the store cannot be asked: nobody reads then, since nothing could be recorded.
    pub fn unknown() -> Turn {
        Turn {
            reads: false,
            ask_after: TRIED_AFTER,
        }
    }

    /// Ends the turn: another process may read at once.
    pub async fn end(&self) -> Result<(), StoreError> {
        self.store.release(&self.owner).await
    }
}
