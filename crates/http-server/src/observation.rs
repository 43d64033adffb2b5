//! The id, log span and metrics of every request.

use std::borrow::Cow;
use std::convert::Infallible;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use actix_web::middleware::Next;
use actix_web::{Error, HttpRequest, web};
use bytes::Bytes;
use tracing::Instrument;
use tracing::field::Empty;

use crate::connection::{EndsRequest, Exchange};
use crate::request_body::declares_no_body;
use crate::request_trace::{RequestTracer, begin_span};
use crate::unread_body::Holding;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The longest request id that is accepted from a caller.
const MAX_REQUEST_ID_BYTES: usize = 128;

/// Watches requests.
pub trait RequestObserver: Send + Sync + std::fmt::Debug {
    /// A new id for a request that has none.
    fn new_id(&self) -> String;

    /// What the request was routed to, for metrics and logs.
    fn operation(&self, request: &HttpRequest) -> &'static str;

    /// The pattern of addresses that the request was routed by.
    fn route(&self, request: &HttpRequest) -> Option<String> {
        request.match_pattern()
    }

    /// What traces requests, if they are traced.
    fn tracer(&self) -> Option<&dyn RequestTracer> {
        None
    }

    /// A request's answer begins; its body may still have to be sent.
    fn answered(&self, operation: &'static str, status: u16, duration: Duration);
}

/// Wraps every request: tells its connection when it begins and ends, accepts or generates its `X-Request-Id`, opens its
/// span, counts it. An answer that says nothing of caches is kept by none, and one to HEAD has no body.
pub(crate) async fn observe<B: MessageBody + 'static>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let Some(exchange) = request.conn_data::<Rc<Exchange>>().cloned() else {
        return Ok(measure(request, next).await?.map_into_boxed_body());
    };
    exchange.begin_request(!declares_no_body(request.headers()));
    let mut response = measure(request, next).await?.map_into_boxed_body();
    let headers = response.headers_mut();
    if !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    if response.request().method() == Method::HEAD {
        response = response.map_body(|_, answer| Unsent(answer).boxed());
    }
    Ok(response.map_body(|_, answer| Holding::new(EndsRequest(exchange), answer).boxed()))
}

/// The body of an answer to HEAD: its length is told, and it is not made.
///
/// If another request was pipelined, the server takes the answer for that to its method. It then misses the body and ends
/// the connection, so that nothing is misread.
struct Unsent(BoxBody);

impl MessageBody for Unsent {
    type Error = Infallible;

    fn size(&self) -> BodySize {
        self.0.size()
    }

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, Self::Error>>> {
        Poll::Ready(None)
    }
}

async fn measure<B: MessageBody + 'static>(
    mut request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<B>, Error> {
    let Some(observer) = request.app_data::<web::Data<Arc<dyn RequestObserver>>>().cloned() else {
        return next.call(request).await;
    };
    let started = Instant::now();
    let id = request_id(request.headers(), observer.as_ref().as_ref());
    let span = tracing::info_span!(
        "request",
        request_id = id.to_str().unwrap_or_default(),
        method = request.method().as_str(),
        path = &*loggable(request.path()),
        organization = Empty,
        campaign = Empty,
        lead = Empty,
    );
    let trace = observer.tracer().map(|tracer| begin_span(tracer, &mut request));
    let answer = async {
        let mut response = next.call(request).await?;
        response.headers_mut().insert(REQUEST_ID, id);
        let status = response.status().as_u16();
        let duration = started.elapsed();
        let operation = observer.operation(response.request());
        observer.answered(operation, status, duration);
        if let Some(trace) = trace {
            trace.answered(observer.route(response.request()), status);
        }
        tracing::debug!(operation, status, ?duration, "answered");
        Ok(response)
    };
    answer.instrument(span).await
}

/// The caller's id if a log can contain it, else a new one.
fn request_id(headers: &HeaderMap, observer: &dyn RequestObserver) -> HeaderValue {
    let is_fit = |value: &&HeaderValue| {
        let bytes = value.as_bytes();
        (1..=MAX_REQUEST_ID_BYTES).contains(&bytes.len()) && bytes.iter().all(u8::is_ascii_graphic)
    };
    if let Some(given) = headers.get(REQUEST_ID).filter(is_fit) {
        return given.clone();
    }
    let fresh = observer.new_id();
    HeaderValue::from_str(&fresh).unwrap_or_else(|_| HeaderValue::from_static("-"))
}

/// The digits of a token in a path: whoever reads it in a log could use it.
const TOKEN_DIGITS: usize = 64;

/// The path without tokens.
fn loggable(path: &str) -> Cow<'_, str> {
    let is_token = |part: &[u8]| part.len() >= TOKEN_DIGITS && part.iter().all(u8::is_ascii_hexdigit);
    if !path.as_bytes().split(|byte| *byte == b'/').any(is_token) {
        return Cow::Borrowed(path);
    }
    let parts: Vec<&str> = path
        .split('/')
        .map(|part| if is_token(part.as_bytes()) { "…" } else { part })
        .collect();
    Cow::Owned(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_in_a_path_is_not_logged() {
        let token = "0a".repeat(32);
        assert_eq!(loggable(&format!("/invite/{token}")), "/invite/…");
        assert_eq!(loggable(&format!("/invite/{token}/")), "/invite/…/");
        for path in ["/campaigns/c/leads/ld_1", &format!("/leads/ld_{token}"), "/"] {
            assert_eq!(loggable(path), path);
        }
    }
}
