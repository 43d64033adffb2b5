//! What is measured at the moment the metrics are read.

use std::fmt;
use std::sync::Arc;

use bidloop_domain::use_case::PostCache;
use bidloop_persistence::ConnectionLoad;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

/// How busy the database's connections are.
pub(super) struct DatabaseCollector(pub(super) Box<dyn Fn() -> Vec<ConnectionLoad> + Send + Sync>);

impl fmt::Debug for DatabaseCollector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DatabaseCollector").finish_non_exhaustive()
    }
}

impl Collector for DatabaseCollector {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let load = (self.0)();
        let mut gauge = |name, help, value: fn(&ConnectionLoad) -> usize| {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            load.iter().try_for_each(|load| {
                let labels = [("kind", load.kind)];
                ConstGauge::new(number(value(load))).encode(family.encode_family(&labels)?)
            })
        };
        gauge(
            "database_connections",
            "Connections to the database, at most, by kind",
            |load| load.connections,
        )?;
        gauge(
            "database_work",
            "Work that runs on a connection or waits for one, by kind",
            |load| load.work,
        )
    }
}

/// The posts that are kept in memory.
#[derive(Debug)]
pub(super) struct PostCacheCollector(pub(super) Arc<PostCache>);

impl Collector for PostCacheCollector {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let bytes = ConstGauge::new(i64::try_from(self.0.bytes()).unwrap_or(i64::MAX));
        bytes.encode(encoder.encode_descriptor(
            "post_cache_bytes",
            "Posts of listed leads that are kept in memory",
            None,
            MetricType::Gauge,
        )?)?;
        let help = "Posts of listed leads by where they were found: a hit is one in memory";
        let mut reads = encoder.encode_descriptor("post_cache_reads", help, None, MetricType::Counter)?;
        for (outcome, count) in [("hit", self.0.hits()), ("miss", self.0.misses())] {
            ConstCounter::new(count).encode(reads.encode_family(&[("outcome", outcome)])?)?;
        }
        Ok(())
    }
}

/// The process, under the names that all Prometheus clients use. Nothing where there is no `/proc`.
#[derive(Debug)]
pub(super) struct ProcessCollector;

impl Collector for ProcessCollector {
    #[cfg(target_os = "linux")]
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let Some(process) = Process::read() else {
            return Ok(());
        };
        let cpu = ConstCounter::new(process.cpu_seconds);
        cpu.encode(encoder.encode_descriptor(
            "process_cpu_seconds",
            "Processor time of the process, in seconds",
            None,
            MetricType::Counter,
        )?)?;
        for (name, help, value) in [
            (
                "process_resident_memory_bytes",
                "Memory that is held",
                process.resident_bytes,
            ),
            (
                "process_virtual_memory_bytes",
                "Memory that is reserved",
                process.virtual_bytes,
            ),
            ("process_open_fds", "Open file descriptors", process.open_fds),
            (
                "process_max_fds",
                "The limit of open file descriptors",
                process.max_fds,
            ),
            ("process_threads", "Threads of the process", process.threads),
            (
                "process_start_time_seconds",
                "When the process started, in UNIX seconds",
                process.started_at,
            ),
        ] {
            let gauge = ConstGauge::new(value);
            gauge.encode(encoder.encode_descriptor(name, help, None, MetricType::Gauge)?)?;
        }
        Ok(())
    }

    #[cfg(not(target_os = "linux"))]
    fn encode(&self, _: DescriptorEncoder) -> fmt::Result {
        Ok(())
    }
}

#[cfg(target_os = "linux")]
struct Process {
    cpu_seconds: f64,
    resident_bytes: f64,
    virtual_bytes: f64,
    open_fds: f64,
    max_fds: f64,
    threads: f64,
    started_at: f64,
}

#[cfg(target_os = "linux")]
#[expect(clippy::cast_precision_loss, reason = "gauges are floating-point numbers")]
impl Process {
    fn read() -> Option<Self> {
        use procfs::process::{LimitValue, Process};
        use rustix::time::{ClockId, clock_gettime};

        let process = Process::myself().ok()?;
        let stat = process.stat().ok()?;
        let max_fds = match process.limits().ok()?.max_open_files.soft_limit {
            LimitValue::Value(limit) => limit as f64,
            LimitValue::Unlimited => f64::INFINITY,
        };
        let ticks = procfs::ticks_per_second() as f64;
        // Exact, where the process's statistics count ticks of 10 ms.
        let cpu_time = clock_gettime(ClockId::ProcessCPUTime);
        let booted_at = procfs::boot_time_secs().ok()? as f64;
        Some(Self {
            cpu_seconds: cpu_time.tv_sec as f64 + cpu_time.tv_nsec as f64 / 1e9,
            resident_bytes: (stat.rss * procfs::page_size()) as f64,
            virtual_bytes: stat.vsize as f64,
            open_fds: process.fd_count().ok()? as f64,
            max_fds,
            threads: stat.num_threads as f64,
            started_at: booted_at + stat.starttime as f64 / ticks,
        })
    }
}

fn number(value: usize) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
