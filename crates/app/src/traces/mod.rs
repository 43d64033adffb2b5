//! Which trace the work of a task belongs to, and spans about it.
//!
//! Without export, what a caller's `traceparent` says is passed on as it is. With export, each piece of work has a span of
//! its own, which its calls belong to. Spans hold ids, outcomes and statuses, and nothing that people wrote.

#[cfg(any(feature = "otel", test))]
mod losses;
#[cfg(feature = "otel")]
mod otel;
#[cfg(not(feature = "otel"))]
#[path = "without_export.rs"]
mod otel;
mod requests;

use std::sync::Arc;
use std::time::Duration;

use bidloop_domain::model::TraceParent;
use bidloop_domain::port::CurrentTrace;
use bidloop_http_server::{RequestObserver, traced};

use self::otel::{Exporter, Span};
use crate::settings::TelemetrySettings;

tokio::task_local! {
    static CURRENT: Option<TraceParent>;
}

/// The trace of the running task.
#[derive(Debug)]
pub(crate) struct TaskTrace;

impl CurrentTrace for TaskTrace {
    fn trace_parent(&self) -> Option<TraceParent> {
        CURRENT.try_with(|current| *current).ok().flatten()
    }
}

/// What a span is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A request to the service.
    Server,
    /// A call of another service.
    Client,
    /// Work of the service's own.
    Internal,
}

/// A name and its value.
pub(crate) type Attribute = (&'static str, String);

/// A span that begins.
#[derive(Debug)]
#[cfg_attr(
    not(feature = "otel"),
    expect(dead_code, reason = "only an exporter reads it")
)]
pub(crate) struct NewSpan {
    pub(crate) kind: Kind,
    pub(crate) name: String,
    pub(crate) attributes: Vec<Attribute>,
}

/// How a span ends.
#[derive(Debug, Default)]
#[cfg_attr(
    not(feature = "otel"),
    expect(dead_code, reason = "only an exporter reads it")
)]
pub(crate) struct SpanEnd {
    /// A name that was not known at the beginning.
    pub(crate) name: Option<String>,
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) status: Option<u16>,
    /// The kind of failure: a fixed word.
    pub(crate) error: Option<String>,
}

/// Begins spans, which are exported if the settings say where to.
#[derive(Debug, Default)]
pub(crate) struct Traces {
    exporter: Option<Exporter>,
}

impl Traces {
    /// Exports as the settings say. To be called within the runtime that is to export.
    pub(crate) fn start(settings: Option<&TelemetrySettings>) -> anyhow::Result<Self> {
        let exporter = settings.map(Exporter::start).transpose()?;
        Ok(Self { exporter })
    }

    /// Begins work that belongs to the trace of `parent`. `new` is asked only if spans are exported.
    pub(crate) fn begin(&self, parent: Option<TraceParent>, new: impl FnOnce() -> NewSpan) -> Trace {
        let span = self
            .exporter
            .as_ref()
            .map(|exporter| exporter.begin(parent, new()));
        let current = span.as_ref().map_or(parent, Span::trace_parent);
        Trace { span, current }
    }

    /// Work that is a part of the running task's.
    pub(crate) fn begin_part(&self, new: impl FnOnce() -> NewSpan) -> Trace {
        self.begin(TaskTrace.trace_parent(), new)
    }

    /// The observer, which also begins a span for each request if spans are exported.
    pub(crate) fn of_requests(
        self: &Arc<Self>,
        observer: Arc<dyn RequestObserver>,
    ) -> Arc<dyn RequestObserver> {
        match self.exporter {
            None => observer,
            Some(_) => traced(observer, Arc::clone(self) as _),
        }
    }

    /// Exports what has ended, for a few seconds and no longer than this.
    pub(crate) async fn stop(&self, within: Duration) {
        if let Some(exporter) = &self.exporter {
            exporter.stop(within).await;
        }
    }
}

/// Work that belongs to a trace. Dropped, its span ends.
#[derive(Debug)]
pub(crate) struct Trace {
    span: Option<Span>,
    current: Option<TraceParent>,
}

impl Trace {
    /// What follows from the work belongs to this trace.
    pub(crate) fn trace_parent(&self) -> Option<TraceParent> {
        self.current
    }

    /// Does the work: its calls belong to the trace.
    pub(crate) async fn scope<F: Future>(&self, work: F) -> F::Output {
        CURRENT.scope(self.current, work).await
    }

    /// Ends the work. `end` is asked only if there is a span.
    pub(crate) fn end(self, end: impl FnOnce() -> SpanEnd) {
        if let Some(span) = self.span {
            span.end(end());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn without_export_the_callers_trace_is_that_of_the_work_and_of_its_parts() {
        let traces = Traces::start(None).unwrap();
        let unasked = || -> NewSpan { panic!("no span is described") };
        let callers = TraceParent::new(1, 2, true);
        let trace = traces.begin(callers, unasked);
        let (own, part) = trace
            .scope(async { (TaskTrace.trace_parent(), traces.begin_part(unasked)) })
            .await;
        assert_eq!((own, part.trace_parent()), (callers, callers));
        trace.end(|| panic!("no span is described"));
        assert_eq!(TaskTrace.trace_parent(), None);
    }

    #[tokio::test]
    async fn work_without_a_trace_hides_that_of_the_task_around_it() {
        let traces = Traces::default();
        let around = traces.begin(TraceParent::new(1, 2, true), || panic!("no span is described"));
        let within = around.scope(async {
            let own = traces.begin(None, || panic!("no span is described"));
            own.scope(async { TaskTrace.trace_parent() }).await
        });
        assert_eq!(within.await, None);
    }
}
