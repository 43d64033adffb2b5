//! [`HeldReadiness`]: whether the service is ready, asked at most once a second.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tokio::sync::Mutex;

use crate::ports::Readiness;

/// How long an answer is held.
const HELD_FOR: Duration = Duration::from_secs(1);

/// A database that takes longer to answer is not ready.
const ANSWERS_WITHIN: Duration = Duration::from_secs(2);

/// Holds the answer of another [`Readiness`]. Requests that arrive while it is being asked wait for that answer. So
/// requests without a valid key, which anyone can send, cost the database next to nothing. All servers of a process share
/// one.
#[derive(Debug)]
pub struct HeldReadiness {
    asked: Arc<dyn Readiness>,
    /// The last answer, and until when it is held.
    held: Arc<Mutex<Option<(bool, Instant)>>>,
}

impl HeldReadiness {
    /// Asks `asked`, if no answer is held.
    pub fn new(asked: Arc<dyn Readiness>) -> Self {
        Self {
            asked,
            held: Arc::default(),
        }
    }

    async fn is_ready_at(&self, now: impl Fn() -> Instant + Send + 'static) -> bool {
        if self.asked.is_starting() {
            return false;
        }
        let mut held = Arc::clone(&self.held).lock_owned().await;
        if let Some((is_ready, until)) = *held
            && now() < until
        {
            return is_ready;
        }
        let asked = Arc::clone(&self.asked);
        // The answer is held even if whoever asked is gone by then.
        let asking = tokio::spawn(async move {
            let answer = tokio::time::timeout(ANSWERS_WITHIN, asked.is_ready());
            let is_ready = answer.await.unwrap_or(false);
            *held = Some((is_ready, now() + HELD_FOR));
            is_ready
        });
        asking.await.unwrap_or(false)
    }
}

#[async_trait]
impl Readiness for HeldReadiness {
    async fn is_ready(&self) -> bool {
        self.is_ready_at(Instant::now).await
    }

    fn is_starting(&self) -> bool {
        self.asked.is_starting()
    }

    fn workers_down(&self) -> Vec<&'static str> {
        self.asked.workers_down()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

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

    /// Ready as soon as it has started; counts how often it is asked.
    #[derive(Debug, Default)]
    struct Starts {
        has_started: AtomicBool,
        times: AtomicUsize,
    }

    #[async_trait]
    impl Readiness for Starts {
        async fn is_ready(&self) -> bool {
            self.times.fetch_add(1, Ordering::SeqCst);
            true
        }

        fn is_starting(&self) -> bool {
            !self.has_started.load(Ordering::SeqCst)
        }
    }

    /// Never answers.
    #[derive(Debug)]
    struct Hangs;

    #[async_trait]
    impl Readiness for Hangs {
        async fn is_ready(&self) -> bool {
            std::future::pending().await
        }
    }

    #[tokio::test]
    async fn the_database_is_not_asked_during_the_start_whose_end_is_seen_at_once() {
        let asked = Arc::new(Starts::default());
        let held = HeldReadiness::new(asked.clone());
        assert!(!held.is_ready().await);
        assert_eq!(asked.times.load(Ordering::SeqCst), 0);
        asked.has_started.store(true, Ordering::SeqCst);
        assert!(held.is_ready().await);
    }

    #[tokio::test]
    async fn an_answer_is_held_for_a_second() {
        let asked = Arc::new(ReadyOnce::default());
        let held = HeldReadiness::new(asked.clone());
        let times = || asked.0.load(Ordering::SeqCst);
        let start = Instant::now();
        let at = |after| held.is_ready_at(move || start + after);
        let ask_at_once = (0..100).map(|_| at(Duration::ZERO));
        assert_eq!(join_all(ask_at_once).await, [true; 100]);
        assert!(at(HELD_FOR / 2).await);
        assert_eq!(times(), 1);
        assert!(!at(HELD_FOR).await);
        assert!(!at(HELD_FOR * 3 / 2).await);
        assert_eq!(times(), 2);
        assert!(!at(HELD_FOR * 2).await);
        assert_eq!(times(), 3);
    }

    #[tokio::test]
    async fn the_answer_to_a_request_that_was_given_up_is_held_too() {
        let asked = Arc::new(ReadyOnce::default());
        let held = HeldReadiness::new(asked.clone());
        let given_up = futures::poll!(Box::pin(held.is_ready()));
        assert!(given_up.is_pending());
        assert!(held.is_ready().await);
        assert_eq!(asked.0.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn a_database_that_does_not_answer_is_not_ready() {
        assert!(!HeldReadiness::new(Arc::new(Hangs)).is_ready().await);
    }
}
