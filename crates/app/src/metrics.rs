//! What `/metrics` shows, in the Prometheus text format.

mod collectors;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64};
use std::time::Duration;

use bidloop_domain::model::Timestamp;
use bidloop_domain::port::{InstallationState, Quarantine};
use bidloop_domain::use_case::PostCache;
use bidloop_persistence::ConnectionLoad;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Metric, Registry, Unit};

use collectors::{DatabaseCollector, PostCacheCollector, ProcessCollector};

/// Names and values of labels.
type Labels<const N: usize> = [(&'static str, String); N];

/// The labels of how long requests took.
type Operation = [(&'static str, &'static str); 1];

/// The labels of answered requests. Nothing is copied to look them up.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answered {
    operation: &'static str,
    status: u16,
}

/// All counters, gauges and histograms of the process.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<Answered, Counter>,
    request_seconds: Family<Operation, Histogram, fn() -> Histogram>,
    queue_depth: Family<Labels<1>, Gauge>,
    queue_oldest_age: Family<Labels<1>, Gauge<f64, AtomicU64>>,
    unsettled_bids: Gauge,
    disconnected_accounts: Gauge,
    organizations: Family<Labels<1>, Gauge>,
    deliveries: Family<Labels<2>, Counter>,
    submissions: Family<Labels<1>, Counter>,
    automatic_bids: Family<Labels<1>, Counter>,
    feed_reads: Family<Labels<1>, Counter>,
    feed_last_read: Gauge<f64, AtomicU64>,
    marketplace_seconds: Family<Labels<2>, Histogram, fn() -> Histogram>,
    feed_entries: Family<Labels<1>, Counter>,
    matches: Counter,
    posting_to_delivery: Histogram,
    feed_reader: Gauge,
    feed_behind: Gauge<f64, AtomicU64>,
    backfilled_jobs: Gauge<i64, AtomicI64>,
    pruned_rows: Family<Labels<1>, Counter>,
    unreadable_rows: Family<Labels<1>, Gauge>,
    quarantine: Quarantine,
    worker_panics: Family<Labels<1>, Counter>,
}

/// A registry that returns what it registers.
struct Registering<'a>(&'a mut Registry);

impl Registering<'_> {
    fn add<M: Metric + Clone + Default>(&mut self, name: &str, help: &str) -> M {
        let metric = M::default();
        self.0.register(name, help, metric.clone());
        metric
    }

    fn add_seconds<M: Metric + Clone>(&mut self, name: &str, help: &str, metric: M) -> M {
        self.0
            .register_with_unit(name, help, Unit::Seconds, metric.clone());
        metric
    }
}

