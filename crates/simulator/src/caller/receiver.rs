//! The webhook receiver that programs and tests embed: start it, script its answers, read its deliveries, stop it.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bidloop_domain::model::WebhookSecret;
use tokio::net::{TcpListener, ToSocketAddrs};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use super::auto_reply::{self, Reply};
use super::delivery::{Delivery, Signature};
use super::server;

/// The options of a receiver. By default it checks no signatures, keeps every delivery, answers each with 200 and
/// sends no bids.
#[derive(Debug, Default)]
pub struct ReceiverOptions {
    /// The secrets of the endpoints. A delivery that none of them signed is answered 401. If empty, signatures are not
    /// checked.
    pub secrets: Vec<WebhookSecret>,
    /// How many of the newest deliveries are kept. `None`: all.
    pub keep: Option<usize>,
    /// The API key for answering each `job.new` with a bid through its `bidUrl`. Only deliveries with a valid signature are
    /// answered, so that the key is never sent to an address of a forged delivery.
    pub auto_reply: Option<String>,
}

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

/// The state that the connections and the embedding program share. No lock is held across an await.
pub(super) struct Shared {
    pub(super) secrets: Vec<WebhookSecret>,
    keep: usize,
    state: Mutex<State>,
    count: watch::Sender<u64>,
    on_event: Arc<dyn Fn(Event) + Send + Sync>,
    replies: Option<mpsc::UnboundedSender<Arc<Delivery>>>,
}

#[derive(Debug, Default)]
struct State {
    deliveries: VecDeque<Arc<Delivery>>,
    script: VecDeque<Answer>,
}

impl Shared {
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
            Signature::Missing => Answer::status(401).with_body("the signature headers are missing"),
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
}

/// A running webhook receiver. Dropping it stops it; [`Receiver::shutdown`] also waits for its tasks.
pub struct Receiver {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: watch::Sender<bool>,
    server: JoinHandle<()>,
    stop_replies: watch::Sender<bool>,
    replies: Option<JoinHandle<()>>,
}

impl std::fmt::Debug for Receiver {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Receiver")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl Receiver {
    /// Binds the address (port 0 takes a free one) and starts to receive. `on_event` is called for each delivery before it
    /// is answered, and for each reply. It must return quickly.
    pub async fn start(
        listen: impl ToSocketAddrs,
        options: ReceiverOptions,
        on_event: impl Fn(Event) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(listen).await?;
        let address = listener.local_addr()?;
        let on_event: Arc<dyn Fn(Event) + Send + Sync> = Arc::new(on_event);
        let stop_replies = watch::Sender::new(false);
        let (to_reply, replies) = match options.auto_reply {
            Some(api_key) => {
                let (to_reply, waiting) = mpsc::unbounded_channel();
                let replies =
                    auto_reply::run(api_key, waiting, Arc::clone(&on_event), stop_replies.subscribe());
                (Some(to_reply), Some(tokio::spawn(replies)))
            }
            None => (None, None),
        };
        let shared = Arc::new(Shared {
            secrets: options.secrets,
            keep: options.keep.unwrap_or(usize::MAX),
            state: Mutex::default(),
            count: watch::Sender::new(0),
            on_event,
            replies: to_reply,
        });
        let (stop, stopped) = watch::channel(false);
        let server = tokio::spawn(server::serve(listener, Arc::clone(&shared), stopped));
        Ok(Self {
            address,
            shared,
            stop,
            server,
            stop_replies,
            replies,
        })
    }

    /// The listening address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of a webhook endpoint. Every path is received.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Adds an answer to the script, which answers the next deliveries in order. After the script's end, deliveries are
    /// answered 200 again, or 401 because of their signature.
    pub fn answer_next(&self, answer: Answer) {
        self.shared.state().script.push_back(answer);
    }

    /// The stored deliveries, oldest first.
    pub fn deliveries(&self) -> Vec<Arc<Delivery>> {
        self.shared.state().deliveries.iter().cloned().collect()
    }

    /// Waits without a time limit until `count` deliveries have been received since the start. Returns the stored ones.
    pub async fn wait_for(&self, count: u64) -> Vec<Arc<Delivery>> {
        let mut counted = self.shared.count.subscribe();
        // The sender lives in `self.shared`, so waiting ends with the count alone.
        drop(counted.wait_for(|received| *received >= count).await);
        self.deliveries()
    }

    /// Stops replying and waits up to two seconds for the replies in flight. Deliveries are still received and answered.
    pub async fn stop_replying(&mut self) {
        self.stop_replies.send_replace(true);
        if let Some(replies) = self.replies.take() {
            ended(replies).await;
        }
    }

    /// Stops receiving and replying. Returns when all tasks have ended; requests in flight have up to two seconds.
    pub async fn shutdown(mut self) {
        self.stop.send_replace(true);
        self.stop_replying().await;
        ended(self.server).await;
    }
}

async fn ended(task: JoinHandle<()>) {
    if let Err(error) = task.await {
        tracing::error!(%error, "a task of the receiver failed");
    }
}
