//! The program's metrics, read from `/metrics`.

use anyhow::Result;

use crate::http::Client;
use crate::program::Service;

/// Jobs that the process has stored so far.
pub(crate) const STORED_JOBS: &str = "bidloop_feed_entries_total{outcome=\"new\"}";

/// A connection for reading metrics.
#[derive(Debug)]
pub(crate) struct Metrics(Client);

impl Metrics {
    pub(crate) fn of(service: &Service) -> Result<Self> {
        Ok(Self(service.client()?))
    }

    pub(crate) fn read(&mut self) -> Result<Reading> {
        Ok(Reading(String::from_utf8(self.0.get("/metrics")?.to_vec())?))
    }

    /// The current value of [`STORED_JOBS`].
    pub(crate) fn stored_jobs(&mut self) -> Result<f64> {
        Ok(self.read()?.value(STORED_JOBS))
    }
}

/// The metrics of one moment.
#[derive(Debug)]
pub(crate) struct Reading(String);

impl Reading {
    /// A metric by its name and labels as they are written; 0 if it is not there yet.
    pub(crate) fn value(&self, name: &str) -> f64 {
        let mut values = self
            .0
            .lines()
            .filter_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        values.next().unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_is_found_by_its_whole_name() {
        let text = "# TYPE a counter\na_total{outcome=\"new\"} 12\na_total 7\nb_seconds 0.25\n".to_owned();
        let reading = Reading(text);
        for (name, value) in [
            ("a_total{outcome=\"new\"}", 12.0),
            ("a_total", 7.0),
            ("b_seconds", 0.25),
            ("b", 0.0),
        ] {
            assert!((reading.value(name) - value).abs() < f64::EPSILON, "{name}");
        }
    }
}
