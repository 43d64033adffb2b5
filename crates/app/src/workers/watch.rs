//! Watches the marketplace's feed, one process at a time.

use std::sync::Arc;
use std::time::Duration;

use bidloop_domain::port::MarketplaceError;
use bidloop_domain::use_case::{IngestError, IngestJobs, IngestedPage, TakeTurns};
use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use super::dispatch;
use super::running::{PassError, Pauses, Workers};
use crate::service::Service;
use crate::traces::{Kind, NewSpan, SpanEnd};

/// The worker's name.
const WORKER: &str = "watch";
/// The longest pause between two tries of a feed that cannot be read, however long that lasts: reading resumes within 5 s
/// of the marketplace's return (decision D4), connecting and reading included. A try every 2 s costs a marketplace that is
/// away less than the polling once a second that it bears when it is well.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// How often a process that stands by applies changed filters.
const BETWEEN_CATCH_UPS: Duration = Duration::from_secs(2);

/// The shortest wait that a marketplace can ask for.
const SHORTEST_WAIT: Duration = Duration::from_millis(250);
/// The longest one: a gateway that asks for a day does not stop the watching for a day. Reading within 5 s of the
/// marketplace's return is promised whether or not it comes back sooner than announced (decision D4), and a read a minute
/// burdens nobody.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

impl PassError for IngestError {
    fn retry_after(&self) -> Option<Duration> {
        match self {
            // An answer of "at once" is no reason to ask without a pause.
            Self::Marketplace(MarketplaceError::TryLater { retry_after, .. }) => {
                retry_after.map(|wait| wait.clamp(SHORTEST_WAIT, LONGEST_WAIT))
            }
            _ => None,
        }
    }
}

/// Starts the loop on a thread of its own. Matching keeps a processor busy, at the start for seconds if there are a
/// million filters, and the runtime's threads must serve requests and the other workers.
///
/// `sends`: this process sends webhooks.
pub(super) fn start(service: &Arc<Service>, workers: &Workers, sends: bool) {
    if service.ingest_jobs(sends).is_none() {
        tracing::info!("marketplace.base_url is not set: nothing is watched or submitted");
        return;
    }
    let running = workers.tasks.token();
    let (service, workers) = (Arc::clone(service), workers.clone());
    let states = Arc::clone(&workers.supervisor.states);
    let runtime = Handle::current();
    let thread = std::thread::Builder::new().name("watch".to_owned());
    let spawned = thread.spawn(move || {
        runtime.block_on(async {
            // The filters are loaded anew after a panic, which may have left their index half edited.
            let start = || run(&service, &workers, sends);
            workers.supervisor.keep_running(WORKER, start).await;
        });
        drop(running);
    });
    if let Err(error) = spawned {
        tracing::error!(%error, "the watch thread cannot be started: no job is read");
        states.set(WORKER, false);
    }
}

async fn run(service: &Arc<Service>, workers: &Workers, sends: bool) {
    let Some((mut ingest, poll_interval)) = service.ingest_jobs(sends) else {
        return;
    };
    // The turn is kept by a task apart, for as long as this one reads or waits, and is ended after its last page.
    let over = CancellationToken::new();
    let _over = over.clone().drop_guard();
    let (turn, mut is_ours) = watch::channel(false);
    workers
        .tasks
        .spawn(keep_turn(service.take_turns.clone(), turn, over));
    let never_woken = Notify::new();
    let mut pauses = Pauses::new(workers, WORKER, &never_woken, poll_interval)
        .between_beginnings()
        .at_most(LONGEST_PAUSE);
    loop {
        let reads = *is_ours.borrow_and_update();
        service.metrics.feed_reader(reads);
        if !reads {
            service.metrics.feed_behind(Duration::ZERO);
            if !stand_by(&mut ingest, &mut is_ours, workers).await {
                return;
            }
            continue;
        }
        let trace = service.traces.begin(None, span_of_read);
        let passed = trace.scope(pass(service, &mut ingest, workers)).await;
        trace.end(|| SpanEnd {
            error: passed.as_ref().err().map(|error| word(error).to_owned()),
            ..SpanEnd::default()
        });
        if let Err(error) = &passed {
            service.metrics.feed_read_failed(word(error));
        }
        if !pauses.after(passed).await {
            return;
        }
    }
}

