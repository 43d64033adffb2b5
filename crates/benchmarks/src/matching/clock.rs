//! CPU time of this thread, and contenders measured in turn.

use std::time::{Duration, Instant};

/// CPU time that the calling thread has used; elapsed time where the system does not tell.
#[derive(Debug, Clone, Copy)]
pub(super) enum Stopwatch {
    Cpu(u64),
    Elapsed(Instant),
}

impl Stopwatch {
    pub(super) fn start() -> Self {
        cpu_nanoseconds().map_or_else(|| Self::Elapsed(Instant::now()), Self::Cpu)
    }

    pub(super) fn read(self) -> Duration {
        match self {
            Self::Cpu(start) => {
                Duration::from_nanos(cpu_nanoseconds().unwrap_or(start).saturating_sub(start))
            }
            Self::Elapsed(start) => start.elapsed(),
        }
    }
}

/// What Linux accounts to the thread.
fn cpu_nanoseconds() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split(' ').next()?.parse().ok()
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
