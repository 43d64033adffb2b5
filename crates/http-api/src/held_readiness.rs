//! [`HeldReadiness`]: whether the service is ready, asked at most once a second.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tokio::sync::Mutex;

use crate::ports::Readiness;

/// How long the service counts as ready after an answer.
const READY_FOR: Duration = Duration::from_secs(1);

/// How long it counts as not ready. Shorter, so that the end of an outage is seen at once.
const NOT_READY_FOR: Duration = Duration::from_millis(50);

/// How long, as long as it has not been ready: a start takes some milliseconds.
const NOT_STARTED_FOR: Duration = Duration::from_millis(2);

/// Holds the answer of another [`Readiness`]. Requests that arrive while it is being asked wait for that answer. So
/// requests without a valid key, which anyone can send, cost the database next to nothing. All servers of a process share
/// one.
#[derive(Debug)]
pub struct HeldReadiness {
    asked: Arc<dyn Readiness>,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    is_ready: bool,
    has_been_ready: bool,
    /// `None` at first.
    until: Option<Instant>,
}

impl HeldReadiness {
    /// Asks `asked`, if no answer is held.
    pub fn new(asked: Arc<dyn Readiness>) -> Self {
        Self {
            asked,
            held: Mutex::default(),
        }
    }

    async fn is_ready_at(&self, now: impl Fn() -> Instant + Send) -> bool {
        let mut held = self.held.lock().await;
        if held.until.is_some_and(|until| now() < until) {
            return held.is_ready;
        }
        held.is_ready = self.asked.is_ready().await;
        held.has_been_ready |= held.is_ready;
        let held_for = match (held.is_ready, held.has_been_ready) {
            (true, _) => READY_FOR,
            (false, true) => NOT_READY_FOR,
            (false, false) => NOT_STARTED_FOR,
        };
        held.until = Some(now() + held_for);
        held.is_ready
    }
}

#[async_trait]
impl Readiness for HeldReadiness {
    async fn is_ready(&self) -> bool {
        self.is_ready_at(Instant::now).await
    }

    fn workers_down(&self) -> Vec<&'static str> {
        self.asked.workers_down()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::future::join_all;

    use super::*;

    /// Ready the first time only.
    #[derive(Debug, Default)]
    struct ReadyOnce(AtomicUsize);

    #[async_trait]
    impl Readiness for ReadyOnce {
        async fn is_ready(&self) -> bool {
            tokio::task::yield_now().await;
            self.0.fetch_add(1, Ordering::SeqCst) == 0
        }
    }

    /// Ready from the second time on.
    #[derive(Debug, Default)]
    struct ReadySoon(AtomicUsize);

    #[async_trait]
    impl Readiness for ReadySoon {
        async fn is_ready(&self) -> bool {
            self.0.fetch_add(1, Ordering::SeqCst) > 0
        }
    }

    #[tokio::test]
    async fn the_end_of_a_start_is_seen_at_once() {
        let asked = Arc::new(ReadySoon::default());
        let held = HeldReadiness::new(asked.clone());
        let start = Instant::now();
        let at = |after| held.is_ready_at(move || start + after);
        assert!(!at(Duration::ZERO).await);
        assert!(!at(NOT_STARTED_FOR / 2).await);
        assert_eq!(asked.0.load(Ordering::SeqCst), 1);
        assert!(at(NOT_STARTED_FOR).await);
    }

    #[tokio::test]
    async fn an_answer_is_held_for_a_second_and_a_refusal_for_less() {
        let asked = Arc::new(ReadyOnce::default());
        let held = HeldReadiness::new(asked.clone());
        let times = || asked.0.load(Ordering::SeqCst);
        let start = Instant::now();
        let at = |after| held.is_ready_at(move || start + after);
        let ask_at_once = (0..100).map(|_| at(Duration::ZERO));
        assert_eq!(join_all(ask_at_once).await, [true; 100]);
        assert!(at(READY_FOR / 2).await);
        assert_eq!(times(), 1);
        assert!(!at(READY_FOR).await);
        assert!(!at(READY_FOR).await);
        assert_eq!(times(), 2);
        assert!(!at(READY_FOR + NOT_READY_FOR).await);
        assert_eq!(times(), 3);
    }
}