impl Metrics {
    /// `database` is called each time the metrics are read.
    pub(crate) fn new(
        quarantine: Quarantine,
        posts: Arc<PostCache>,
        database: impl Fn() -> Vec<ConnectionLoad> + Send + Sync + 'static,
    ) -> Arc<Self> {
        let mut root = Registry::default();
        root.register_collector(Box::new(ProcessCollector));
        let own = root.sub_registry_with_prefix("bidloop");
        own.register_collector(Box::new(DatabaseCollector(Box::new(database))));
        own.register_collector(Box::new(PostCacheCollector(posts)));
        let version = vec![("version", env!("CARGO_PKG_VERSION"))];
        own.register("build", "The version of the program", Info::new(version));
        let mut registry = Registering(own);
        let request_seconds: fn() -> Histogram = || Histogram::new(exponential_buckets(0.0005, 2.0, 16));
        let call_seconds: fn() -> Histogram = || Histogram::new(exponential_buckets(0.002, 2.0, 14));
        Arc::new(Self {
            requests: registry.add("http_requests", "Requests by operation and status"),
            request_seconds: registry.add_seconds(
                "http_request_duration",
                "From the request's head to the answer",
                Family::new_with_constructor(request_seconds),
            ),
            queue_depth: registry.add("queue_depth", "Waiting work, by queue"),
            queue_oldest_age: registry.add_seconds(
                "queue_oldest_age",
                "Age of the oldest waiting work, by queue; 0 when none waits",
                Family::default(),
            ),
            unsettled_bids: registry.add(
                "unsettled_bids",
                "Bids whose answer is outstanding, beyond their deadline or without an account",
            ),
            disconnected_accounts: registry.add(
                "disconnected_accounts",
                "Disconnected bidder accounts with which active campaigns bid",
            ),
            organizations: registry.add(
                "organizations",
                "Organizations with an active campaign that cannot bid, or not for long, by what they lack",
            ),
            deliveries: registry.add("deliveries", "Webhook deliveries by event and outcome"),
            submissions: registry.add("submissions", "Attempts to submit a bid by outcome"),
            automatic_bids: registry.add("automatic_bids", "Leads of automatic campaigns by outcome"),
            feed_reads: registry.add("feed_reads", "Reads of the marketplace's feed by outcome"),
            feed_last_read: registry.add_seconds(
                "feed_last_read_timestamp",
                "When a page of the feed was last read and stored, in UNIX seconds",
                Gauge::default(),
            ),
            marketplace_seconds: registry.add_seconds(
                "marketplace_call_duration",
                "Calls of the marketplace, from the request to the answer",
                Family::new_with_constructor(call_seconds),
            ),
            feed_entries: registry.add("feed_entries", "Entries of the marketplace's feed by outcome"),
            matches: registry.add("matches", "Jobs that became a match of a campaign"),
            posting_to_delivery: registry.add_seconds(
                "posting_to_delivery",
                "From a job's posting to the delivery of its job.new",
                Histogram::new(exponential_buckets(0.01, 2.0, 18)),
            ),
            feed_reader: registry.add(
                "feed_reader",
                "1 in the process that reads the feed, 0 in those that stand by",
            ),
            feed_behind: registry.add_seconds(
                "feed_behind",
                "Age of the newest job read while the feed has more; 0 when it is drained",
                Gauge::default(),
            ),
            backfilled_jobs: registry.add("backfill_jobs", "Stored jobs that the running backfill examined"),
            pruned_rows: registry.add("pruned_rows", "Rows that were older than they are kept, by kind"),
            unreadable_rows: registry.add(
                "unreadable_rows",
                "Stored rows that this process has met and cannot read, by table",
            ),
            quarantine,
            worker_panics: registry.add(
                "worker_panics",
                "Panics of background workers and of pieces of their work",
            ),
            registry: root,
        })
    }

    /// The metrics as text.
    pub(crate) fn render(&self) -> String {
        for (table, rows) in self.quarantine.counts() {
            let gauge = self.unreadable_rows.get_or_create(&[("table", table.to_owned())]);
            set_count(&gauge, rows);
        }
        let mut text = String::new();
        match prometheus_client::encoding::text::encode(&mut text, &self.registry) {
            Ok(()) => text,
            Err(error) => {
                tracing::error!(%error, "metrics cannot be written");
                String::new()
            }
        }
    }

    pub(crate) fn request(&self, operation: &'static str, status: u16, took: Duration) {
        self.requests.get_or_create(&Answered { operation, status }).inc();
        let seconds = self.request_seconds.get_or_create(&[("operation", operation)]);
        seconds.observe(took.as_secs_f64());
    }

    pub(crate) fn queue_depth(&self, queue: &str, depth: u64) {
        let gauge = self.queue_depth.get_or_create(&[("queue", queue.to_owned())]);
        set_count(&gauge, depth);
    }

    pub(crate) fn installation_state(&self, state: &InstallationState, now: Timestamp) {
        for (queue, oldest) in [
            ("deliveries", state.oldest_delivery),
            ("submissions", state.oldest_bid),
        ] {
            let age = oldest.map_or(Duration::ZERO, |oldest| now.since(oldest));
            let gauge = self
                .queue_oldest_age
                .get_or_create(&[("queue", queue.to_owned())]);
            gauge.set(age.as_secs_f64());
        }
        set_count(&self.unsettled_bids, state.unsettled_bids);
        set_count(&self.disconnected_accounts, state.disconnected_accounts);
        for (word, count) in [
            ("lapsed", state.lapsed_organizations),
            ("quota_used_up", state.organizations_without_quota),
            ("quota_low", state.organizations_low_on_quota),
        ] {
            let gauge = self.organizations.get_or_create(&[("state", word.to_owned())]);
            set_count(&gauge, count);
        }
    }

