//! Sends webhooks.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bidloop_domain::port::{ClaimedDelivery, WorkKind};
use bidloop_domain::use_case::SentDelivery;
use tracing::Instrument;

use super::running::{Backoff, Workers};
use crate::service::Service;

/// How often other processes' events are looked for.
const PAUSE: Duration = Duration::from_millis(500);
/// How often deliveries that a crash interrupted are looked for.
const SWEEP: Duration = Duration::from_secs(1);
/// How long recording an outcome is tried while the database is away.
const RECORD_FOR: Duration = Duration::from_secs(15);

pub(super) async fn run(service: Arc<Service>, workers: Workers) {
    let mut backoff = Backoff::new(&workers);
    let mut swept: Option<Instant> = None;
    while !backoff.stopped() {
        let pass = async {
            if swept.is_none_or(|at| at.elapsed() >= SWEEP) {
                let interrupted = service.deliver_webhooks.interrupt_overdue().await?;
                if interrupted > 0 {
                    tracing::warn!(
                        interrupted,
                        "deliveries in flight at a crash are failed as interrupted"
                    );
                }
                swept = Some(Instant::now());
            }
            service.deliver_webhooks.claim().await
        };
        match pass.await {
            Ok(claimed) if claimed.is_empty() => {
                if !backoff
                    .idle(service.notifiers.of(WorkKind::Deliveries), PAUSE)
                    .await
                {
                    return;
                }
            }
            Ok(claimed) => {
                backoff.succeeded();
                for delivery in claimed {
                    workers.tasks.spawn(deliver(Arc::clone(&service), delivery));
                }
            }
            Err(error) => {
                if !backoff.after_failure("dispatch", &error).await {
                    return;
                }
            }
        }
    }
}

async fn deliver(service: Arc<Service>, delivery: ClaimedDelivery) {
    let span = tracing::info_span!(
        "delivery",
        organization = %delivery.organization_id,
        campaign = %delivery.campaign_id,
        lead = %delivery.lead_id,
        delivery = %delivery.id,
    );
    async {
        let sent = service.deliver_webhooks.send(&delivery).await;
        // Room for another: the loop need not wait for its pause.
        service.notifiers.of(WorkKind::Deliveries).notify_one();
        let outcome = sent.outcome.reason().unwrap_or("delivered");
        service
            .metrics
            .delivery(sent.event.as_str(), outcome, sent.since_posting);
        record(&service, &sent).await;
        tracing::info!(event = sent.event.as_str(), outcome, "webhook sent");
    }
    .instrument(span)
    .await;
}

/// Records the outcome, waiting for a database that is away. Failing that, the delivery is found beyond its
/// deadline later and failed as interrupted.
async fn record(service: &Service, sent: &SentDelivery) {
    let started = Instant::now();
    loop {
        match service.deliver_webhooks.record(sent).await {
            Ok(true) => return,
            Ok(false) => {
                tracing::warn!("the outcome came after the delivery was failed as interrupted");
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
