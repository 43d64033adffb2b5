//! Submits queued bids.

use std::sync::Arc;
use std::time::Duration;

use bidloop_domain::port::{ClaimedBid, StoreError, WorkKind};
use bidloop_domain::use_case::{LEASE, SubmissionOutcome, SubmitProposals};
use tokio::sync::Semaphore;
use tracing::Instrument;

use super::running::{Pauses, Workers};
use crate::service::Service;
use crate::traces::{Kind, NewSpan, SpanEnd};

/// Accounts whose bids are submitted in parallel.
const SIDE_BY_SIDE: usize = 32;
/// Pause between two checks for bids that are due again or were queued by other processes.
const PAUSE: Duration = Duration::from_millis(250);

pub(super) async fn run(service: Arc<Service>, workers: Workers) {
    let Some(submit) = service.submit_proposals.clone() else {
        return;
    };
    let wake = service.notifiers.of(WorkKind::Submissions);
    let mut pauses = Pauses::new(&workers, "submit", wake, PAUSE);
    let room = Arc::new(Semaphore::new(SIDE_BY_SIDE));
    while pauses.after(pass(&service, &workers, &submit, &room).await).await {}
}

/// Returns whether there was work.
async fn pass(
    service: &Arc<Service>,
    workers: &Workers,
    submit: &Arc<SubmitProposals>,
    room: &Arc<Semaphore>,
) -> Result<bool, StoreError> {
    let free = u32::try_from(room.available_permits()).unwrap_or(0);
    if free == 0 {
        return Ok(false);
    }
    let claimed = submit.claim(free).await?;
    let found_work = !claimed.is_empty();
    for mut bid in claimed {
        let permit = Arc::clone(room).acquire_owned().await;
        let (service, submit) = (Arc::clone(service), Arc::clone(submit));
        let supervisor = workers.supervisor.clone();
        workers.tasks.spawn(async move {
            let work = async {
                supervisor.fault_point();
                let is_recorded = work(&service, &submit, &mut bid).await;
                supervisor.fault_point();
                is_recorded
            };
            if supervisor.contain("submit", work).await != Some(true)
                && let Err(error) = submit.give_up(&bid).await
            {
                tracing::warn!(%error, bid = %bid.bid.id, "the bid is claimed again when its lease has ended");
            }
            drop(permit);
            // The account's next bid can be claimed now.
            service.notifiers.of(WorkKind::Submissions).notify_one();
        });
    }
    Ok(found_work)
}

/// Returns whether the progress is recorded, so that the bid is not claimed any more.
async fn work(service: &Service, submit: &SubmitProposals, claimed: &mut ClaimedBid) -> bool {
    let trace = service
        .traces
        .begin(claimed.bid.trace_parent, || span_of(claimed));
    // What follows from the submission belongs to it.
    claimed.bid.trace_parent = trace.trace_parent();
    let claimed = &*claimed;
    let bid = &claimed.bid;
    let span = tracing::info_span!(
        "submission",
        organization = %bid.organization_id,
        campaign = %bid.campaign_id,
        lead = %bid.lead_id,
        bid = %bid.id,
    );
    let work = async {
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
            () = keep_lease => return (false, "lease_lost"),
        };
        let is_recorded = outcome.is_ok();
        let word = match outcome {
            Ok(SubmissionOutcome::Ended(status)) => {
                service.metrics.submission(status.as_str());
                tracing::info!(outcome = status.as_str(), "bid ended");
                status.as_str()
            }
            Ok(SubmissionOutcome::Postponed(why)) => {
                service.metrics.submission("postponed");
                tracing::warn!(why, attempts = bid.attempts + 1, "bid postponed");
                "postponed"
            }
            Ok(SubmissionOutcome::LeaseLost) => {
                service.metrics.submission("lease_lost");
                tracing::warn!("another process took the bid over");
                "lease_lost"
            }
            Err(error) => {
                service.metrics.submission("store_error");
                tracing::error!(%error, "the bid's progress could not be recorded; will retry");
                "store_error"
            }
        };
        (is_recorded, word)
    };
    let (is_recorded, outcome) = trace.scope(work.instrument(span)).await;
    trace.end(|| SpanEnd {
        attributes: vec![("bidloop.outcome", outcome.to_owned())],
        error: (!is_recorded).then(|| outcome.to_owned()),
        ..SpanEnd::default()
    });
    is_recorded
}

fn span_of(claimed: &ClaimedBid) -> NewSpan {
    let bid = &claimed.bid;
    NewSpan {
        kind: Kind::Internal,
        name: "submission".to_owned(),
        attributes: vec![
            ("bidloop.organization", bid.organization_id.to_string()),
            ("bidloop.campaign", bid.campaign_id.to_string()),
            ("bidloop.lead", bid.lead_id.to_string()),
            ("bidloop.bid", bid.id.to_string()),
        ],
    }
}
