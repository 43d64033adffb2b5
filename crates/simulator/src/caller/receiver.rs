//! The webhook receiver that programs and tests embed: start it, script its answers, read its deliveries, stop it.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;

use bidloop_client::{ApiKey, WebhookVerifier};
use bidloop_domain::model::WebhookSecret;
use tokio::net::{TcpListener, ToSocketAddrs};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use super::auto_reply;
use super::delivery::Delivery;
use super::inbox::{Answer, Event, Inbox, OnEvent};
use super::server;
use crate::tasks::ended;

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

/// A running webhook receiver. Dropping it stops it; [`Receiver::shutdown`] also waits for its tasks.
pub struct Receiver {
    address: SocketAddr,
    inbox: Arc<Inbox>,
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
        let secrets: Vec<String> = options.secrets.iter().map(WebhookSecret::expose).collect();
        let verifier = (!secrets.is_empty()).then(|| WebhookVerifier::new(&secrets));
        let verifier = verifier.transpose().map_err(unusable)?;
        let listener = TcpListener::bind(listen).await?;
        let address = listener.local_addr()?;
        let on_event: OnEvent = Arc::new(on_event);
        let stop_replies = watch::Sender::new(false);
        let (to_reply, replies) = match options.auto_reply {
            Some(key) => {
                let api_key = ApiKey::parse(&key).map_err(unusable)?;
                let (to_reply, waiting) = mpsc::unbounded_channel();
                let on_event = Arc::clone(&on_event);
                let report = move |reply| on_event(Event::Replied(reply));
                let replies = auto_reply::run(api_key, waiting, report, stop_replies.subscribe());
                (Some(to_reply), Some(tokio::spawn(replies)))
            }
            None => (None, None),
        };
        let inbox = Arc::new(Inbox::new(verifier, options.keep, on_event, to_reply));
        let (stop, stopped) = watch::channel(false);
        let server = tokio::spawn(server::serve(listener, Arc::clone(&inbox), stopped));
        Ok(Self {
            address,
            inbox,
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
        self.inbox.answer_next(answer);
    }

    /// The stored deliveries, oldest first.
    pub fn deliveries(&self) -> Vec<Arc<Delivery>> {
        self.inbox.deliveries()
    }

    /// Waits without a time limit until `count` deliveries have been received since the start. Returns the stored ones.
    pub async fn wait_for(&self, count: u64) -> Vec<Arc<Delivery>> {
        self.inbox.wait_for(count).await;
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

fn unusable(error: impl std::error::Error + Send + Sync + 'static) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, error)
}
