//! [`GuardedStream`]: a connection's bytes, as long as the connection keeps its limits.

use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use actix_web::http::StatusCode;
use bytes::Buf as _;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep_until};

use super::admission::Admitted;
use super::long_bodies::Linger;
use super::refused_head::{DROPPED_AT_MOST, RefusedHead, answer, parser_answer};
use super::{Exchange, LongBodies, Patience};
use crate::observation::RequestObserver;

const TOO_LONG: StatusCode = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;

/// A TCP connection that fails with [`io::ErrorKind::TimedOut`] once it exceeds a limit.
///
/// The server reads whenever it is woken, so deadlines are checked there. One timer is always armed, for the deadline or
/// for the next look at it.
#[derive(Debug)]
pub(crate) struct GuardedStream {
    io: TcpStream,
    exchange: Rc<Exchange>,
    observer: Arc<dyn RequestObserver>,
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
    /// Whether the peer or the server has ended the connection.
    has_ended: bool,
    /// Whether the server stops.
    stopping: Arc<AtomicBool>,
    _admitted: Admitted,
}

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
        observer: Arc<dyn RequestObserver>,
        long_bodies: Arc<LongBodies>,
        stopping: Arc<AtomicBool>,
        admitted: Admitted,
    ) -> Self {
        let first = exchange.deadline().unwrap_or_else(Instant::now);
        let patience = Patience::new(exchange.limits());
        Self {
            io,
            exchange,
            observer,
            timer: Box::pin(sleep_until(first.into())),
            has_paused: false,
            refused: None,
            blocked: None,
            patience,
            long_bodies,
            linger: None,
            paused_until: Instant::now(),
            has_ended: false,
            stopping,
            _admitted: admitted,
        }
    }

    /// What the connection is doing.
    pub(crate) const fn exchange(&self) -> &Rc<Exchange> {
        &self.exchange
    }

    /// Whether the deadline has passed. Arms the timer for it otherwise, or for the end of a pause.
    fn is_late(&mut self, mut now: Instant, context: &mut Context<'_>) -> bool {
        loop {
            let deadline = self.exchange.deadline();
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
            now = Instant::now();
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
        if !self.exchange.is_lingering() {
            self.linger = None;
            return true;
        }
        if self.linger.is_none() {
            self.linger = self.long_bodies.linger();
        }
        self.linger.is_some()
    }

    fn poll_read_within_limits(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let now = Instant::now();
        if self.is_late(now, context) {
            self.refuse_late_head(context);
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        if self.refused.is_some() {
            return self.poll_refuse(TOO_LONG, context).map(Err);
        }
        if !self.may_linger() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        if self.withholds_reading() || self.paused_until > now {
            return Poll::Pending;
        }
        let room = self.exchange.room();
        if room > 0 {
            self.has_paused = false;
            return self.poll_read_up_to(room, context, buffer);
        }
        if self.has_paused {
            return self.poll_refuse(TOO_LONG, context).map(Err);
        }
        // What has come may hold a whole head: the server looks for it once reading has to wait.
        self.has_paused = true;
        context.waker().wake_by_ref();
        Poll::Pending
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
        self.has_ended |= read == 0;
        if self.exchange.received(read) {
            self.paused_until = self.long_bodies.received(read, Instant::now());
        }
        Poll::Ready(Ok(()))
    }

    /// The answer to a head that is refused. It is counted like those to requests.
    fn refusal(&self, status: StatusCode) -> RefusedHead {
        let request_id = self.observer.new_id();
        let took = self
            .exchange
            .head_began()
            .map_or(Duration::ZERO, |began| began.elapsed());
        self.observer.answered("none", status.as_u16(), took);
        tracing::debug!(
            request_id,
            status = status.as_u16(),
            "answered what is no request"
        );
        RefusedHead::answered_with(answer(status, &request_id))
    }

    /// Answers a head that did not come in time. All that came was read, so the connection can be closed at once.
    fn refuse_late_head(&mut self, context: &mut Context<'_>) {
        let has_begun = self.exchange.head_began().is_some();
        // Behind an answer that the peer has not read, another one would be a part of it.
        if has_begun && self.refused.is_none() && self.blocked.is_none() {
            let refused = self.refusal(StatusCode::REQUEST_TIMEOUT);
            let _unsent = self.io.try_write(&refused.unsent);
            let _open = Pin::new(&mut self.io).poll_shutdown(context);
        }
    }

    /// Refuses a head, or sends on the refusal. Ends with an error once the peer has closed, or was waited for long enough.
    ///
    /// Everything before it was answered and written: the server writes what it has each time before it waits, and reading
    /// is put off while it cannot.
    fn poll_refuse(&mut self, status: StatusCode, context: &mut Context<'_>) -> Poll<io::Error> {
        if self.refused.is_none() {
            self.refused = Some(self.refusal(status));
            self.exchange.refuse_head();
        }
        if self.is_late(Instant::now(), context) {
            return Poll::Ready(io::ErrorKind::TimedOut.into());
        }
        let over = || io::Error::new(io::ErrorKind::InvalidData, "what came is no request");
        let may_linger = self.may_linger();
        let refused = self.refused.get_or_insert_default();
        while !refused.unsent.is_empty() {
            match ready!(Pin::new(&mut self.io).poll_write(context, &refused.unsent)) {
                Ok(sent) if sent > 0 => refused.unsent.advance(sent),
                _ => return Poll::Ready(over()),
            }
        }
        let _open = Pin::new(&mut self.io).poll_shutdown(context);
        let mut dropped = [0; 4096];
        while may_linger && refused.dropped_bytes < DROPPED_AT_MOST {
            let mut some = ReadBuf::new(&mut dropped);
            let read = ready!(Pin::new(&mut self.io).poll_read(context, &mut some));
            if read.is_err() || some.filled().is_empty() {
                break;
            }
            refused.dropped_bytes += some.filled().len();
        }
        Poll::Ready(over())
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
            self.has_ended = true;
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        };
        if let Some(blocked) = self.blocked.take() {
            self.patience.waited(blocked.since.elapsed());
            if blocked.withholds {
                context.waker().wake_by_ref();
            }
        }
        self.has_ended |= result.is_err();
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
        let read = this.poll_read_within_limits(context, buffer);
        this.has_ended |= matches!(read, Poll::Ready(Err(_)));
        read
    }
}

impl AsyncWrite for GuardedStream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let of_parser = if this.exchange.is_serving() {
            None
        } else {
            parser_answer(bytes)
        };
        let bytes = match of_parser {
            Some((0, status)) => return this.poll_refuse(status, context).map(Err),
            Some((start, _)) => &bytes[..start],
            None => bytes,
        };
        let outcome = Pin::new(&mut this.io).poll_write(context, bytes);
        this.written(context, outcome)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.has_ended = true;
        Pin::new(&mut this.io).poll_shutdown(context)
    }
}

impl Drop for GuardedStream {
    /// A connection that nobody ended, with a request whose body is still read, is given up by the parser.
    fn drop(&mut self) {
        let is_given_up = self.exchange.awaits_body() && !self.has_ended && self.blocked.is_none();
        if is_given_up && !self.stopping.load(Ordering::Relaxed) && !std::thread::panicking() {
            let refused = self.refusal(StatusCode::BAD_REQUEST);
            let _unsent = self.io.try_write(&refused.unsent);
        }
    }
}
