//! Reads a request's body within limits of size and time.

use std::cell::RefCell;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::Instant;

use actix_web::HttpRequest;
use actix_web::dev::Payload;
use actix_web::http::header::{self, HeaderMap, HeaderValue};
use bytes::Bytes;
use futures::{FutureExt as _, Stream, stream};
use tokio::time::timeout;

use crate::connection::{ConnectionLimits, Exchange, Patience, SHORT_BODY_BYTES};

/// Why a body was not read to its end, as the end of a sentence about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyFault {
    /// It has more bytes than this.
    TooLarge {
        /// The limit.
        limit_bytes: u64,
    },
    /// It came too slowly.
    TooSlow,
    /// The connection broke, or a chunk of it was not valid.
    BrokenOff,
}

impl fmt::Display for BodyFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooLarge { .. } => "is too large",
            Self::TooSlow => "did not arrive in time",
            Self::BrokenOff => "broke off before its end, or its chunks are not valid",
        })
    }
}

impl std::error::Error for BodyFault {}

/// Whether a header's media type is this one, whatever its parameters.
pub fn is_media_type(given: &HeaderValue, expected: &str) -> bool {
    let mut parts = given.as_bytes().split(|byte| *byte == b';');
    let essence = parts.next().unwrap_or_default();
    essence.trim_ascii().eq_ignore_ascii_case(expected.as_bytes())
}

/// The length that the headers declare; a number that is too large counts as the largest one.
pub fn declared_length(headers: &HeaderMap) -> Option<u64> {
    let digits = headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.trim();
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // Only a number that is too large does not parse.
    Some(digits.parse().unwrap_or(u64::MAX))
}

/// Whether the request has no body, by its headers.
pub fn declares_no_body(headers: &HeaderMap) -> bool {
    match declared_length(headers) {
        Some(length) => length == 0,
        None => !headers.contains_key(header::TRANSFER_ENCODING),
    }
}

/// A request's body, which has several owners and one reader.
#[derive(Clone)]
pub struct RequestBody {
    payload: Rc<RefCell<Payload>>,
    exchange: Rc<Exchange>,
    declared: Option<usize>,
}

impl fmt::Debug for RequestBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestBody").finish_non_exhaustive()
    }
}

impl RequestBody {
    /// The body of `request`, for a handler.
    pub fn new(payload: actix_web::web::Payload, request: &HttpRequest) -> Self {
        Self::of(payload.into_inner(), request)
    }

    /// The body of `request`, for a middleware.
    pub fn of(payload: Payload, request: &HttpRequest) -> Self {
        let exchange = request.conn_data::<Rc<Exchange>>().cloned();
        let declared = declared_length(request.headers());
        Self {
            payload: Rc::new(RefCell::new(payload)),
            exchange: exchange.unwrap_or_else(|| Exchange::new(ConnectionLimits::DEFAULT)),
            declared: declared.and_then(|length| usize::try_from(length).ok()),
        }
    }

    /// Whether reading it has failed, so that no other request can follow on the connection.
    pub(crate) fn is_broken_off(&self) -> bool {
        self.exchange.is_broken_off()
    }

    /// The bytes as they arrive. `take` is told how many come, before they are passed on. The stream ends with an error if
    /// `take` refuses, if there are more than `limit_bytes`, if they come too slowly, or if the connection breaks.
    pub fn stream<E, T>(&self, limit_bytes: u64, take: T) -> impl Stream<Item = Result<Bytes, E>> + use<E, T>
    where
        E: From<BodyFault>,
        T: FnMut(usize) -> Result<(), E>,
    {
        stream::try_unfold(self.arriving(limit_bytes, take), async |mut arriving| {
            let piece = arriving.next().await?;
            Ok(piece.map(|piece| (piece, arriving)))
        })
    }

    /// The whole body, held in memory.
    pub async fn read<E, T>(&self, limit_bytes: u64, take: T) -> Result<Bytes, E>
    where
        E: From<BodyFault>,
        T: FnMut(usize) -> Result<(), E>,
    {
        let mut body = Vec::new();
        let mut arriving = self.arriving(limit_bytes, take);
        while let Some(piece) = arriving.next().await? {
            if body.len() >= SHORT_BODY_BYTES {
                // Doubling would take twice the memory. A short beginning earns no room for a length that is only declared.
                body.reserve_exact(self.declared.unwrap_or_default().saturating_sub(body.len()));
            }
            body.extend_from_slice(&piece);
        }
        Ok(body.into())
    }

    fn arriving<T>(&self, limit_bytes: u64, take: T) -> Arriving<T> {
        Arriving {
            body: self.clone(),
            patience: Patience::new(self.exchange.limits()),
            left: limit_bytes,
            limit_bytes,
            take,
        }
    }
}

/// A body that is being read.
struct Arriving<T> {
    body: RequestBody,
    /// Only the time counts for which the sender is waited for.
    patience: Patience,
    left: u64,
    limit_bytes: u64,
    take: T,
}

impl<T> Arriving<T> {
    async fn next<E>(&mut self) -> Result<Option<Bytes>, E>
    where
        E: From<BodyFault>,
        T: FnMut(usize) -> Result<(), E>,
    {
        let payload = &self.body.payload;
        let mut next = poll_fn(|context| Pin::new(&mut *payload.borrow_mut()).poll_next(context));
        let mut has_waited = false;
        // The server passes on what came with the head when it has polled the handler once: nobody waits for that.
        let arrived = poll_fn(|context| match next.poll_unpin(context) {
            Poll::Ready(arrived) => Poll::Ready(Some(arrived)),
            Poll::Pending if has_waited => Poll::Ready(None),
            Poll::Pending => {
                has_waited = true;
                context.waker().wake_by_ref();
                Poll::Pending
            }
        });
        let arrived = if let Some(arrived) = arrived.await {
            arrived
        } else {
            let waiting = Instant::now();
            let arrived = timeout(self.patience.left(), next).await;
            self.patience.waited(waiting.elapsed());
            arrived.map_err(|_| BodyFault::TooSlow)?
        };
        let Some(piece) = arrived else {
            self.body.exchange.end_body();
            return Ok(None);
        };
        let piece = piece.map_err(|_| {
            self.body.exchange.break_off();
            BodyFault::BrokenOff
        })?;
        self.patience.moved(piece.len());
        let left = self.left.checked_sub(piece.len() as u64);
        self.left = left.ok_or(BodyFault::TooLarge {
            limit_bytes: self.limit_bytes,
        })?;
        (self.take)(piece.len())?;
        Ok(Some(piece))
    }
}
