//! The simulator that programs and tests embed: start, publish, inspect, stop.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use serde_json::Value;
use tokio::net::{TcpListener, ToSocketAddrs};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::faults::Faults;
use crate::publisher::{self, Publishing};
use crate::server;
use crate::shared::{Checks, PublishError, Shared};
use crate::tasks::ended;

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

/// A body that a control call does not accept.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0}")]
pub struct ControlError(String);

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
        let shared = Arc::new(Shared::new(address, options.feed_token, options.keep_posts));
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
        self.shared.base_url()
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
            ended(task).await;
        }
    }
}
