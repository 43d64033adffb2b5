//! What an input may cost.

use std::time::Duration;

use peak_alloc::PeakAlloc;
use rustix::time::{ClockId, clock_gettime};

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// CPU time for each MB of input: 20 ms, times 10 because this build is instrumented, checked and little optimized.
const PER_MB: Duration = Duration::from_millis(200);

/// CPU time that any input may take: what a target does apart from parsing, and the inexactness of the measurement.
const CONSTANT: Duration = Duration::from_millis(10);

/// Memory that any input may take.
const CONSTANT_BYTES: usize = 2 * 1_048_576;

/// Runs `work` on an input of `size` bytes.
///
/// # Panics
/// If it takes more than its share of CPU time in each of four runs, or more than ten times the input's size of memory.
pub(crate) fn bounded<T>(size: usize, mut work: impl FnMut() -> T) -> T {
    bounded_by(size, (CONSTANT, CONSTANT_BYTES), &mut work)
}

/// The same, with other constant shares of CPU time and memory.
pub(crate) fn bounded_by<T>(size: usize, (cpu, memory): (Duration, usize), mut work: impl FnMut() -> T) -> T {
    let megabytes = size as f64 / 1_048_576.0;
    let allowed = cpu + PER_MB.mul_f64(megabytes);
    let before = ALLOCATOR.current_usage();
    ALLOCATOR.reset_peak_usage();
    let mut started = cpu_time();
    let mut result = work();
    let mut taken = cpu_time().saturating_sub(started);
    let held = ALLOCATOR.peak_usage().saturating_sub(before);
    assert!(
        held <= memory + 10 * size,
        "{held} bytes of memory for an input of {size}"
    );
    // Another process on the same core can slow down a run.
    for _ in 0..3 {
        if taken <= allowed {
            break;
        }
        started = cpu_time();
        result = work();
        taken = taken.min(cpu_time().saturating_sub(started));
    }
    assert!(
        taken <= allowed,
        "{taken:?} of CPU time for an input of {size} bytes; allowed are {allowed:?}"
    );
    result
}

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or_default(),
        u32::try_from(time.tv_nsec).unwrap_or_default(),
    )
}
