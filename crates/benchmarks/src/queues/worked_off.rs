//! How a queue was filled and worked off.

use crate::process::Cpu;
use crate::report::Row;

/// Seconds and CPU of a queue that was filled and then worked off.
#[derive(Debug, Clone, Copy)]
pub(super) struct WorkedOff {
    pub(super) count: usize,
    /// Seconds to fill it.
    pub(super) enqueue: f64,
    /// Seconds to work it off.
    pub(super) work: f64,
    /// Microseconds each.
    pub(super) cpu: Cpu,
}

impl WorkedOff {
    /// A second, from the first one's filing to the last one's end.
    pub(super) fn rate(&self) -> f64 {
        self.count as f64 / (self.enqueue + self.work)
    }

    pub(super) fn row(&self, measure: String) -> Row {
        Row::new(measure, self.rate(), "/s")
            .with("enqueued /s", self.count as f64 / self.enqueue)
            .with("worked off /s", self.count as f64 / self.work)
            .with("own CPU µs", self.cpu.server)
            .with("database CPU µs", self.cpu.database)
    }
}
