//! CPU time of this thread, and contenders measured in turn.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// CPU time that the calling thread uses.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stopwatch(Duration);

impl Stopwatch {
    pub(super) fn start() -> Self {
        Self(cpu_time())
    }

    pub(super) fn read(self) -> Duration {
        cpu_time().saturating_sub(self.0)
    }
}

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}

/// Seconds that each contender takes a unit of work, and how many times the first's the second's are: the medians of
/// rounds in which both run in turn, after one that does not count.
pub(super) fn in_turn(
    rounds: usize,
    units: usize,
    mut first: impl FnMut(),
    mut second: impl FnMut(),
) -> [f64; 3] {
    let mut figures = [Vec::new(), Vec::new(), Vec::new()];
    #[expect(clippy::cast_precision_loss, reason = "a count of jobs")]
    let each = |work: &mut dyn FnMut()| {
        let watch = Stopwatch::start();
        work();
        watch.read().as_secs_f64() / units as f64
    };
    for round in 0..=rounds {
        let (first, second) = (each(&mut first), each(&mut second));
        if round > 0 {
            for (list, figure) in figures.iter_mut().zip([first, second, second / first]) {
                list.push(figure);
            }
        }
    }
    figures.map(median)
}

pub(super) fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The figure that 99 of 100 do not exceed.
pub(super) fn p99(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() * 99 / 100).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_percentiles_are_of_the_sorted_figures() {
        let figures: Vec<f64> = (0..200).rev().map(f64::from).collect();
        assert_eq!((median(figures.clone()), p99(figures)), (100.0, 198.0));
    }

    #[test]
    fn contenders_take_turns() {
        let order = std::cell::RefCell::new(String::new());
        in_turn(
            2,
            1,
            || order.borrow_mut().push('a'),
            || order.borrow_mut().push('b'),
        );
        assert_eq!(order.into_inner(), "ababab");
    }
}
