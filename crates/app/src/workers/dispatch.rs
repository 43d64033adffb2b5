//! Sends webhooks.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bidloop_domain::port::{ClaimedDelivery, DeliveryOutcome, StoreError, WorkKind};
use bidloop_domain::use_case::SentDelivery;
use tracing::Instrument;

use super::running::{Pauses, Workers};
use super::supervision::Supervisor;
use crate::service::Service;
use crate::traces::{Kind, NewSpan, SpanEnd};

/// Pause between two checks for events of other processes.
const PAUSE: Duration = Duration::from_millis(500);
/// Pause between two checks for deliveries that a crash interrupted.
const SWEEP: Duration = Duration::from_secs(1);
/// How long recording an outcome is retried while the database is unavailable.
const RECORD_FOR: Duration = Duration::from_secs(15);

pub(super) async fn run(service: Arc<Service>, workers: Workers) {
    let wake = service.notifiers.of(WorkKind::Deliveries);
    let mut pauses = Pauses::new(&workers, "dispatch", wake, PAUSE);
    let mut swept = None;
    while pauses.after(pass(&service, &workers, &mut swept).await).await {}
}

/// Returns whether there was work. `swept` is when interrupted deliveries were last checked.
async fn pass(
    service: &Arc<Service>,
    workers: &Workers,
    swept: &mut Option<Instant>,
) -> Result<bool, StoreError> {
    if swept.is_none_or(|at| at.elapsed() >= SWEEP) {
        let interrupted = service.deliver_webhooks.interrupt_overdue().await?;
        if interrupted > 0 {
            tracing::warn!(
                interrupted,
                "deliveries in flight at a crash are failed as interrupted"
            );
        }
        *swept = Some(Instant::now());
    }
    let claimed = service.deliver_webhooks.claim().await?;
    let found_work = !claimed.is_empty();
    send(service, workers, claimed);
    Ok(found_work)
}

/// Sends deliveries and records their ends, all at the same time.
pub(super) fn send(service: &Arc<Service>, workers: &Workers, claimed: Vec<ClaimedDelivery>) {
    for delivery in claimed {
        let (service, supervisor) = (Arc::clone(service), workers.supervisor.clone());
        workers.tasks.spawn(async move {
            // A delivery whose sending panicked stays marked as sending, and fails as interrupted.
            let work = deliver(service, delivery, &supervisor);
            supervisor.contain("dispatch", work).await;
        });
    }
}

async fn deliver(service: Arc<Service>, mut delivery: ClaimedDelivery, supervisor: &Supervisor) {
    let trace = service.traces.begin(delivery.trace_parent, || span_of(&delivery));
    // The receiver is told of the delivery itself.
    delivery.trace_parent = trace.trace_parent();
    let span = tracing::info_span!(
        "delivery",
        organization = %delivery.organization_id,
        campaign = %delivery.campaign_id,
        lead = %delivery.lead_id,
        delivery = %delivery.id,
    );
    async {
        let sent = service.deliver_webhooks.send(delivery).await;
        supervisor.fault_point();
        if sent.makes_room {
            // So the worker need not wait for its pause.
            service.notifiers.of(WorkKind::Deliveries).notify_one();
        }
        let event = sent.end.delivery.payload.kind().as_str();
        let outcome = sent.end.outcome.reason().unwrap_or("delivered");
        trace.end(|| SpanEnd {
            status: match &sent.end.outcome {
                DeliveryOutcome::Attempted(attempt) => attempt.response_status,
                _ => None,
            },
            error: sent.end.outcome.reason().map(str::to_owned),
            ..SpanEnd::default()
        });
        service.metrics.delivery(event, outcome, sent.since_posting);
        record(&service, &sent).await;
        tracing::info!(event, outcome, "webhook sent");
    }
    .instrument(span)
    .await;
}

fn span_of(delivery: &ClaimedDelivery) -> NewSpan {
    NewSpan {
        kind: Kind::Client,
        name: format!("deliver {}", delivery.payload.kind()),
        attributes: vec![
            ("http.request.method", "POST".to_owned()),
            ("bidloop.organization", delivery.organization_id.to_string()),
            ("bidloop.campaign", delivery.campaign_id.to_string()),
            ("bidloop.lead", delivery.lead_id.to_string()),
            ("bidloop.delivery", delivery.id.to_string()),
            ("bidloop.endpoint", delivery.target.endpoint_id.to_string()),
        ],
    }
}

/// Records the outcome; retries while the database is unavailable. If that takes too long, a later pass fails the
/// delivery as interrupted.
async fn record(service: &Service, sent: &SentDelivery) {
    let started = Instant::now();
    loop {
        match service.deliver_webhooks.record(sent).await {
            Ok(true) => return,
            Ok(false) => {
                tracing::warn!("too late to record the outcome: the delivery already failed as interrupted");
                return;
            }
            Err(error) if started.elapsed() > RECORD_FOR => {
                tracing::error!(%error, "the outcome of a delivery could not be recorded");
                return;
            }
            Err(_) => tokio::time::sleep(Duration::from_millis(250)).await,
        }
    }
}
