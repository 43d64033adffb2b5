//! Spans, exported over OTLP.

mod export;
mod http_client;
mod share;

use std::time::Duration;

use opentelemetry::trace::{
    Span as _, SpanContext, SpanKind, Status, TraceContextExt as _, TraceFlags, TraceState, Tracer as _,
    TracerProvider as _,
};
use opentelemetry::{Context, KeyValue};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};

use bidloop_domain::model::TraceParent;

use self::export::Export;
use self::share::Share;
use super::{Attribute, Kind, NewSpan, SpanEnd};
use crate::settings::TelemetrySettings;

/// Exports spans.
#[derive(Debug)]
pub(super) struct Exporter {
    tracer: SdkTracer,
    export: Export,
}

impl Exporter {
    pub(super) fn start(settings: &TelemetrySettings) -> anyhow::Result<Self> {
        let resource = Resource::builder_empty()
            .with_service_name(settings.service_name.clone())
            .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
            .build();
        let (export, queue) = Export::start(settings, &resource)?;
        let provider = SdkTracerProvider::builder()
            .with_resource(resource)
            .with_sampler(Share::of(settings.sample_ratio))
            .with_span_processor(queue)
            .build();
        Ok(Self {
            tracer: provider.tracer("bidloop"),
            export,
        })
    }

    pub(super) fn begin(&self, parent: Option<TraceParent>, new: NewSpan) -> Span {
        let kind = match new.kind {
            Kind::Server => SpanKind::Server,
            Kind::Client => SpanKind::Client,
            Kind::Internal => SpanKind::Internal,
        };
        let around = parent.map_or_else(Context::new, |parent| {
            Context::new().with_remote_span_context(context_of(parent))
        });
        let builder = self
            .tracer
            .span_builder(new.name)
            .with_kind(kind)
            .with_attributes(new.attributes.into_iter().map(key_value));
        Span {
            span: self.tracer.build_with_context(builder, &around),
        }
    }

    pub(super) async fn stop(&self, within: Duration) {
        self.export.stop(within).await;
    }
}

/// A span that has begun. Dropped, it ends.
#[derive(Debug)]
pub(super) struct Span {
    span: opentelemetry_sdk::trace::Span,
}

impl Span {
    pub(super) fn trace_parent(&self) -> Option<TraceParent> {
        let context = self.span.span_context();
        TraceParent::new(
            u128::from_be_bytes(context.trace_id().to_bytes()),
            u64::from_be_bytes(context.span_id().to_bytes()),
            context.is_sampled(),
        )
    }

    pub(super) fn end(mut self, end: SpanEnd) {
        let span = &mut self.span;
        if let Some(name) = end.name {
            span.update_name(name);
        }
        span.set_attributes(end.attributes.into_iter().map(key_value));
        if let Some(status) = end.status {
            span.set_attribute(KeyValue::new("http.response.status_code", i64::from(status)));
        }
        if let Some(error) = end.error {
            span.set_attribute(KeyValue::new("error.type", error));
            span.set_status(Status::error(""));
        }
        span.end();
    }
}

fn key_value((name, value): Attribute) -> KeyValue {
    KeyValue::new(name, value)
}

fn context_of(parent: TraceParent) -> SpanContext {
    let flags = if parent.is_sampled() {
        TraceFlags::SAMPLED
    } else {
        TraceFlags::default()
    };
    SpanContext::new(
        parent.trace_id().into(),
        parent.parent_id().into(),
        flags,
        true,
        TraceState::default(),
    )
}
