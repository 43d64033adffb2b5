//! Submits queued bids.

use std::sync::Arc;
use std::time::Duration;

use bidloop_domain::port::{ClaimedBid, WorkKind};
use bidloop_domain::use_case::{LEASE, SubmissionOutcome, SubmitProposals};
use tokio::sync::Semaphore;
use tracing::Instrument;

use super::running::{Backoff, Workers};
use crate::service::Service;

/// Accounts whose bids are submitted side by side.
const SIDE_BY_SIDE: usize = 32;
/// How often bids that are due again, or were queued by other processes, are looked for.
const PAUSE: Duration = Duration::from_millis(250);

pub(super) async fn run(service: Arc<Service>, workers: Workers) {
    let Some(submit) = service.submit_proposals.clone() else {
        return;
    };
    let room = Arc::new(Semaphore::new(SIDE_BY_SIDE));
    let mut backoff = Backoff::new(&workers);
    while !backoff.stopped() {
        let free = u32::try_from(room.available_permits()).unwrap_or(0);
        let claimed = if free == 0 {
            Ok(Vec::new())
        } else {
            submit.claim(free).await
        };
        match claimed {
            Ok(claimed) if claimed.is_empty() => {
                if !backoff
                    .idle(service.notifiers.of(WorkKind::Submissions), PAUSE)
                    .await
                {
                    return;
                }
            }
            Ok(claimed) => {
                backoff.succeeded();
                for bid in claimed {
                    let Ok(permit) = Arc::clone(&room).acquire_owned().await else {
                        return;
                    };
                    let (service, submit) = (Arc::clone(&service), Arc::clone(&submit));
                    workers.tasks.spawn(async move {
                        work(&service, &submit, &bid).await;
                        drop(permit);
                        // The account's next bid need not wait for the pause.
                        service.notifiers.of(WorkKind::Submissions).notify_one();
                    });
                }
            }
            Err(error) => {
                if !backoff.after_failure("submit", &error).await {
                    return;
                }
            }
        }
    }
}

async fn work(service: &Service, submit: &SubmitProposals, claimed: &ClaimedBid) {
    let bid = &claimed.bid;
    let span = tracing::info_span!(
        "submission",
        organization = %bid.organization_id,
        campaign = %bid.campaign_id,
        lead = %bid.lead_id,
        bid = %bid.id,
    );
    async {
        let keep_lease = async {
            let mut ticks = tokio::time::interval(LEASE / 4);
            ticks.tick().await;
            loop {
                ticks.tick().await;
                if let Err(error) = submit.renew(claimed).await {
                    tracing::warn!(%error, "the lease could not be renewed");
                }
            }
        };
        let outcome = tokio::select! {
            outcome = submit.work(claimed) => outcome,
            () = keep_lease => return,
        };
        match outcome {
            Ok(SubmissionOutcome::Ended(status)) => {
                service.metrics.submission(status.as_str());
                tracing::info!(outcome = status.as_str(), "bid ended");
            }
            Ok(SubmissionOutcome::Postponed(why)) => {
                service.metrics.submission("postponed");
                tracing::warn!(why, attempts = bid.attempts + 1, "bid postponed");
            }
            Ok(SubmissionOutcome::LeaseLost) => {
                service.metrics.submission("lease_lost");
                tracing::warn!("another process took the bid over");
            }
            Err(error) => {
                service.metrics.submission("store_error");
                tracing::error!(%error, "the bid's progress could not be recorded; it is taken up again");
            }
        }
    }
    .instrument(span)
    .await;
}
