//! The system's clock, randomness and threads behind the domain's ports.

use std::num::NonZero;
use std::sync::LazyLock;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use bidloop_domain::model::Timestamp;
use bidloop_domain::port::{Clock, Entropy, Pause, Threads};
use uuid::Uuid;

/// The machine's clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the Clock port's adapter")]
    fn now(&self) -> Timestamp {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_millis(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX))
    }

    fn monotonic(&self) -> Duration {
        static FIRST_ASKED: LazyLock<Instant> = LazyLock::new(Instant::now);
        FIRST_ASKED.elapsed()
    }
}

#[async_trait]
impl Pause for SystemClock {
    async fn pause(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}

/// The machine's source of randomness.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SystemEntropy;

impl Entropy for SystemEntropy {
    #[expect(clippy::disallowed_methods, reason = "this is the Entropy port's adapter")]
    fn uuid(&self) -> Uuid {
        Uuid::now_v7()
    }

    #[expect(
        clippy::panic,
        reason = "without randomness no key can be generated, and the program cannot continue"
    )]
    fn fill_random(&self, bytes: &mut [u8]) {
        if let Err(error) = getrandom::fill(bytes) {
            panic!("the system's source of randomness failed: {error}");
        }
    }

    fn fraction(&self) -> f64 {
        let mut bytes = [0; 4];
        self.fill_random(&mut bytes);
        f64::from(u32::from_le_bytes(bytes)) / (f64::from(u32::MAX) + 1.0)
    }
}

/// As many threads as the machine runs at once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SystemThreads;

impl Threads for SystemThreads {
    fn run(&self, useful: usize, work: &(dyn Fn() + Sync)) {
        let available = thread::available_parallelism().map_or(1, NonZero::get);
        thread::scope(|scope| {
            for _ in 1..available.min(useful) {
                scope.spawn(work);
            }
            work();
        });
    }
}
