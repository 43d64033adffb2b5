//! Who was woken.

use std::sync::Mutex;

use bidloop_domain::port::{WorkKind, WorkSignal};

use crate::locked;

/// Remembers every wake-up.
#[derive(Debug, Default)]
pub struct RecordingWorkSignal(Mutex<Vec<WorkKind>>);

impl RecordingWorkSignal {
    /// Nobody was woken yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The wake-ups since the last call, in order.
    pub fn take(&self) -> Vec<WorkKind> {
        std::mem::take(&mut *locked(&self.0))
    }
}

impl WorkSignal for RecordingWorkSignal {
    fn wake(&self, kind: WorkKind) {
        locked(&self.0).push(kind);
    }
}
