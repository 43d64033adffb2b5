//! An answer that keeps something alive until it is handed to the connection, such as its request's body.

use std::pin::Pin;
use std::task::{Context, Poll};

use actix_web::HttpResponse;
use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::http::ConnectionType;
use bytes::Bytes;

use crate::request_body::RequestBody;

/// Answers a request whose body may not have been read to its end.
///
/// While the body is alive, the server treats it as unread: it announces that it will close the connection, reads on
/// for a bounded time so that the caller sees the answer instead of a reset, and then closes the connection. If the body
/// were dropped, the server would read a chunked one without limit in order to reuse the connection.
pub fn answer_holding(body: RequestBody, mut answer: HttpResponse) -> HttpResponse {
    if body.is_broken_off() {
        // The server has let go of it, and announces nothing by itself.
        answer.head_mut().set_connection_type(ConnectionType::Close);
    }
    answer
        .map_body(|_, answer| Holding::new(body, answer))
        .map_into_boxed_body()
}

/// An answer, and what is dropped with it, just before it.
#[derive(Debug)]
pub struct Holding<T> {
    _held: T,
    answer: BoxBody,
}

impl<T> Holding<T> {
    /// The answer, which keeps `held`.
    pub fn new(held: T, answer: BoxBody) -> Self {
        Self { _held: held, answer }
    }
}

impl<T: Unpin> MessageBody for Holding<T> {
    type Error = Box<dyn std::error::Error>;

    fn size(&self) -> BodySize {
        self.answer.size()
    }

    fn poll_next(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Self::Error>>> {
        Pin::new(&mut self.get_mut().answer).poll_next(context)
    }
}
