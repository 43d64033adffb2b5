//! A span for each request.

use bidloop_domain::model::TraceParent;
use bidloop_http_server::{RequestSpan, RequestTracer};

use super::{Kind, NewSpan, SpanEnd, Trace, Traces};

impl RequestTracer for Traces {
    fn begin(&self, method: &str, trace_parent: Option<&str>) -> Box<dyn RequestSpan> {
        let method = known(method);
        let trace = Traces::begin(self, trace_parent.and_then(TraceParent::parse), || NewSpan {
            kind: Kind::Server,
            name: method.to_owned(),
            attributes: vec![("http.request.method", method.to_owned())],
        });
        Box::new(RequestTrace { trace, method })
    }
}

/// The method, unless it is a caller's invention, of which there may be any number.
fn known(method: &str) -> &'static str {
    const METHODS: [&str; 9] = [
        "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT",
    ];
    let mut methods = METHODS.into_iter();
    methods.find(|known| *known == method).unwrap_or("_OTHER")
}

struct RequestTrace {
    trace: Trace,
    method: &'static str,
}

impl RequestSpan for RequestTrace {
    fn trace_parent(&self) -> Option<String> {
        self.trace.trace_parent().map(|trace| trace.to_string())
    }

    fn answered(self: Box<Self>, route: Option<String>, status: u16) {
        let Self { trace, method } = *self;
        trace.end(|| SpanEnd {
            name: route.as_ref().map(|route| format!("{method} {route}")),
            attributes: route.map(|route| ("http.route", route)).into_iter().collect(),
            status: Some(status),
            error: (status >= 500).then(|| status.to_string()),
        });
    }
}
