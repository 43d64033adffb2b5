//! What `/metrics` shows, in the Prometheus text format.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64};
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    operation: String,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OperationLabel {
    operation: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DeliveryLabels {
    event: String,
    outcome: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabel {
    outcome: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct QueueLabel {
    queue: &'static str,
}

/// All counters, gauges and histograms of the process.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    request_seconds: Family<OperationLabel, Histogram, fn() -> Histogram>,
    queue_depth: Family<QueueLabel, Gauge>,
    deliveries: Family<DeliveryLabels, Counter>,
    submissions: Family<OutcomeLabel, Counter>,
    automatic_bids: Family<OutcomeLabel, Counter>,
    feed_entries: Family<OutcomeLabel, Counter>,
    matches: Counter,
    posting_to_delivery: Histogram,
    feed_behind: Gauge<f64, AtomicU64>,
    backfilled_jobs: Gauge<i64, AtomicI64>,
}

fn request_histogram() -> Histogram {
    Histogram::new(exponential_buckets(0.0005, 2.0, 16))
}

impl Metrics {
    pub(crate) fn new() -> Arc<Self> {
        let mut registry = Registry::with_prefix("bidloop");
        let requests = Family::default();
        registry.register(
            "http_requests",
            "Requests by operation and status",
            requests.clone(),
        );
        let request_seconds = Family::new_with_constructor(request_histogram as fn() -> Histogram);
        registry.register_with_unit(
            "http_request_duration",
            "From the request's head to the answer",
            Unit::Seconds,
            request_seconds.clone(),
        );
        let queue_depth = Family::default();
        registry.register("queue_depth", "Work that waits, by queue", queue_depth.clone());
        let deliveries = Family::default();
        registry.register(
            "deliveries",
            "Webhook deliveries by event and outcome",
            deliveries.clone(),
        );
        let submissions = Family::default();
        registry.register(
            "submissions",
            "Attempts to submit a bid by outcome",
            submissions.clone(),
        );
        let automatic_bids = Family::default();
        registry.register(
            "automatic_bids",
            "Leads of automatic campaigns by outcome",
            automatic_bids.clone(),
        );
        let feed_entries = Family::default();
        registry.register(
            "feed_entries",
            "Entries of the marketplace's feed by outcome",
            feed_entries.clone(),
        );
        let matches = Counter::default();
        registry.register(
            "matches",
            "Jobs that became a match of a campaign",
            matches.clone(),
        );
        let posting_to_delivery = Histogram::new(exponential_buckets(0.01, 2.0, 18));
        registry.register_with_unit(
            "posting_to_delivery",
            "From a job's posting to the delivery of its job.new",
            Unit::Seconds,
            posting_to_delivery.clone(),
        );
        let feed_behind = Gauge::default();
        registry.register_with_unit(
            "feed_behind",
            "Age of the newest job read while the feed has more; 0 when it is drained",
            Unit::Seconds,
            feed_behind.clone(),
        );
        let backfilled_jobs = Gauge::default();
        registry.register(
            "backfill_jobs",
            "Stored jobs that the running backfill has looked at",
            backfilled_jobs.clone(),
        );
        Arc::new(Self {
            registry,
            requests,
            request_seconds,
            queue_depth,
            deliveries,
            submissions,
            automatic_bids,
            feed_entries,
            matches,
            posting_to_delivery,
            feed_behind,
            backfilled_jobs,
        })
    }

    /// The exposition.
    pub(crate) fn render(&self) -> String {
        let mut text = String::new();
        match prometheus_client::encoding::text::encode(&mut text, &self.registry) {
            Ok(()) => text,
            Err(error) => {
                tracing::error!(%error, "metrics cannot be written");
                String::new()
            }
        }
    }

    pub(crate) fn request(&self, operation: &str, status: u16, took: Duration) {
        self.requests
            .get_or_create(&RequestLabels {
                operation: operation.to_owned(),
                status,
            })
            .inc();
        self.request_seconds
            .get_or_create(&OperationLabel {
                operation: operation.to_owned(),
            })
            .observe(took.as_secs_f64());
    }

    pub(crate) fn queue_depth(&self, queue: &'static str, depth: u64) {
        self.queue_depth
            .get_or_create(&QueueLabel { queue })
            .set(i64::try_from(depth).unwrap_or(i64::MAX));
    }

    pub(crate) fn delivery(&self, event: &str, outcome: &str, since_posting: Option<Duration>) {
        let labels = DeliveryLabels {
            event: event.to_owned(),
            outcome: outcome.to_owned(),
        };
        self.deliveries.get_or_create(&labels).inc();
        if let Some(took) = since_posting {
            self.posting_to_delivery.observe(took.as_secs_f64());
        }
    }

    pub(crate) fn submission(&self, outcome: &str) {
        self.submissions
            .get_or_create(&OutcomeLabel {
                outcome: outcome.to_owned(),
            })
            .inc();
    }

    pub(crate) fn automatic_bid(&self, outcome: &str) {
        self.automatic_bids
            .get_or_create(&OutcomeLabel {
                outcome: outcome.to_owned(),
            })
            .inc();
    }

    pub(crate) fn feed_entries(&self, outcome: &str, count: u64) {
        self.feed_entries
            .get_or_create(&OutcomeLabel {
                outcome: outcome.to_owned(),
            })
            .inc_by(count);
    }

    pub(crate) fn matches(&self, count: u64) {
        self.matches.inc_by(count);
    }

    pub(crate) fn feed_behind(&self, behind: Duration) {
        self.feed_behind.set(behind.as_secs_f64());
    }

    pub(crate) fn backfill_progress(&self, jobs: u64) {
        self.backfilled_jobs.set(i64::try_from(jobs).unwrap_or(i64::MAX));
    }
}
