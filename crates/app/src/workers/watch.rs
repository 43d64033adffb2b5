//! Watches the marketplace's feed.

use std::sync::Arc;
use std::time::Duration;

use bidloop_domain::use_case::IngestedPage;
use tokio::sync::Notify;

use super::{Rest, Workers};
use crate::service::Service;

pub(super) async fn run(service: Arc<Service>, workers: Workers) {
    let Some((mut ingest, poll_interval)) = service.ingest_jobs() else {
        tracing::info!("marketplace.base_url is not set: nothing is watched or submitted");
        return;
    };
    let never_woken = Notify::new();
    let mut rest = Rest::new(&workers);
    while !rest.stopped() {
        match ingest.next_page().await {
            Ok(page) => {
                tell(&service, &page);
                rest.succeeded();
                if !page.has_more && !rest.idle(&never_woken, poll_interval).await {
                    return;
                }
            }
            Err(error) => {
                if !rest.after_failure("watch", &error).await {
                    return;
                }
            }
        }
    }
}

fn tell(service: &Service, page: &IngestedPage) {
    let metrics = &service.metrics;
    let counts = page.counts;
    metrics.feed_entries("new", counts.new_jobs);
    metrics.feed_entries("changed", counts.changed_jobs);
    metrics.feed_entries("malformed", page.malformed.len() as u64);
    metrics.matches(counts.matches);
    metrics.feed_behind(page.behind.unwrap_or(Duration::ZERO));
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
