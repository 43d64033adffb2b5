//! [`ConnectionLimits`].

use std::time::Duration;

/// How many connections a process takes, and how long each may take for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// The most connections at once. Further ones wait to be accepted.
    pub connections: usize,
    /// The most connections from one address, or one IPv6 network of 64 bits. Further ones are closed. `None`: any
    /// number.
    pub per_address: Option<usize>,
    /// From the first byte of a request's head, or the start of a connection, to the head's end.
    pub head: Duration,
    /// How long a connection may wait for its next request. Less than a minute, together with the time for a head.
    pub idle: Duration,
    /// How long a body or an answer may stop.
    pub stall: Duration,
    /// The least rate of a body that is awaited, and of an answer that waits to be read.
    pub bytes_per_second: u32,
    /// The highest rate of all long bodies together, in bytes a second. It leaves most of the processor to short requests,
    /// and is well above the least rate for every one of [`connections`](Self::connections).
    pub long_bodies_per_second: u32,
    /// How long the rest of a body is read after its request was refused, so that the sender sees the answer.
    pub linger: Duration,
    /// On how many connections that is done at once. Further ones are closed, and their senders may miss the answer.
    pub lingering: usize,
}

impl ConnectionLimits {
    /// The limits of the program, whose settings change the two numbers of connections. The interface names no times:
    /// these are far beyond what a client on a slow network needs, and let no connection outlive a minute without cause.
    pub const DEFAULT: Self = Self {
        connections: 10_000,
        per_address: None,
        head: Duration::from_secs(10),
        idle: Duration::from_secs(40),
        stall: Duration::from_secs(20),
        bytes_per_second: 4_096,
        long_bodies_per_second: 100_000_000,
        linger: Duration::from_secs(10),
        lingering: 128,
    };

    /// The same, with no more than `connections` connections.
    #[must_use]
    pub fn at_most(mut self, connections: usize) -> Self {
        self.connections = self.connections.min(connections);
        self
    }
}
