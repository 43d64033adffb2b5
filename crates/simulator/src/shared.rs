//! The state that the server, the publisher and the embedding program share.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use crate::answer::Refusal;
use crate::clock::now_ms;
use crate::faults::Faults;
use crate::ids::Ids;
use crate::market::Market;
use crate::market::post::{self, Post};

/// A post that cannot be published. No post of the same call was published either.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("jobs[{index}]: {message}")]
pub struct PublishError {
    /// The index of the post, from 0.
    pub index: usize,
    /// The faulty member and the expected value.
    pub message: String,
}

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
    /// The state of a simulator that listens on `address`.
    pub(crate) fn new(address: SocketAddr, feed_token: Option<String>, keep_posts: Option<usize>) -> Self {
        let started_at = now_ms();
        // Time and port distinguish this run from others that a stored cursor may come from.
        let run = (started_at.unsigned_abs() << 16) | u64::from(address.port());
        Self {
            ids: Ids::new(u64::from(address.port()) << 6),
            market: Mutex::new(Market::new(run, keep_posts)),
            faults: Mutex::default(),
            calls: Mutex::default(),
            feed_token,
            base_url: format!("http://{address}"),
            started_at,
        }
    }

    pub(crate) fn base_url(&self) -> &str {
        &self.base_url
    }

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
