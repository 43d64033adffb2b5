//! Wakes the workers of this process. A wake-up is a hint, since workers also poll.

use bidloop_domain::port::{WorkKind, WorkSignal};
use tokio::sync::Notify;

/// One notifier for each kind of work.
#[derive(Debug, Default)]
pub(crate) struct WorkNotifiers {
    deliveries: Notify,
    submissions: Notify,
    automatic_bids: Notify,
    backfills: Notify,
}

impl WorkNotifiers {
    /// The notifier that the worker for `kind` waits on.
    pub(crate) fn of(&self, kind: WorkKind) -> &Notify {
        match kind {
            WorkKind::Deliveries => &self.deliveries,
            WorkKind::Submissions => &self.submissions,
            WorkKind::AutomaticBids => &self.automatic_bids,
            WorkKind::Backfills => &self.backfills,
        }
    }
}

impl WorkSignal for WorkNotifiers {
    fn wake(&self, kind: WorkKind) {
        self.of(kind).notify_one();
    }
}
