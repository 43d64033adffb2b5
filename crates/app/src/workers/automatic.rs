//! Writes the bids of automatic campaigns.

use std::sync::Arc;
use std::time::Duration;

use bidloop_domain::port::WorkKind;
use bidloop_domain::use_case::AutomaticBidOutcome;
use futures::StreamExt;
use tracing::Instrument;

use super::running::{Backoff, Workers};
use crate::service::Service;

/// Leads taken up at once.
const BATCH: u32 = 32;
/// Bids written side by side.
const SIDE_BY_SIDE: usize = 8;
/// How often other processes' intents are looked for.
const PAUSE: Duration = Duration::from_millis(500);

pub(super) async fn run(service: Arc<Service>, workers: Workers) {
    let mut backoff = Backoff::new(&workers);
    while !backoff.stopped() {
        match service.write_automatic_bids.claim(BATCH).await {
            Ok(intents) if intents.is_empty() => {
                if !backoff
                    .idle(service.notifiers.of(WorkKind::AutomaticBids), PAUSE)
                    .await
                {
                    return;
                }
            }
            Ok(intents) => {
                backoff.succeeded();
                let service = &service;
                futures::stream::iter(intents)
                    .for_each_concurrent(SIDE_BY_SIDE, |intent| async move {
                        let span = tracing::info_span!(
                            "automatic_bid",
                            organization = %intent.organization_id,
                            campaign = %intent.campaign_id,
                            lead = %intent.lead_id,
                        );
                        let outcome = service
                            .write_automatic_bids
                            .execute(&intent)
                            .instrument(span.clone())
                            .await;
                        span.in_scope(|| tell(service, &outcome));
                    })
                    .await;
            }
            Err(error) => {
                if !backoff.after_failure("automatic bids", &error).await {
                    return;
                }
            }
        }
    }
}

fn tell(service: &Service, outcome: &Result<AutomaticBidOutcome, bidloop_domain::port::StoreError>) {
    match outcome {
        Ok(outcome) => {
            let word = match outcome {
                AutomaticBidOutcome::Queued => "queued",
                AutomaticBidOutcome::Parked => "parked",
                AutomaticBidOutcome::Superseded => "superseded",
            };
            service.metrics.automatic_bid(word);
            tracing::info!(outcome = word, "lead of an automatic campaign");
        }
        Err(error) => {
            service.metrics.automatic_bid("store_error");
            tracing::error!(%error, "the lead is taken up again");
        }
    }
}
