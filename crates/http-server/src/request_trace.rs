//! Spans of requests in traces. What makes them is given by the program.

use std::sync::Arc;
use std::time::Duration;

use actix_web::HttpRequest;
use actix_web::dev::ServiceRequest;
use actix_web::http::header::{HeaderName, HeaderValue};

use crate::observation::RequestObserver;

const TRACE_PARENT: HeaderName = HeaderName::from_static("traceparent");

/// Begins the span of each request.
pub trait RequestTracer: Send + Sync + std::fmt::Debug {
    /// Begins the span of a request with this method and header `traceparent`.
    fn begin(&self, method: &str, trace_parent: Option<&str>) -> Box<dyn RequestSpan>;
}

/// The span of a request. Dropped without an answer, it ends, too: the caller has gone.
pub trait RequestSpan {
    /// The header `traceparent` for what follows from the request.
    fn trace_parent(&self) -> Option<String>;

    /// The answer begins, which ends the span. `route` is the pattern of addresses that the request was routed by.
    fn answered(self: Box<Self>, route: Option<String>, status: u16);
}

/// The observer, with spans of its requests.
pub fn traced(
    observer: Arc<dyn RequestObserver>,
    tracer: Arc<dyn RequestTracer>,
) -> Arc<dyn RequestObserver> {
    Arc::new(Traced { observer, tracer })
}

/// Begins the request's span. What handles the request finds the span in the header `traceparent`.
pub(crate) fn begin_span(tracer: &dyn RequestTracer, request: &mut ServiceRequest) -> Box<dyn RequestSpan> {
    let mut headers = request.headers().get_all(&TRACE_PARENT);
    let callers = headers.next().filter(|_| headers.next().is_none());
    let callers = callers.and_then(|value| value.to_str().ok());
    let span = tracer.begin(request.method().as_str(), callers);
    let own = span
        .trace_parent()
        .and_then(|own| HeaderValue::try_from(own).ok());
    if let Some(own) = own {
        request.headers_mut().insert(TRACE_PARENT, own);
    }
    span
}

#[derive(Debug)]
struct Traced {
    observer: Arc<dyn RequestObserver>,
    tracer: Arc<dyn RequestTracer>,
}

impl RequestObserver for Traced {
    fn new_id(&self) -> String {
        self.observer.new_id()
    }

    fn operation(&self, request: &HttpRequest) -> &'static str {
        self.observer.operation(request)
    }

    fn route(&self, request: &HttpRequest) -> Option<String> {
        self.observer.route(request)
    }

    fn tracer(&self) -> Option<&dyn RequestTracer> {
        Some(self.tracer.as_ref())
    }

    fn answered(&self, operation: &'static str, status: u16, duration: Duration) {
        self.observer.answered(operation, status, duration);
    }
}
