//! The queue of ended spans, and the task that sends them to the collector.
//!
//! Nothing waits for the collector: what does not fit into the queue, or is not taken, is dropped with a warning.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use opentelemetry::Context;
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{Span, SpanData, SpanExporter as _, SpanProcessor};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::super::losses::Losses;
use super::http_client::HyperClient;
use crate::settings::TelemetrySettings;

/// The most spans that wait to be sent.
const WAITING: usize = 8_192;
/// The most spans in one request.
const BATCH: usize = 512;
/// How long a span waits for others.
const GATHER: Duration = Duration::from_secs(1);
/// The longest that one request, its retries included, may take.
const SEND_WITHIN: Duration = Duration::from_secs(10);
/// The longest that a stop waits for the rest.
const STOP_WITHIN: Duration = Duration::from_secs(3);

/// The running export.
#[derive(Debug)]
pub(super) struct Export {
    stop: CancellationToken,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Export {
    /// Starts the export, and returns the queue that feeds it.
    pub(super) fn start(settings: &TelemetrySettings, resource: &Resource) -> anyhow::Result<(Self, Queue)> {
        let headers = settings.headers.expose().iter().cloned().collect();
        let mut exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(HyperClient::new())
            .with_endpoint(format!(
                "{}/v1/traces",
                settings.otlp_endpoint.trim_end_matches('/')
            ))
            .with_protocol(Protocol::HttpBinary)
            .with_timeout(SEND_WITHIN)
            .with_headers(headers)
            .build()
            .context("telemetry.otlp_endpoint")?;
        exporter.set_resource(resource);
        let (sender, spans) = channel(WAITING);
        let losses = Arc::new(Losses::default());
        let stop = CancellationToken::new();
        let task = tokio::spawn(run(spans, exporter, Arc::clone(&losses), stop.clone()));
        let export = Self {
            stop,
            task: Mutex::new(Some(task)),
        };
        Ok((export, Queue { sender, losses }))
    }

    /// Sends what is waiting.
    pub(super) async fn stop(&self, within: Duration) {
        self.stop.cancel();
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task
            && tokio::time::timeout(within.min(STOP_WITHIN), task).await.is_err()
        {
            tracing::warn!("the collector did not take the last spans in time");
        }
    }
}

/// Takes spans as they end.
#[derive(Debug)]
pub(super) struct Queue {
    sender: Sender<SpanData>,
    losses: Arc<Losses>,
}

impl SpanProcessor for Queue {
    fn on_start(&self, _span: &mut Span, _context: &Context) {}

    fn on_end(&self, span: SpanData) {
        if self.sender.try_send(span).is_err() {
            self.losses.note(1, &"more spans end than the collector takes");
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _timeout: Duration) -> OTelSdkResult {
        Ok(())
    }
}

async fn run(
    mut spans: Receiver<SpanData>,
    exporter: SpanExporter,
    losses: Arc<Losses>,
    stop: CancellationToken,
) {
    let mut batch = Vec::with_capacity(BATCH);
    loop {
        tokio::select! {
            taken = spans.recv_many(&mut batch, BATCH) => if taken == 0 {
                return;
            },
            () = stop.cancelled(), if !spans.is_closed() => {
                spans.close();
                continue;
            }
        }
        tokio::select! {
            () = fill(&mut spans, &mut batch) => {}
            () = tokio::time::sleep(GATHER) => {}
            () = stop.cancelled() => {}
        }
        let sent = std::mem::replace(&mut batch, Vec::with_capacity(BATCH));
        let count = sent.len() as u64;
        match tokio::time::timeout(SEND_WITHIN, exporter.export(sent)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => losses.note(count, &error),
            Err(elapsed) => losses.note(count, &elapsed),
        }
    }
}

/// Fills the batch up. Dropped, it loses nothing.
async fn fill(spans: &mut Receiver<SpanData>, batch: &mut Vec<SpanData>) {
    while batch.len() < BATCH {
        let room = BATCH - batch.len();
        if spans.recv_many(batch, room).await == 0 {
            return;
        }
    }
}
