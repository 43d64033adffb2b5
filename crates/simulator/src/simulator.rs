//! The simulator that programs and tests embed: start, publish, inspect, stop. Holds the state that the server, the
//! publisher and the embedding program share.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::net::{TcpListener, ToSocketAddrs};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::answer::Refusal;
use crate::clock::now_ms;
use crate::faults::Faults;
use crate::ids::Ids;
use crate::market::Market;
use crate::market::post::{self, Post};
use crate::publisher::{self, Publishing};
use crate::server;

/// The options of a simulator. By default it publishes nothing by itself, keeps every post and lets anyone read the feed.
#[derive(Debug, Default)]
pub struct Options {
    /// The only token that may read the feed. `None`: any token, or none.
    pub feed_token: Option<String>,
    /// How many of the newest posts are kept. A dropped job is unknown, and cursors before it have expired. `None`: all.
    pub keep_posts: Option<usize>,
    /// Posts that the simulator publishes by itself.
    pub publishing: Option<Publishing>,
}

/// A post that cannot be published. No post of the same call was published either.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("jobs[{index}]: {message}")]
pub struct PublishError {
    /// The index of the post, from 0.
    pub index: usize,
    /// The faulty member and the expected value.
    pub message: String,
}

/// A body that a control call does not accept.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0}")]
pub struct ControlError(String);

/// Which checks posts must pass before they are published.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Checks {
    Types,
    None,
}

/// The state of a simulator. No lock is held across an await.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) ids: Ids,
    market: Mutex<Market>,
    faults: Mutex<Faults>,
    calls: Mutex<BTreeMap<&'static str, u64>>,
    feed_token: Option<String>,
    base_url: String,
    started_at: i64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No change under these locks can panic half-way, so a poisoned state is consistent.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    pub(crate) fn market(&self) -> MutexGuard<'_, Market> {
        lock(&self.market)
    }

    pub(crate) fn faults(&self) -> MutexGuard<'_, Faults> {
        lock(&self.faults)
    }

    pub(crate) fn count_call(&self, name: &'static str) {
        *lock(&self.calls).entry(name).or_default() += 1;
    }

    pub(crate) fn check_feed_token(&self, token: Option<&str>) -> Result<(), Refusal> {
        match &self.feed_token {
            Some(expected) if token != Some(expected) => Err(Refusal::invalid_token()),
            _ => Ok(()),
        }
    }

    /// Checks and completes a post.
    pub(crate) fn complete(&self, value: Value, checks: Checks) -> Result<(Post, Value), String> {
        match checks {
            Checks::Types => post::complete(value, &self.base_url, &self.ids, now_ms()),
            Checks::None => post::unchecked(value, &self.ids, now_ms()),
        }
    }

    /// Publishes all of the posts in order, or none. Returns the published posts.
    pub(crate) fn publish(&self, posts: Vec<Value>, checks: Checks) -> Result<Vec<Value>, PublishError> {
        let mut completed = Vec::with_capacity(posts.len());
        let mut published = Vec::with_capacity(posts.len());
        for (index, value) in posts.into_iter().enumerate() {
            let (post, value) = self
                .complete(value, checks)
                .map_err(|message| PublishError { index, message })?;
            completed.push(post);
            published.push(value);
        }
        let mut market = self.market();
        for post in completed {
            market.publish(post);
        }
        Ok(published)
    }

    pub(crate) fn stats(&self) -> Value {
        let mut stats = self.market().stats();
        stats["calls"] = json!(*lock(&self.calls));
        stats["faultsStruck"] = Value::from(self.faults().applied());
        stats["startedAt"] = Value::from(self.started_at);
        stats
    }
}

/// Waits until the simulator is stopped or dropped.
pub(crate) async fn stopped(stop: &mut watch::Receiver<bool>) {
    // An error means that the simulator has been dropped.
    drop(stop.wait_for(|stopped| *stopped).await);
}

/// A running marketplace. Dropping it stops it; [`Simulator::shutdown`] also waits for its tasks.
#[derive(Debug)]
pub struct Simulator {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: watch::Sender<bool>,
    server: JoinHandle<()>,
    publisher: Option<JoinHandle<()>>,
}

impl Simulator {
    /// Binds the address (port 0 takes a free one) and starts to serve. When this returns, the feed holds the posts that
    /// [`Options::publishing`] publishes at once.
    pub async fn start(listen: impl ToSocketAddrs, options: Options) -> io::Result<Self> {
        let listener = TcpListener::bind(listen).await?;
        let address = listener.local_addr()?;
        let started_at = now_ms();
        // Time and port distinguish this run from others that a stored cursor may come from.
        let run = (started_at.unsigned_abs() << 16) | u64::from(address.port());
        let shared = Arc::new(Shared {
            ids: Ids::new(u64::from(address.port()) << 6),
            market: Mutex::new(Market::new(run, options.keep_posts)),
            faults: Mutex::default(),
            calls: Mutex::default(),
            feed_token: options.feed_token,
            base_url: format!("http://{address}"),
            started_at,
        });
        let (stop, stopped) = watch::channel(false);
        let publisher = options.publishing.and_then(|publishing| {
            let release = publisher::begin(publishing, &shared)?;
            Some(tokio::spawn(publisher::run(
                release,
                Arc::clone(&shared),
                stopped.clone(),
            )))
        });
        let server = tokio::spawn(server::serve(listener, Arc::clone(&shared), stopped));
        Ok(Self {
            address,
            shared,
            stop,
            server,
            publisher,
        })
    }

    /// The listening address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The value for the setting `marketplace.base_url`.
    pub fn base_url(&self) -> &str {
        &self.shared.base_url
    }

    /// Publishes job posts in this order, as `POST /sim/jobs` does: all of them or none, with missing members added. Returns
    /// the published posts.
    pub fn publish(&self, posts: Vec<Value>) -> Result<Vec<Value>, PublishError> {
        self.shared.publish(posts, Checks::Types)
    }

    /// Creates or changes the account of a token, as `PUT /sim/accounts/<token>` does, and returns it.
    pub fn put_account(&self, token: &str, account: Value) -> Result<Value, ControlError> {
        let put = serde_json::from_value(account).map_err(|error| ControlError(error.to_string()))?;
        Ok(self.shared.market().put_account(token, put))
    }

    /// Merges into a job's state, as `PATCH /sim/jobs/<id>` does.
    pub fn patch_job(&self, id: &str, state: Value) -> Result<(), ControlError> {
        let patch = serde_json::from_value(state).map_err(|error| ControlError(error.to_string()))?;
        self.shared
            .market()
            .patch_job(id, patch)
            .map(drop)
            .map_err(|refusal| ControlError(refusal.message))
    }

    /// Replaces the active faults, as `PUT /sim/faults` does.
    pub fn put_faults(&self, faults: &Value) -> Result<(), ControlError> {
        let faults = Faults::parse(faults).map_err(ControlError)?;
        self.shared.faults().put(faults);
        Ok(())
    }

    /// Returns every received proposal, as `GET /sim/proposals` does.
    pub fn proposals(&self) -> Vec<Value> {
        self.shared.market().proposals()
    }

    /// Returns counts, as `GET /sim/stats` does.
    pub fn stats(&self) -> Value {
        self.shared.stats()
    }

    /// Stops publishing and serving. Returns when all tasks have ended; requests in flight have up to two seconds.
    pub async fn shutdown(self) {
        self.stop.send_replace(true);
        for task in [Some(self.server), self.publisher].into_iter().flatten() {
            if let Err(error) = task.await {
                tracing::error!(%error, "a task of the simulator failed");
            }
        }
    }
}
