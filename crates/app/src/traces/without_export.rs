//! Stands for the export of spans in a program that is built without it: there is none.

use std::time::Duration;

use bidloop_domain::model::TraceParent;

use super::{NewSpan, SpanEnd};
use crate::settings::TelemetrySettings;

#[derive(Debug)]
pub(super) enum Exporter {}

impl Exporter {
    pub(super) fn start(_settings: &TelemetrySettings) -> anyhow::Result<Self> {
        anyhow::bail!("the program is built without the export of traces")
    }

    pub(super) fn begin(&self, _parent: Option<TraceParent>, _new: NewSpan) -> Span {
        match *self {}
    }

    #[expect(
        clippy::unused_async,
        reason = "with an export it waits for the spans to be sent"
    )]
    pub(super) async fn stop(&self, _within: Duration) {
        match *self {}
    }
}

#[derive(Debug)]
pub(super) enum Span {}

impl Span {
    pub(super) fn trace_parent(&self) -> Option<TraceParent> {
        match *self {}
    }

    pub(super) fn end(self, _end: SpanEnd) {
        match self {}
    }
}
