//! [`Exchange`]: what a connection is doing.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Instant;

use super::ConnectionLimits;

/// The most bytes of a head. It bounds what a connection can hold before its request is known.
const MAX_HEAD_BYTES: usize = 32 * 1024;
/// The most bytes of a short body. A usual bid is one.
pub const SHORT_BODY_BYTES: usize = 64 * 1024;

/// What a connection is doing, told by its bytes and by its requests. The stream and the requests of one connection share
/// it.
#[derive(Debug)]
pub(crate) struct Exchange {
    limits: ConnectionLimits,
    phase: Cell<Phase>,
    /// Whether the body of the request that is served has been read to its end.
    is_body_read: Cell<bool>,
    /// Whether reading it has failed, so that no other request can follow.
    is_broken_off: Cell<bool>,
    /// The bytes that have come since that request's head.
    body_bytes: Cell<usize>,
}

#[derive(Debug, Clone, Copy)]
enum Phase {
    /// A head is awaited, of which so many bytes have come.
    Head { since: Instant, bytes: usize },
    /// The server may take as long as it needs.
    Serving,
    /// Nothing of the next request has come.
    Idle { since: Instant },
    /// The rest of a refused request is read.
    Lingering { since: Instant },
}

impl Exchange {
    /// A connection that was just accepted: the first head is awaited.
    pub(crate) fn new(limits: ConnectionLimits) -> Rc<Self> {
        let since = Instant::now();
        Rc::new(Self {
            limits,
            phase: Cell::new(Phase::Head { since, bytes: 0 }),
            is_body_read: Cell::new(true),
            is_broken_off: Cell::new(false),
            body_bytes: Cell::new(0),
        })
    }

    pub(crate) const fn limits(&self) -> &ConnectionLimits {
        &self.limits
    }

    /// A request's head has arrived.
    pub(crate) fn begin_request(&self, has_body: bool) {
        self.is_body_read.set(!has_body);
        self.body_bytes.set(0);
        self.phase.set(Phase::Serving);
    }

    /// A request's body was read to its end.
    pub(crate) fn end_body(&self) {
        self.is_body_read.set(true);
    }

    /// Reading a request's body has failed.
    pub(crate) fn break_off(&self) {
        self.is_broken_off.set(true);
    }

    pub(crate) fn is_broken_off(&self) -> bool {
        self.is_broken_off.get()
    }

    fn end_request(&self) {
        let since = Instant::now();
        self.phase.set(if self.is_body_read.get() {
            Phase::Idle { since }
        } else {
            Phase::Lingering { since }
        });
    }

    /// Bytes have arrived. Returns whether they are of a long body.
    pub(super) fn received(&self, bytes: usize) -> bool {
        match self.phase.get() {
            Phase::Head { since, bytes: before } => self.phase.set(Phase::Head {
                since,
                bytes: before + bytes,
            }),
            Phase::Idle { .. } => {
                let since = Instant::now();
                self.phase.set(Phase::Head { since, bytes });
            }
            Phase::Serving | Phase::Lingering { .. } => {
                self.body_bytes.update(|before| before.saturating_add(bytes));
                return self.body_bytes.get() > SHORT_BODY_BYTES;
            }
        }
        false
    }

    /// Whether a request is open: its head came, and its answer has not been handed to the connection.
    pub(super) fn is_serving(&self) -> bool {
        matches!(self.phase.get(), Phase::Serving)
    }

    /// Whether a request is open whose body has not been read to its end.
    pub(super) fn awaits_body(&self) -> bool {
        self.is_serving() && !self.is_body_read.get()
    }

    /// Since when a head comes that is not complete.
    pub(super) fn head_began(&self) -> Option<Instant> {
        match self.phase.get() {
            Phase::Head { since, bytes } if bytes > 0 => Some(since),
            _ => None,
        }
    }

    /// Whether the rest of a refused request's body is read.
    pub(super) fn is_lingering(&self) -> bool {
        matches!(self.phase.get(), Phase::Lingering { .. })
    }

    /// The head was refused: what comes is read to no purpose.
    pub(super) fn refuse_head(&self) {
        let since = Instant::now();
        self.phase.set(Phase::Lingering { since });
    }

    /// How many bytes may be read before the request must be known.
    pub(super) fn room(&self) -> usize {
        match self.phase.get() {
            Phase::Head { bytes, .. } => MAX_HEAD_BYTES.saturating_sub(bytes),
            Phase::Idle { .. } => MAX_HEAD_BYTES,
            Phase::Serving | Phase::Lingering { .. } => usize::MAX,
        }
    }

    /// When the connection ends, if it goes on as it does.
    pub(super) fn deadline(&self) -> Option<Instant> {
        match self.phase.get() {
            Phase::Head { since, .. } => Some(since + self.limits.head),
            Phase::Serving => None,
            Phase::Idle { since } => Some(since + self.limits.idle),
            // The server ends it by itself, a little earlier.
            Phase::Lingering { since } => Some(since + self.limits.linger + self.limits.linger / 4),
        }
    }
}

/// Tells the exchange, when it is dropped, that the answer has been handed to the connection, or dropped.
pub(crate) struct EndsRequest(pub(crate) Rc<Exchange>);

impl Drop for EndsRequest {
    fn drop(&mut self) {
        self.0.end_request();
    }
}