    pub(crate) fn delivery(&self, event: &str, outcome: &str, since_posting: Option<Duration>) {
        let labels = [("event", event.to_owned()), ("outcome", outcome.to_owned())];
        self.deliveries.get_or_create(&labels).inc();
        if let Some(took) = since_posting {
            self.posting_to_delivery.observe(took.as_secs_f64());
        }
    }

    pub(crate) fn worker_panic(&self, worker: &'static str) {
        self.worker_panics
            .get_or_create(&[("worker", worker.to_owned())])
            .inc();
    }

    pub(crate) fn submission(&self, outcome: &str) {
        self.submissions.get_or_create(&of_outcome(outcome)).inc();
    }

    pub(crate) fn automatic_bid(&self, outcome: &str) {
        self.automatic_bids.get_or_create(&of_outcome(outcome)).inc();
    }

    pub(crate) fn feed_read(&self, at: Timestamp) {
        self.feed_reads.get_or_create(&of_outcome("stored")).inc();
        self.feed_last_read
            .set(Duration::from_millis(at.as_millis().unsigned_abs()).as_secs_f64());
    }

    /// `outcome` says where a read failed: at the marketplace or at the store.
    pub(crate) fn feed_read_failed(&self, outcome: &str) {
        self.feed_reads.get_or_create(&of_outcome(outcome)).inc();
    }

    pub(crate) fn marketplace_call(&self, call: &str, outcome: &str, took: Duration) {
        let labels = [("call", call.to_owned()), ("outcome", outcome.to_owned())];
        self.marketplace_seconds
            .get_or_create(&labels)
            .observe(took.as_secs_f64());
    }

    pub(crate) fn feed_entries(&self, outcome: &str, count: u64) {
        self.feed_entries
            .get_or_create(&of_outcome(outcome))
            .inc_by(count);
    }

    pub(crate) fn matches(&self, count: u64) {
        self.matches.inc_by(count);
    }

    pub(crate) fn feed_reader(&self, reads: bool) {
        self.feed_reader.set(i64::from(reads));
    }

    pub(crate) fn feed_behind(&self, behind: Duration) {
        self.feed_behind.set(behind.as_secs_f64());
    }

    pub(crate) fn backfill_progress(&self, jobs: u64) {
        set_count(&self.backfilled_jobs, jobs);
    }

    pub(crate) fn pruned(&self, kind: &str, rows: u64) {
        let of_kind = [("kind", kind.to_owned())];
        self.pruned_rows.get_or_create(&of_kind).inc_by(rows);
    }
}

fn set_count(gauge: &Gauge, count: u64) {
    gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
}

fn of_outcome(outcome: &str) -> Labels<1> {
    [("outcome", outcome.to_owned())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_of_the_installation_is_told_in_ages_and_counts() {
        let metrics = Metrics::new(Quarantine::default(), Arc::default(), Vec::new);
        let state = InstallationState {
            oldest_bid: Some(Timestamp::from_seconds(40)),
            unsettled_bids: 2,
            disconnected_accounts: 3,
            lapsed_organizations: 4,
            organizations_without_quota: 5,
            organizations_low_on_quota: 6,
            ..InstallationState::default()
        };
        metrics.installation_state(&state, Timestamp::from_seconds(100));
        let text = metrics.render();
        for line in [
            "bidloop_queue_oldest_age_seconds{queue=\"submissions\"} 60.0",
            "bidloop_queue_oldest_age_seconds{queue=\"deliveries\"} 0.0",
            "bidloop_unsettled_bids 2",
            "bidloop_disconnected_accounts 3",
            "bidloop_organizations{state=\"lapsed\"} 4",
            "bidloop_organizations{state=\"quota_used_up\"} 5",
            "bidloop_organizations{state=\"quota_low\"} 6",
        ] {
            assert!(text.lines().any(|told| told == line), "{line} in {text}");
        }
    }
}
