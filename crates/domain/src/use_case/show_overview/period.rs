//! The periods of the Overview, in whole hours or days of UTC.

use crate::model::{StatisticsStep, Timestamp};

/// How far back the Overview looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OverviewPeriod {
    /// This hour and the 23 before it.
    #[default]
    Day,
    /// Today and the 6 days before it.
    Week,
    /// Today and the 29 days before it.
    Month,
}

/// A period in time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    /// In which steps it is counted.
    pub(super) step: StatisticsStep,
    /// How many they are.
    pub(super) steps: i64,
    /// The period's beginning.
    pub(super) from: Timestamp,
    /// Its end.
    pub(super) until: Timestamp,
    /// The beginning of the period before it, which ends where it begins.
    pub(super) before: Timestamp,
    /// The parts of the series of times: so many steps each.
    pub(super) times: (StatisticsStep, u8),
}

impl OverviewPeriod {
    pub(super) fn span(self, now: Timestamp) -> Span {
        let (step, steps, times) = match self {
            Self::Day => (StatisticsStep::Hour, 24, (StatisticsStep::Hour, 1)),
            Self::Week => (StatisticsStep::Day, 7, (StatisticsStep::Hour, 4)),
            Self::Month => (StatisticsStep::Day, 30, (StatisticsStep::Day, 1)),
        };
        let until = step.shifted(step.start(now), 1);
        let from = step.shifted(until, -steps);
        Span {
            step,
            steps,
            from,
            until,
            before: step.shifted(from, -steps),
            times,
        }
    }
}
