//! How a queue was filled and worked off.

use crate::process::Cpu;
use crate::report::Row;

/// Seconds and CPU of a queue that was filled and then worked off.
#[derive(Debug, Clone, Copy)]
pub(super) struct WorkedOff {
    pub(super) count: usize,
    /// Seconds to fill it.
    pub(super) enqueue: f64,
    /// Seconds to work off what was left then.
    pub(super) work: f64,
    /// Microseconds each.
    pub(super) cpu: Cpu,
}

impl WorkedOff {
    /// A second, from the first one's filing to the last one's end.
    pub(super) fn rate(&self) -> f64 {
        self.count as f64 / (self.enqueue + self.work)
    }

    /// The run whose rate is the middle one.
    pub(super) fn median(runs: &[Self]) -> Self {
        let mut runs = runs.to_vec();
        runs.sort_by(|a, b| a.rate().total_cmp(&b.rate()));
        runs[runs.len() / 2]
    }

    pub(super) fn row(&self, measure: String) -> Row {
        Row::new(measure, self.rate(), "/s")
            .with("filled in s", self.enqueue)
            .with("worked off after s", self.work)
            .with("own CPU µs", self.cpu.server)
            .with("database CPU µs", self.cpu.database)
    }
}
