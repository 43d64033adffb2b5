//! What `bidloop demo` adds to the service: a simulated marketplace, a caller's program, and a live view of both.
//!
//! The program starts the parts in this order:
//!
//! 1. [`Demo::start`] starts the marketplace (which publishes nothing yet) and the webhook receiver.
//! 2. The program starts the service on [`Demo::market_url`] and applies [`Demo::provisioning`].
//! 3. [`Demo::run`] prints the introduction, opens the market, and prints what happens until it is stopped.
//! 4. [`Demo::stop_work`], then the program stops the service, then [`Demo::finish`] prints the summary.
//!
//! `setup` holds the provisioning document, `market` the marketplace, `feed` and `feed_line` the live view,
//! `introduction` the commands to try, `tally` the summary, `screen` the terminal.

mod feed;
mod feed_line;
mod introduction;
mod lead_facts;
mod market;
mod screen;
mod setup;
mod tally;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use bidloop_domain::model::{ApiKey, Timestamp, WebhookSecret};
use bidloop_domain::port::{ActivityStore, Clock, Entropy, LeadStore};
use bidloop_simulator::caller::{Receiver, ReceiverOptions};
use serde_json::Value;
use tokio::sync::mpsc;

use feed::{Feed, ReceiverEvent};
use introduction::Introduction;
use market::Market;
use screen::Screen;
use setup::Setup;

/// The demo publishes, matches, bids and shows in one process. It cannot show more jobs a second than this.
pub const HIGHEST_RATE: f64 = 1_000.0;

/// Why the demo cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// A part cannot start; the message says which and why.
    #[error("{0}")]
    Failed(String),
    /// Standard output is closed.
    #[error("standard output is closed")]
    OutputClosed,
}

/// What the caller of `bidloop demo` chooses.
#[derive(Debug, Clone)]
pub struct DemoOptions {
    /// An absolute path; the API key and the password are kept here.
    pub data_dir: PathBuf,
    /// Jobs a second, above 0 and at most [`HIGHEST_RATE`].
    pub rate: f64,
    /// Seed of the generated posts; a random one without it.
    pub seed: Option<u64>,
    /// Whether the receiver bids on each `job.new`.
    pub auto_reply: bool,
    /// Whether the output has colours; `None`: on a terminal that permits them.
    pub colour: Option<bool>,
}

/// The service as the demo needs it.
#[derive(Debug, Clone)]
pub struct RunningService {
    /// Where its HTTP API is reached.
    pub base_url: String,
    /// The setting `database.url`.
    pub database_url: String,
    /// How the program was called.
    pub program: String,
    /// Its Activity record.
    pub activities: Arc<dyn ActivityStore>,
    /// Its leads.
    pub leads: Arc<dyn LeadStore>,
}

/// The parts of the demo that are not the service.
#[derive(Debug)]
pub struct Demo {
    options: DemoOptions,
    clock: Arc<dyn Clock>,
    seed: u64,
    key_file: PathBuf,
    api_key: ApiKey,
    password_file: PathBuf,
    password: String,
    secret: WebhookSecret,
    market: Market,
    receiver: Receiver,
    events: Option<mpsc::UnboundedReceiver<ReceiverEvent>>,
    feed: Option<(Feed, Instant)>,
    since: Timestamp,
}

impl Demo {
    /// Starts the marketplace, which publishes nothing yet, and the webhook receiver. Reads the API key and the
    /// password of an earlier run, or generates them.
    pub async fn start(
        options: DemoOptions,
        clock: Arc<dyn Clock>,
        entropy: &dyn Entropy,
    ) -> Result<Self, DemoError> {
        let key_file = options.data_dir.join("demo-key");
        let api_key = setup::kept_key(&key_file, entropy)?;
        let password_file = options.data_dir.join("demo-password");
        let password = setup::kept_password(&password_file, entropy)?;
        let mut random = [0; 32];
        entropy.fill_random(&mut random);
        let secret = WebhookSecret::generate(random);
        let mut seed = [0; 8];
        entropy.fill_random(&mut seed);

        let market = Market::start().await?;
        let (sender, events) = mpsc::unbounded_channel();
        let receiver_options = ReceiverOptions {
            secrets: vec![secret.clone()],
            keep: Some(0),
            auto_reply: options.auto_reply.then(|| api_key.expose().to_owned()),
        };
        let receiver_clock = Arc::clone(&clock);
        let on_event = move |event| {
            // Fails once the feed has ended: then the event is not needed.
            let _ = sender.send((receiver_clock.now(), event));
        };
        let receiver = Receiver::start("127.0.0.1:0", receiver_options, on_event)
            .await
            .map_err(|error| DemoError::Failed(format!("the webhook receiver cannot listen: {error}")))?;
        Ok(Self {
            seed: options.seed.unwrap_or(u64::from_le_bytes(seed)),
            since: clock.now(),
            options,
            clock,
            key_file,
            api_key,
            password_file,
            password,
            secret,
            market,
            receiver,
            events: Some(events),
            feed: None,
        })
    }

    /// The setting `marketplace.base_url` of the service.
    pub fn market_url(&self) -> &str {
        self.market.base_url()
    }

    /// The provisioning document of the demo: one organization with an external and an automatic campaign.
    pub fn provisioning(&self) -> Value {
        let setup = Setup {
            api_key: &self.api_key,
            password: &self.password,
            secret: &self.secret,
            receiver_url: &self.receiver.url(""),
            now: self.clock.now(),
        };
        setup.document()
    }

    /// Prints the introduction, opens the market, and prints what happens until `stop` completes.
    pub async fn run(
        &mut self,
        service: RunningService,
        stop: impl Future<Output = ()>,
    ) -> Result<(), DemoError> {
        let Some(events) = self.events.take() else {
            return Ok(());
        };
        let screen = Screen::of_standard_output(self.options.colour);
        let introduction = Introduction {
            base_url: &service.base_url,
            program: &service.program,
            database_url: &service.database_url,
            api_key: self.api_key.expose(),
            key_file: &self.key_file,
            password: &self.password,
            password_file: &self.password_file,
            market_url: self.market.base_url(),
            rate: self.options.rate,
            receiver: self.receiver.address(),
            auto_reply: self.options.auto_reply,
        };
        let introduction = introduction.render(screen.look());
        let feed = Feed::new(screen, &service, events, self.options.auto_reply, self.since)?;
        let (feed, _) = self.feed.insert((feed, Instant::now()));
        feed.screen.show(&introduction)?;
        self.market
            .open(self.options.rate, self.seed, Arc::clone(&self.clock));
        feed.run(stop).await
    }

    /// Stops what gives the service work: the market publishes no more, the receiver no longer bids.
    pub async fn stop_work(&mut self) {
        self.market.stop_publishing().await;
        self.receiver.stop_replying().await;
    }

    /// Prints the last events and the summary, and stops the market and the receiver. `jobs` were read from the feed,
    /// `matches` of them matched.
    pub async fn finish(mut self, jobs: u64, matches: u64) -> Result<(), DemoError> {
        let printed = match self.feed.take() {
            Some((mut feed, started)) => feed.sum_up(jobs, matches, started.elapsed()).await,
            None => Ok(()),
        };
        self.receiver.shutdown().await;
        self.market.close().await;
        printed
    }
}
