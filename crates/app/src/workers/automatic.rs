//! Writes the bids of automatic campaigns.

use std::sync::Arc;
use std::time::Duration;

use bidloop_domain::port::{AutomaticBidIntent, StoreError, WorkKind};
use bidloop_domain::use_case::AutomaticBidOutcome;
use futures::StreamExt;
use tracing::Instrument;

use super::running::{Pauses, Workers};
use crate::service::Service;

/// Leads that are claimed at a time.
const BATCH: u32 = 32;
/// Bids that are written in parallel.
const SIDE_BY_SIDE: usize = 8;
/// Pause between two checks for intents of other processes.
const PAUSE: Duration = Duration::from_millis(500);

pub(super) async fn run(service: Arc<Service>, workers: Workers) {
    let wake = service.notifiers.of(WorkKind::AutomaticBids);
    let mut pauses = Pauses::new(&workers, "automatic bids", wake, PAUSE);
    while pauses.after(pass(&service, &workers).await).await {}
}

/// Returns whether there was work.
async fn pass(service: &Service, workers: &Workers) -> Result<bool, StoreError> {
    let intents = service.write_automatic_bids.claim(BATCH).await?;
    let found_work = !intents.is_empty();
    futures::stream::iter(intents)
        .for_each_concurrent(SIDE_BY_SIDE, async |intent| {
            // An intent whose work panicked is claimed again when its lease has ended.
            let work = async {
                workers.supervisor.fault_point();
                execute(service, intent).await;
                workers.supervisor.fault_point();
            };
            workers.supervisor.contain("automatic_bids", work).await;
        })
        .await;
    Ok(found_work)
}

async fn execute(service: &Service, intent: AutomaticBidIntent) {
    let span = tracing::info_span!(
        "automatic_bid",
        organization = %intent.organization_id,
        campaign = %intent.campaign_id,
        lead = %intent.lead_id,
    );
    let executed = service.write_automatic_bids.execute(&intent);
    let outcome = executed.instrument(span.clone()).await;
    span.in_scope(|| report(service, &outcome));
}

fn report(service: &Service, outcome: &Result<AutomaticBidOutcome, StoreError>) {
    match outcome {
        Ok(outcome) => {
            let word = match outcome {
                AutomaticBidOutcome::Queued => "queued",
                AutomaticBidOutcome::Parked => "parked",
                AutomaticBidOutcome::Superseded => "superseded",
                AutomaticBidOutcome::Unreadable => "unreadable",
            };
            service.metrics.automatic_bid(word);
            tracing::info!(outcome = word, "lead of an automatic campaign");
        }
        Err(error) => {
            service.metrics.automatic_bid("store_error");
            tracing::error!(%error, "automatic bid failed; will retry");
        }
    }
}
