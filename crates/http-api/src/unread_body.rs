//! A response that keeps hold of its request's body.

use std::pin::Pin;
use std::task::{Context, Poll};

use actix_web::HttpResponse;
use actix_web::body::{BodySize, BoxBody, MessageBody};
use bytes::Bytes;

use crate::errors::Refusal;
use crate::request_body::RequestBody;

/// Answers a request whose body may not have been read to its end.
///
/// As long as the body is held, the server counts it as unread: it announces that it closes the connection, reads
/// on for a bounded time so that the caller sees the answer instead of a reset, and then closes. Once dropped, a
/// chunked body would be read on for ever in order to keep the connection.
pub(crate) fn answer_holding(body: RequestBody, answer: Result<HttpResponse, Refusal>) -> HttpResponse {
    answer
        .unwrap_or_else(Refusal::into_response)
        .map_body(|_, answer| Holding {
            answer,
            _request: body,
        })
        .map_into_boxed_body()
}

struct Holding {
    answer: BoxBody,
    _request: RequestBody,
}

impl MessageBody for Holding {
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
