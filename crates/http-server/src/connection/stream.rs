//! [`GuardedStream`]: a connection's bytes, as long as the connection keeps its limits.

use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep_until};

use super::admission::Admitted;
use super::long_bodies::Linger;
use super::{Exchange, LongBodies, Patience};

/// The answer to a head beyond the limit, before there is a request: a Standard Error.
const HEAD_TOO_LONG: &[u8] = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-type: application/json\r\n\
    content-length: 116\r\nconnection: close\r\n\r\n{\"statusCode\":431,\"error\":\"Request Header Fields Too Large\",\
    \"message\":\"the request's line and headers are too long\"}";

/// A TCP connection that fails with [`io::ErrorKind::TimedOut`] once it exceeds a limit.
///
/// The server reads whenever it is woken, so deadlines are checked there. One timer is always armed, for the deadline or
/// for the next look at it.
#[derive(Debug)]
pub(crate) struct GuardedStream {
    io: TcpStream,
    exchange: Rc<Exchange>,
    timer: Pin<Box<Sleep>>,
    /// Whether the server was given the chance to find a request in the most bytes of a head.
    has_paused: bool,
    refused: Option<RefusedHead>,
    blocked: Option<Blocked>,
    patience: Patience,
    long_bodies: Arc<LongBodies>,
    linger: Option<Linger>,
    /// Until when the others' long bodies go first.
    paused_until: Instant,
    _admitted: Admitted,
}

/// A head that was too long has been answered. What comes is read and dropped until the peer closes: a connection that is
/// closed with bytes unread is reset, and the peer would lose the answer.
#[derive(Debug, Default)]
struct RefusedHead {
    dropped_bytes: usize,
}

/// The most bytes that are read behind a head that was refused.
const DROPPED_AT_MOST: usize = 1024 * 1024;

/// The peer has to read before more can be written.
#[derive(Debug)]
struct Blocked {
    since: Instant,
    timer: Pin<Box<Sleep>>,
    /// Whether reading was put off meanwhile.
    withholds: bool,
}

impl Blocked {
    fn for_at_most(patience: Patience) -> Self {
        let since = Instant::now();
        Self {
            since,
            timer: Box::pin(sleep_until((since + patience.left()).into())),
            withholds: false,
        }
    }
}

impl GuardedStream {
    pub(crate) fn new(
        io: TcpStream,
        exchange: Rc<Exchange>,
        long_bodies: Arc<LongBodies>,
        admitted: Admitted,
    ) -> Self {
        let first = exchange.deadline().unwrap_or_else(Instant::now);
        let patience = Patience::new(exchange.limits());
        Self {
            io,
            exchange,
            timer: Box::pin(sleep_until(first.into())),
            has_paused: false,
            refused: None,
            blocked: None,
            patience,
            long_bodies,
            linger: None,
            paused_until: Instant::now(),
            _admitted: admitted,
        }
    }

    /// What the connection is doing.
    pub(crate) const fn exchange(&self) -> &Rc<Exchange> {
        &self.exchange
    }

    /// Whether the deadline has passed. Arms the timer for it otherwise, or for the end of a pause.
    fn is_late(&mut self, context: &mut Context<'_>) -> bool {
        loop {
            let deadline = self.exchange.deadline();
            let now = Instant::now();
            if deadline.is_some_and(|deadline| deadline <= now) {
                return true;
            }
            // A deadline that moved back is met when the timer fires.
            let mut look_at = deadline.unwrap_or(now + self.exchange.limits().head);
            if self.paused_until > now {
                look_at = look_at.min(self.paused_until);
            }
            let look_at = look_at.into();
            if look_at < self.timer.deadline() || self.timer.is_elapsed() {
                self.timer.as_mut().reset(look_at);
            }
            if self.timer.as_mut().poll(context).is_pending() {
                return false;
            }
        }
    }

    /// Puts reading off until the peer has read what is written, so that requests without reading answers do not pile up.
    fn withholds_reading(&mut self) -> bool {
        self.blocked.as_mut().is_some_and(|blocked| {
            blocked.withholds = true;
            true
        })
    }

    /// Whether the rest of a refused body may be read, if there is one.
    fn may_linger(&mut self) -> bool {
        if self.linger.is_none() && self.exchange.is_lingering() {
            self.linger = self.long_bodies.linger();
            return self.linger.is_some();
        }
        true
    }

    /// Reads at most `room` bytes.
    fn poll_read_up_to(
        &mut self,
        room: usize,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        if room >= buffer.remaining() {
            ready!(Pin::new(&mut self.io).poll_read(context, buffer))?;
        } else {
            let mut part = ReadBuf::new(buffer.initialize_unfilled_to(room));
            ready!(Pin::new(&mut self.io).poll_read(context, &mut part))?;
            let read = part.filled().len();
            buffer.advance(read);
        }
        let read = buffer.filled().len() - before;
        if self.exchange.received(read) {
            self.paused_until = self.long_bodies.received(read, Instant::now());
        }
        Poll::Ready(Ok(()))
    }

    /// Answers a head that is too long, and waits for the peer to close. Everything before it was answered and written: the
    /// server writes what it has each time before it waits, and reading is put off while it cannot.
    fn poll_refuse_head(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.refused.is_none() {
            self.refused = Some(RefusedHead::default());
            self.exchange.refuse_head();
            // An empty socket buffer takes it at once. A peer that has filled it does not read answers anyway.
            let _unsent = self.io.try_write(HEAD_TOO_LONG);
            let _open = Pin::new(&mut self.io).poll_shutdown(context);
            // Arms the timer for the end of the wait.
            let _late = self.is_late(context);
        }
        let refused = self.refused.get_or_insert_default();
        let mut dropped = [0; 4096];
        while refused.dropped_bytes < DROPPED_AT_MOST {
            let mut some = ReadBuf::new(&mut dropped);
            ready!(Pin::new(&mut self.io).poll_read(context, &mut some))?;
            if some.filled().is_empty() {
                break;
            }
            refused.dropped_bytes += some.filled().len();
        }
        Poll::Ready(Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "the head is too long",
        )))
    }

    /// Takes the outcome of writing, and gives up a peer that does not read.
    fn written(
        &mut self,
        context: &mut Context<'_>,
        outcome: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        let Poll::Ready(result) = outcome else {
            let patience = self.patience;
            let blocked = self.blocked.get_or_insert_with(|| Blocked::for_at_most(patience));
            ready!(blocked.timer.as_mut().poll(context));
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        };
        if let Some(blocked) = self.blocked.take() {
            self.patience.waited(blocked.since.elapsed());
            if blocked.withholds {
                context.waker().wake_by_ref();
            }
        }
        self.patience.moved(*result.as_ref().unwrap_or(&0));
        Poll::Ready(result)
    }
}

impl AsyncRead for GuardedStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.is_late(context) {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        if this.refused.is_some() {
            return this.poll_refuse_head(context);
        }
        if !this.may_linger() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        if this.withholds_reading() || this.paused_until > Instant::now() {
            return Poll::Pending;
        }
        let room = this.exchange.room();
        if room > 0 {
            this.has_paused = false;
            return this.poll_read_up_to(room, context, buffer);
        }
        if this.has_paused {
            return this.poll_refuse_head(context);
        }
        // What has come may hold a whole head: the server looks for it once reading has to wait.
        this.has_paused = true;
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

impl AsyncWrite for GuardedStream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let outcome = Pin::new(&mut this.io).poll_write(context, bytes);
        this.written(context, outcome)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_shutdown(context)
    }
}