/// How metrics and traces name the failure of a read.
const fn word(error: &IngestError) -> &'static str {
    match error {
        IngestError::Marketplace(_) => "marketplace_failed",
        IngestError::Store(_) => "store_failed",
    }
}

fn span_of_read() -> NewSpan {
    NewSpan {
        kind: Kind::Internal,
        name: "feed page".to_owned(),
        attributes: Vec::new(),
    }
}

/// Asks for the turn again and again, until `over`. Then it ends the turn.
async fn keep_turn(turns: TakeTurns, turn: watch::Sender<bool>, over: CancellationToken) {
    let mut is_known = true;
    loop {
        let asked = turns.ask().await;
        let was_known = std::mem::replace(&mut is_known, asked.is_ok());
        let asked = asked.unwrap_or_else(|error| {
            // Once an outage: it is asked for every half second.
            if was_known {
                tracing::warn!(%error, "the turn of reading the feed cannot be taken");
            }
            TakeTurns::unknown()
        });
        turn.send_if_modified(|reads| std::mem::replace(reads, asked.reads) != asked.reads);
        tokio::select! {
            () = over.cancelled() => break,
            () = tokio::time::sleep(asked.ask_after) => {}
        }
    }
    if let Err(error) = turns.end().await {
        tracing::debug!(%error, "the turn of reading the feed ends by itself");
    }
}

/// Keeps the filters up to date until it is this process's turn, or for some seconds. Returns false once the process stops.
async fn stand_by(ingest: &mut IngestJobs, is_ours: &mut watch::Receiver<bool>, workers: &Workers) -> bool {
    tokio::select! {
        () = workers.stop.cancelled() => return false,
        stood_by = ingest.stand_by() => if let Err(error) = stood_by {
            tracing::warn!(%error, "filters could not be loaded");
        }
    }
    tokio::select! {
        () = workers.stop.cancelled() => false,
        // The sender is gone only when the process stops.
        changed = is_ours.changed() => changed.is_ok(),
        () = tokio::time::sleep(BETWEEN_CATCH_UPS) => true,
    }
}

/// Returns whether the feed has more.
async fn pass(
    service: &Arc<Service>,
    ingest: &mut IngestJobs,
    workers: &Workers,
) -> Result<bool, IngestError> {
    let page = if ingest.has_filters() {
        ingest.next_page().await?
    } else {
        // Loading takes so long that a stop does not wait for it. A page is recorded as a whole or not at all.
        tokio::select! {
            () = workers.stop.cancelled() => return Ok(false),
            page = ingest.next_page() => page?,
        }
    };
    report(service, &page);
    dispatch::send(service, workers, page.claimed);
    Ok(page.has_more)
}

fn report(service: &Service, page: &IngestedPage) {
    let metrics = &service.metrics;
    let counts = page.counts;
    metrics.feed_read(service.clock.now());
    metrics.feed_entries("new", counts.new_jobs);
    metrics.feed_entries("changed", counts.changed_jobs);
    metrics.feed_entries("malformed", page.malformed.len() as u64);
    metrics.matches(counts.matches);
    match page.behind {
        Some(behind) => metrics.feed_behind(behind),
        // A page without a readable job does not show the lag while the feed has more.
        None if page.has_more => {}
        None => metrics.feed_behind(Duration::ZERO),
    }
    if page.position_refused {
        tracing::warn!(
            "the marketplace refused the stored position: reading restarts at the oldest job it keeps"
        );
    }
    for (id, fault) in &page.malformed {
        tracing::warn!(job = id.as_deref().unwrap_or("?"), %fault, "skipped a malformed feed entry");
    }
    if counts.new_jobs + counts.changed_jobs > 0 {
        tracing::info!(
            new = counts.new_jobs,
            changed = counts.changed_jobs,
            matches = counts.matches,
            deliveries = counts.deliveries,
            automatic_bids = counts.automatic_bids,
            "ingested a page of the feed"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_retry_after_of_the_feed_counts_from_a_quarter_of_a_second_to_a_minute() {
        for (asked, millis) in [(0, 250), (3, 3_000), (60, 60_000), (86_400, 60_000)] {
            let error = IngestError::Marketplace(MarketplaceError::TryLater {
                retry_after: Some(Duration::from_secs(asked)),
                message: String::new(),
            });
            assert_eq!(error.retry_after(), Some(Duration::from_millis(millis)));
        }
    }
}
