//! Watches the marketplace's feed.

use std::sync::Arc;
use std::time::Duration;

use bidloop_domain::use_case::{IngestJobs, IngestedPage};
use tokio::runtime::Handle;
use tokio::sync::Notify;

use super::running::{Backoff, Workers};
use crate::service::Service;

/// Starts the loop on a thread of its own: it matches on the processor, for seconds at the start where there are a
/// million filters, and the runtime's threads serve requests and the other loops.
pub(super) fn start(service: Arc<Service>, workers: &Workers) {
    let Some((ingest, poll_interval)) = service.ingest_jobs() else {
        tracing::info!("marketplace.base_url is not set: nothing is watched or submitted");
        return;
    };
    let running = workers.tasks.token();
    let backoff = Backoff::new(workers);
    let runtime = Handle::current();
    let thread = std::thread::Builder::new().name("watch".to_owned());
    let spawned = thread.spawn(move || {
        runtime.block_on(run(&service, ingest, poll_interval, backoff));
        drop(running);
    });
    if let Err(error) = spawned {
        tracing::error!(%error, "the thread that watches cannot be started: no job is read");
    }
}

async fn run(service: &Service, mut ingest: IngestJobs, poll_interval: Duration, mut backoff: Backoff) {
    let never_woken = Notify::new();
    while !backoff.stopped() {
        let page = if ingest.has_filters() {
            ingest.next_page().await
        } else {
            // Loading takes long enough that a stop does not wait for it. A page is recorded as a whole or not at all.
            tokio::select! {
                () = backoff.stop.cancelled() => return,
                page = ingest.next_page() => page,
            }
        };
        match page {
            Ok(page) => {
                report(service, &page);
                backoff.succeeded();
                if !page.has_more && !backoff.idle(&never_woken, poll_interval).await {
                    return;
                }
            }
            Err(error) => {
                if !backoff.after_failure("watch", &error).await {
                    return;
                }
            }
        }
    }
}

fn report(service: &Service, page: &IngestedPage) {
    let metrics = &service.metrics;
    let counts = page.counts;
    metrics.feed_entries("new", counts.new_jobs);
    metrics.feed_entries("changed", counts.changed_jobs);
    metrics.feed_entries("malformed", page.malformed.len() as u64);
    metrics.matches(counts.matches);
    match page.behind {
        Some(behind) => metrics.feed_behind(behind),
        // A page without a readable job in the middle of a long feed says nothing.
        None if page.has_more => {}
        None => metrics.feed_behind(Duration::ZERO),
    }
    if page.position_refused {
        tracing::warn!(
            "the marketplace refused the stored position: reading starts again at the oldest job kept"
        );
    }
    for (id, fault) in &page.malformed {
        tracing::warn!(job = id.as_deref().unwrap_or("?"), %fault, "a feed entry departs from the protocol and is passed over");
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
