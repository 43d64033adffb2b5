//! Ids and randomness that are the same in every run.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use bidloop_domain::port::Entropy;
use uuid::Uuid;

use crate::locked;

/// Counts: the n-th UUID is the number n. "Random" bytes are drawn from the same count, so they are never twice
/// the same, and foreseeable.
///
/// ```
/// use bidloop_domain::port::Entropy;
/// use bidloop_fakes::SequentialEntropy;
///
/// let entropy = SequentialEntropy::new();
/// assert_eq!(entropy.uuid().to_string(), "00000000-0000-0000-0000-000000000001");
/// entropy.set_fraction(0.25);
/// assert_eq!(entropy.fraction(), 0.25);
/// ```
#[derive(Debug)]
pub struct SequentialEntropy {
    last: AtomicU64,
    fraction: Mutex<f64>,
}

impl Default for SequentialEntropy {
    fn default() -> Self {
        Self {
            last: AtomicU64::new(0),
            fraction: Mutex::new(0.5),
        }
    }
}

impl SequentialEntropy {
    /// Begins at 1, with a fraction of one half.
    pub fn new() -> Self {
        Self::default()
    }

    /// What [`Entropy::fraction`] answers from now on.
    pub fn set_fraction(&self, fraction: f64) {
        *locked(&self.fraction) = fraction;
    }

    fn next(&self) -> u64 {
        self.last.fetch_add(1, Ordering::SeqCst) + 1
    }
}

impl Entropy for SequentialEntropy {
    fn uuid(&self) -> Uuid {
        Uuid::from_u128(u128::from(self.next()))
    }

    fn fill_random(&self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&scattered(self.next()).to_le_bytes()[..chunk.len()]);
        }
    }

    fn fraction(&self) -> f64 {
        *locked(&self.fraction)
    }
}

/// The `SplitMix64` finalizer: different numbers stay different and look unlike.
fn scattered(count: u64) -> u64 {
    let mut bits = count.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}
