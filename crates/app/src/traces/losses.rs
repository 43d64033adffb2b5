//! Counts the spans that were dropped, and warns of them.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The shortest time between two warnings.
const BETWEEN_WARNINGS: Duration = Duration::from_secs(60);

/// Spans that were dropped.
#[derive(Debug, Default)]
pub(super) struct Losses(Mutex<Unreported>);

#[derive(Debug, Default)]
struct Unreported {
    spans: u64,
    warned: Option<Instant>,
}

impl Losses {
    #[cfg_attr(
        not(feature = "otel"),
        expect(dead_code, reason = "only an exporter calls it")
    )]
    pub(super) fn note(&self, spans: u64, why: &dyn std::fmt::Display) {
        if let Some(dropped) = self.to_report(spans, Instant::now()) {
            tracing::warn!(dropped, %why, "spans were not exported");
        }
    }

    /// How many to warn of now.
    fn to_report(&self, spans: u64, now: Instant) -> Option<u64> {
        let mut unreported = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        unreported.spans += spans;
        let is_quiet = unreported
            .warned
            .is_some_and(|warned| now.duration_since(warned) < BETWEEN_WARNINGS);
        if is_quiet {
            return None;
        }
        unreported.warned = Some(now);
        Some(std::mem::take(&mut unreported.spans))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_warned_of_once_a_minute_and_all_are_counted() {
        let (losses, start) = (Losses::default(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(losses.to_report(2, at(0)), Some(2));
        assert_eq!(losses.to_report(3, at(1)), None);
        assert_eq!(losses.to_report(4, at(59)), None);
        assert_eq!(losses.to_report(1, at(60)), Some(8));
        assert_eq!(losses.to_report(1, at(61)), None);
    }
}
