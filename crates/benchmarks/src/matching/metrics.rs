//! What the program tells of itself at `/metrics`.

use anyhow::Result;

use crate::http::{self, Connection};
use crate::program::Service;

/// A connection over which metrics are asked for.
#[derive(Debug)]
pub(super) struct Metrics(Connection);

impl Metrics {
    pub(super) fn of(service: &Service) -> Result<Self> {
        Ok(Self(Connection::open(service.address)?))
    }

    pub(super) fn read(&mut self) -> Result<Reading> {
        let answer = self.0.ask(&http::get("/metrics"))?;
        anyhow::ensure!(
            answer.status == 200,
            "the metrics were answered {}",
            answer.status
        );
        Ok(Reading(String::from_utf8(answer.body)?))
    }

    /// Jobs that this process has stored so far.
    pub(super) fn stored_jobs(&mut self) -> Result<u64> {
        Ok(self.read()?.count("bidloop_feed_entries_total{outcome=\"new\"}"))
    }
}

/// The metrics of a moment.
#[derive(Debug)]
pub(super) struct Reading(String);

impl Reading {
    /// A metric by its name and labels as they are written; 0 if it is not there yet.
    pub(super) fn value(&self, name: &str) -> f64 {
        let value = self
            .0
            .lines()
            .find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        value.unwrap_or(0.0)
    }

    /// A metric that counts.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "counters hold whole numbers"
    )]
    pub(super) fn count(&self, name: &str) -> u64 {
        self.value(name) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_is_found_by_its_whole_name() {
        let text = "# TYPE a counter\na_total{outcome=\"new\"} 12\na_total 7\nb_seconds 0.25\n".to_owned();
        let reading = Reading(text);
        assert_eq!(reading.count("a_total{outcome=\"new\"}"), 12);
        assert_eq!(reading.count("a_total"), 7);
        assert!((reading.value("b_seconds") - 0.25).abs() < f64::EPSILON);
        assert_eq!(reading.count("b"), 0);
    }
}
