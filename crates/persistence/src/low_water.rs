//! From where on looks at a queue search.
//!
//! The rows of what a queue has worked off stay in its index as long as any transaction may see them, and each look from the
//! queue's start reads them again. So a look begins where the last one found the first row, as long as looks from the start
//! take too much of the time. Those find what was stored late, by a slow transaction or a clock that is behind: after some two
//! seconds, or a minute where [nobody waits](LowWater::patient) for it; later only if a look from the start takes long itself.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// However much late rows matter, looks from the start take at most one part in this many of the time.
const MOST_OF_TIME: u32 = 8;
/// A look from the start that took longer is dear.
const DEAR: Duration = Duration::from_millis(5);
/// By how much a row that is stored later may be in front of the first row: milliseconds, or numbers.
const SLACK: i64 = 20;

/// The mark of one queue, in the values by which the queue is ordered: UNIX milliseconds, or ascending numbers.
#[derive(Debug)]
pub(crate) struct LowWater {
    state: Mutex<State>,
    /// Looks from the start take one part in this many of the time,
    share_of_time: u32,
    /// or more, so that they are no further apart than this.
    longest: Duration,
}

#[derive(Debug, Default)]
struct State {
    mark: Option<i64>,
    /// The last look from the start, and how long it took.
    from_start: Option<(Instant, Duration)>,
}

impl Default for LowWater {
    fn default() -> Self {
        Self {
            state: Mutex::default(),
            share_of_time: 32,
            longest: Duration::from_secs(2),
        }
    }
}

impl LowWater {
    /// The start of every queue.
    pub(crate) const START: i64 = i64::MIN;

    /// The mark of a queue in which nobody waits for what was stored late.
    pub(crate) fn patient() -> Self {
        Self {
            share_of_time: 256,
            longest: Duration::from_secs(60),
            ..Self::default()
        }
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From where on a look finds a row, and one that is stored a little later in front of it.
    pub(crate) const fn before(row: i64) -> i64 {
        row.saturating_sub(SLACK)
    }

    /// Where the last look found the first row.
    pub(crate) fn mark(&self) -> Option<i64> {
        self.locked().mark
    }

    /// Has the next look search from the start.
    pub(crate) fn forget(&self) {
        *self.locked() = State::default();
    }

    /// From where on the next look searches.
    pub(crate) fn from(&self) -> i64 {
        let state = self.locked();
        let is_recent = state.from_start.is_some_and(|(at, took)| {
            let apart = (took * self.share_of_time).min(self.longest);
            at.elapsed() < apart.max(took * MOST_OF_TIME)
        });
        state.mark.filter(|_| is_recent).unwrap_or(Self::START)
    }

    /// Whether a look from the start costs so much that one from the mark has to do.
    pub(crate) fn is_dear(&self) -> bool {
        self.locked().from_start.is_some_and(|(_, took)| took > DEAR)
    }

    /// Whether a look from `from` on that found all there is needs no other from the start.
    pub(crate) fn suffices(&self, from: i64) -> bool {
        from == Self::START || self.is_dear()
    }

    /// Notes a look from `from` on that began at `began` and found `first` in front.
    pub(crate) fn note(&self, from: i64, began: Instant, first: Option<i64>) {
        let mut state = self.locked();
        let mark = first.map(Self::before);
        if from == Self::START {
            state.from_start = Some((Instant::now(), began.elapsed()));
            state.mark = mark.or(state.mark);
        } else {
            state.mark = state.mark.max(mark);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A moment so long ago that a look since then took a second.
    fn a_second_ago() -> Instant {
        Instant::now().checked_sub(Duration::from_secs(1)).unwrap()
    }

    #[test]
    fn looks_begin_at_the_first_row_while_those_from_the_start_are_dear() {
        let low = LowWater::default();
        assert_eq!((low.from(), low.is_dear()), (LowWater::START, false));
        low.note(LowWater::START, a_second_ago(), Some(50_000));
        assert_eq!((low.from(), low.is_dear()), (49_980, true));
        low.note(49_980, Instant::now(), Some(60_000));
        assert_eq!(low.from(), 59_980);
        low.note(59_980, Instant::now(), Some(59_990));
        assert_eq!(low.from(), 59_980, "a row that came late is within the slack");
        low.note(59_980, Instant::now(), None);
        assert_eq!(low.from(), 59_980);
    }

    #[test]
    fn a_look_from_the_start_lowers_the_mark() {
        let low = LowWater::default();
        low.note(LowWater::START, a_second_ago(), Some(50_000));
        low.note(LowWater::START, a_second_ago(), Some(20_000));
        assert_eq!(low.from(), 19_980);
    }

    /// Whether a look begins at the start when one that took `took` ended `ago`.
    fn begins_at_the_start(low: &LowWater, took: Duration, ago: Duration) -> bool {
        low.note(LowWater::START, a_second_ago(), Some(50_000));
        let at = Instant::now().checked_sub(ago).unwrap();
        low.locked().from_start = Some((at, took));
        low.from() == LowWater::START
    }

    #[test]
    fn the_start_is_looked_at_again_soon_and_later_where_nobody_waits_for_that() {
        let took = Duration::from_millis(200);
        let (soon, late) = (Duration::from_secs(2), Duration::from_secs(60));
        for (low, longest) in [(LowWater::default(), soon), (LowWater::patient(), late)] {
            assert!(!begins_at_the_start(&low, took, longest / 2));
            assert!(begins_at_the_start(&low, took, longest), "{low:?}");
        }
    }

    #[test]
    fn looks_from_the_start_take_an_eighth_of_the_time_at_most() {
        let took = Duration::from_secs(10);
        for low in [LowWater::default(), LowWater::patient()] {
            assert!(!begins_at_the_start(&low, took, took * 7));
            assert!(begins_at_the_start(&low, took, took * 8), "{low:?}");
        }
    }

    #[test]
    fn a_look_that_took_no_time_is_not_dear() {
        let low = LowWater::default();
        low.note(LowWater::START, Instant::now(), Some(50_000));
        assert!(!low.is_dear());
    }
}
