//! Wake-ups within the process.

use bidloop_domain::port::{WorkKind, WorkSignal};
use tokio::sync::Notify;

/// One wake-up a kind of work.
#[derive(Debug, Default)]
pub(crate) struct Wakes {
    deliveries: Notify,
    submissions: Notify,
    automatic_bids: Notify,
    backfills: Notify,
}

impl Wakes {
    /// What the loop for `kind` waits on.
    pub(crate) fn of(&self, kind: WorkKind) -> &Notify {
        match kind {
            WorkKind::Deliveries => &self.deliveries,
            WorkKind::Submissions => &self.submissions,
            WorkKind::AutomaticBids => &self.automatic_bids,
            WorkKind::Backfills => &self.backfills,
        }
    }
}

impl WorkSignal for Wakes {
    fn wake(&self, kind: WorkKind) {
        self.of(kind).notify_one();
    }
}
