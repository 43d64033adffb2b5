//! The load generator: a fixed number of connections, each of which sends its next request when it has the answer to the
//! last. All run on one thread.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use tokio::task::JoinSet;

use super::contest::{Contender, Run, latency_us};
use crate::http::Connection;
use crate::process::Cpu;

/// The requests to send.
#[derive(Debug)]
pub(super) enum Requests {
    /// The same request every time.
    Same(Vec<u8>),
    /// Each request once, over all runs; then the load ends.
    Each { all: Vec<Vec<u8>>, sent: AtomicUsize },
}

impl Requests {
    pub(super) fn same(request: Vec<u8>) -> Arc<Self> {
        Arc::new(Self::Same(request))
    }

    pub(super) fn each(all: Vec<Vec<u8>>) -> Arc<Self> {
        let sent = AtomicUsize::new(0);
        Arc::new(Self::Each { all, sent })
    }

    /// The first of them; empty if there is none.
    pub(super) fn first(&self) -> Vec<u8> {
        match self {
            Self::Same(request) => request.clone(),
            Self::Each { all, .. } => all.first().cloned().unwrap_or_default(),
        }
    }

    fn next(&self) -> Option<&[u8]> {
        match self {
            Self::Same(request) => Some(request),
            Self::Each { all, sent } => all.get(sent.fetch_add(1, Ordering::Relaxed)).map(Vec::as_slice),
        }
    }
}

/// A server under load.
#[derive(Debug)]
pub(super) struct HttpContender {
    pub(super) name: &'static str,
    pub(super) address: SocketAddr,
    pub(super) requests: Arc<Requests>,
    /// The status that every answer must have.
    pub(super) expected: u16,
    pub(super) connections: u16,
    pub(super) pid: u32,
    /// The database server that it uses, if that is a process of its own on this machine.
    pub(super) database_pid: Option<u32>,
}

impl Contender for HttpContender {
    fn name(&self) -> &'static str {
        self.name
    }

    fn run(&mut self, time: Duration) -> Result<Run> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        runtime.block_on(async {
            let started = Instant::now();
            let deadline = started + time;
            let mut connections = JoinSet::new();
            for _ in 0..self.connections {
                let (address, requests, expected) = (self.address, Arc::clone(&self.requests), self.expected);
                connections.spawn(async move { converse(address, &requests, expected, deadline).await });
            }
            let mut latencies_us = Vec::new();
            while let Some(ended) = connections.join_next().await {
                latencies_us.extend(ended??);
            }
            Ok(Run::since(started, latencies_us))
        })
    }

    fn cpu(&self) -> Cpu {
        Cpu::of(Some(self.pid), self.database_pid)
    }
}

/// Sends one connection's requests until the deadline. Returns how long each took.
async fn converse(
    address: SocketAddr,
    requests: &Requests,
    expected: u16,
    deadline: Instant,
) -> Result<Vec<u32>> {
    let mut connection = Connection::open(address).await?;
    let mut latencies_us = Vec::new();
    loop {
        let sent = Instant::now();
        let next = (sent < deadline).then(|| requests.next());
        let Some(request) = next.flatten() else {
            return Ok(latencies_us);
        };
        connection.ask(request).await?.expect(expected)?;
        latencies_us.push(latency_us(sent));
    }
}
