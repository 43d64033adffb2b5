//! The load generator: a fixed number of connections, each of which sends its next request when it has the answer.
//! One thread does it all, and it looks no closer at an answer than to find its status and its end.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::contest::{Contender, Cpu, Run};
use crate::http::Head;
use crate::process;

/// What is sent.
#[derive(Debug)]
pub(super) enum Requests {
    /// The same over and over.
    Same(Vec<u8>),
    /// Each once, over all runs; then the load ends.
    Each { all: Vec<Vec<u8>>, sent: AtomicUsize },
}

impl Requests {
    /// Each of these once.
    pub(super) fn each(all: Vec<Vec<u8>>) -> Self {
        Self::Each {
            all,
            sent: AtomicUsize::new(0),
        }
    }

    fn next(&self) -> Option<&[u8]> {
        match self {
            Self::Same(request) => Some(request),
            Self::Each { all, sent } => all.get(sent.fetch_add(1, Ordering::Relaxed)).map(Vec::as_slice),
        }
    }
}

/// A server under this load.
#[derive(Debug)]
pub(super) struct HttpContender {
    pub(super) name: &'static str,
    pub(super) address: SocketAddr,
    pub(super) requests: Arc<Requests>,
    /// The status that every answer must have.
    pub(super) expected: u16,
    pub(super) connections: usize,
    pub(super) pid: u32,
    /// Of the database server that it uses, if it is a process of its own on this machine.
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
            let seconds = started.elapsed().as_secs_f64();
            Ok(Run {
                seconds,
                latencies_us,
            })
        })
    }

    fn cpu(&self) -> Cpu {
        Cpu {
            server: process::cpu_seconds(self.pid),
            database: self.database_pid.and_then(process::cpu_seconds_of_family),
        }
    }
}

/// One connection's requests until the deadline, and how long each took.
async fn converse(
    address: SocketAddr,
    requests: &Requests,
    expected: u16,
    deadline: Instant,
) -> Result<Vec<u32>> {
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let mut buffer = vec![0; 128 * 1024];
    let mut latencies = Vec::new();
    loop {
        let sent = Instant::now();
        if sent >= deadline {
            return Ok(latencies);
        }
        let Some(request) = requests.next() else {
            return Ok(latencies);
        };
        stream.write_all(request).await?;
        let head = read_answer(&mut stream, &mut buffer).await?;
        ensure!(
            head.status == expected,
            "answered {} instead of {expected}",
            head.status
        );
        latencies.push(u32::try_from(sent.elapsed().as_micros()).unwrap_or(u32::MAX));
    }
}

async fn read_answer(stream: &mut TcpStream, buffer: &mut [u8]) -> Result<Head> {
    let mut filled = 0;
    let head = loop {
        let count = stream.read(&mut buffer[filled..]).await?;
        ensure!(count > 0, "the connection was closed before the answer");
        filled += count;
        if let Some(head) = Head::parse(&buffer[..filled])? {
            break head;
        }
    };
    let mut missing = (head.length + head.content_length).saturating_sub(filled);
    while missing > 0 {
        let room = missing.min(buffer.len());
        let count = stream.read(&mut buffer[..room]).await?;
        ensure!(count > 0, "the connection was closed within the answer");
        missing -= count;
    }
    Ok(head)
}
