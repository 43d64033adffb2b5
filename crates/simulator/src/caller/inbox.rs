//! The deliveries that a receiver has stored, and its script of answers.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bidloop_client::WebhookVerifier;
use tokio::sync::{mpsc, watch};

use super::auto_reply::Reply;
use super::delivery::{Delivery, Signature};

/// An event of a receiver.
#[derive(Debug, Clone)]
pub enum Event {
    /// A delivery was received, with a valid signature or not.
    Delivered(Arc<Delivery>),
    /// A `job.new` was answered with a bid.
    Replied(Reply),
}

/// A scripted answer to one delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub(super) status: u16,
    pub(super) delay: Duration,
    pub(super) body: String,
}

impl Answer {
    /// An answer with this status, no delay and no body. An invalid status becomes 500.
    pub fn status(status: u16) -> Self {
        Self {
            status,
            delay: Duration::ZERO,
            body: String::new(),
        }
    }

    /// Sets the delay before the answer.
    #[must_use]
    pub fn after(self, delay: Duration) -> Self {
        Self { delay, ..self }
    }

    /// Sets the body.
    #[must_use]
    pub fn with_body(self, body: impl Into<String>) -> Self {
        Self {
            body: body.into(),
            ..self
        }
    }
}

/// The callback of an embedding program.
pub(super) type OnEvent = Arc<dyn Fn(Event) + Send + Sync>;

/// The state that the connections and the embedding program share. No lock is held across an await.
pub(super) struct Inbox {
    /// Without one, signatures are not checked.
    pub(super) verifier: Option<WebhookVerifier>,
    keep: usize,
    state: Mutex<State>,
    count: watch::Sender<u64>,
    on_event: OnEvent,
    replies: Option<mpsc::UnboundedSender<Arc<Delivery>>>,
}

#[derive(Debug, Default)]
struct State {
    deliveries: VecDeque<Arc<Delivery>>,
    script: VecDeque<Answer>,
}

impl Inbox {
    /// An empty inbox that keeps the `keep` newest deliveries and queues those to be replied to in `replies`.
    pub(super) fn new(
        verifier: Option<WebhookVerifier>,
        keep: Option<usize>,
        on_event: OnEvent,
        replies: Option<mpsc::UnboundedSender<Arc<Delivery>>>,
    ) -> Self {
        Self {
            verifier,
            keep: keep.unwrap_or(usize::MAX),
            state: Mutex::default(),
            count: watch::Sender::new(0),
            on_event,
            replies,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No change under the lock can panic half-way, so a poisoned state is consistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores and reports a delivery, queues it for a reply, and returns the answer to it.
    pub(super) fn record(&self, delivery: Delivery) -> Answer {
        let delivery = Arc::new(delivery);
        let answer = {
            let mut state = self.state();
            if self.keep > 0 {
                while state.deliveries.len() >= self.keep {
                    state.deliveries.pop_front();
                }
                state.deliveries.push_back(Arc::clone(&delivery));
            }
            state.script.pop_front()
        };
        let answer = answer.unwrap_or_else(|| match delivery.signature() {
            Signature::NotChecked | Signature::Valid => Answer::status(200),
            Signature::Refused(refused) => Answer::status(401).with_body(refused.to_string()),
        });
        (self.on_event)(Event::Delivered(Arc::clone(&delivery)));
        self.count.send_modify(|count| *count += 1);
        let accepted = answer.status == 200 && delivery.signature() == Signature::Valid;
        if let (Some(replies), true) = (&self.replies, accepted && delivery.event() == "job.new") {
            // Sending fails only while the receiver stops.
            let _stopping = replies.send(delivery);
        }
        answer
    }

    /// Adds an answer to the script.
    pub(super) fn answer_next(&self, answer: Answer) {
        self.state().script.push_back(answer);
    }

    /// The stored deliveries, oldest first.
    pub(super) fn deliveries(&self) -> Vec<Arc<Delivery>> {
        self.state().deliveries.iter().cloned().collect()
    }

    /// Waits until `count` deliveries have been received.
    pub(super) async fn wait_for(&self, count: u64) {
        let mut counted = self.count.subscribe();
        // `self` keeps the sender, so waiting ends only with the count.
        drop(counted.wait_for(|received| *received >= count).await);
    }
}
