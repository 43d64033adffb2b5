//! The running simulator as a program embeds it: start, publish, inspect, stop. Owns the state that server,
//! publisher and embedder share.

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

/// How a simulator is set up. The default publishes nothing by itself, keeps every post and lets anyone read the
/// feed.
#[derive(Debug, Default)]
pub struct Options {
    /// The only token that may read the feed; `None`: any, or none at all.
    pub feed_token: Option<String>,
    /// How many posts are kept, the newest ones. A job that falls out is unknown from then on, and a cursor
    /// before it has expired. `None`: all.
    pub keep_posts: Option<usize>,
    /// What the simulator publishes by itself.
    pub publishing: Option<Publishing>,
}

/// A post that cannot be published. Nothing of the call it came with was.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("jobs[{index}]: {message}")]
pub struct PublishError {
    /// Which one of the posts, from 0.
    pub index: usize,
    /// The member at fault and what was expected.
    pub message: String,
}

/// A body that a control call does not take.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0}")]
pub struct ControlError(String);

/// How closely posts are looked at before they are published.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Checks {
    Types,
    None,
}

/// What server, publisher and embedder share. Locks are held for a moment each, never across an await.
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
    // Every change under these locks is complete before anything can panic, so a poisoned state is a good one.
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

    /// Makes a post ready for the feed.
    pub(crate) fn complete(&self, value: Value, checks: Checks) -> Result<(Post, Value), String> {
        match checks {
            Checks::Types => post::complete(value, &self.base_url, &self.ids, now_ms()),
            Checks::None => post::unchecked(value, &self.ids, now_ms()),
        }
    }

    /// Publishes all of the posts in their order, or none, and answers them as published.
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
        stats["faultsStruck"] = Value::from(self.faults().struck());
        stats["startedAt"] = Value::from(self.started_at);
        stats
    }
}

/// Waits until the simulator is stopped or dropped.
pub(crate) async fn stopped(stop: &mut watch::Receiver<bool>) {
    // An error means that the sender is gone, and with it the simulator.
    drop(stop.wait_for(|stopped| *stopped).await);
}

/// A marketplace that is being served. Dropping it stops it; [`Simulator::shutdown`] also waits until it has.
#[derive(Debug)]
pub struct Simulator {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: watch::Sender<bool>,
    server: JoinHandle<()>,
    publisher: Option<JoinHandle<()>>,
}

impl Simulator {
    /// Binds the address (port 0 takes a free one) and serves from then on. What [`Options::publishing`] puts up
    /// at once is in the feed when this returns.
    pub async fn start(listen: impl ToSocketAddrs, options: Options) -> io::Result<Self> {
        let listener = TcpListener::bind(listen).await?;
        let address = listener.local_addr()?;
        let started_at = now_ms();
        // Time and port together tell this run from any other one that a stored cursor may come from.
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

    /// The address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What `marketplace.base_url` is to be set to.
    pub fn base_url(&self) -> &str {
        &self.shared.base_url
    }

    /// Publishes job posts in this order, as `POST /sim/jobs` does: all of them, completed with what they leave
    /// out, or none. Answers the posts as published.
    pub fn publish(&self, posts: Vec<Value>) -> Result<Vec<Value>, PublishError> {
        self.shared.publish(posts, Checks::Types)
    }

    /// Creates or changes the account of a token, as `PUT /sim/accounts/<token>` does, and answers it.
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

    /// Replaces the standing faults, as `PUT /sim/faults` does.
    pub fn put_faults(&self, faults: &Value) -> Result<(), ControlError> {
        let faults = Faults::parse(faults).map_err(ControlError)?;
        self.shared.faults().put(faults);
        Ok(())
    }

    /// Every proposal received, as `GET /sim/proposals` shows them.
    pub fn proposals(&self) -> Vec<Value> {
        self.shared.market().proposals()
    }

    /// Counts of what is kept and was received, as `GET /sim/stats` shows them.
    pub fn stats(&self) -> Value {
        self.shared.stats()
    }

    /// Stops publishing and accepting, lets answers under way finish for up to two seconds, and returns when all
    /// of it has ended.
    pub async fn shutdown(self) {
        self.stop.send_replace(true);
        for task in [Some(self.server), self.publisher].into_iter().flatten() {
            if let Err(error) = task.await {
                tracing::error!(%error, "a task of the simulator failed");
            }
        }
    }
}
