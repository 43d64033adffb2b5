//! Counts what happened, and renders the summary at the end.

use std::time::Duration;

use bidloop_domain::model::{Activity, ActivityKind, ActivityOutcome, ActorKind, Connects, Timestamp};
use bidloop_simulator::caller::Delivery;
use serde_json::Value;

use crate::lead_facts::{thousands, usd};
use crate::screen::{Look, Style};

/// Counts since the start.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    since: Timestamp,
    job_new: u64,
    bid_complete: u64,
    undelivered: u64,
    bids: u64,
    dry_runs: u64,
    submitted: u64,
    skipped: u64,
    failed: u64,
    parked: u64,
    rejected: u64,
    connects: u64,
    /// From posting to the delivery of `job.new`, in milliseconds.
    latencies: Vec<i64>,
}

impl Tally {
    /// Counts what happens from `since` on.
    pub(crate) fn since(since: Timestamp) -> Self {
        Self {
            since,
            ..Self::default()
        }
    }

    pub(crate) fn delivery(&mut self, delivery: &Delivery) {
        match delivery.event() {
            "job.new" => {
                self.job_new += 1;
                // A delivery left by an earlier run says nothing about the latency of this one.
                let posted = delivery.data()["lead"]["datetime"].as_i64();
                let posted = posted.filter(|posted| *posted >= self.since.as_millis());
                self.latencies
                    .extend(posted.map(|posted| delivery.received_at().saturating_sub(posted)));
            }
            "bid_complete" => self.bid_complete += 1,
            _ => {}
        }
    }

    pub(crate) fn activity(&mut self, activity: &Activity) {
        let by_service = activity.actor.kind == ActorKind::Service;
        match (activity.kind, activity.outcome) {
            (ActivityKind::Bid, ActivityOutcome::Accepted) if activity.dry_run => self.dry_runs += 1,
            (ActivityKind::Bid, ActivityOutcome::Accepted) => self.bids += 1,
            (ActivityKind::Bid, _) if by_service => self.parked += 1,
            (ActivityKind::Rejection, ActivityOutcome::Accepted) => self.rejected += 1,
            (ActivityKind::Delivery, ActivityOutcome::Failed) => self.undelivered += 1,
            (ActivityKind::Submission, ActivityOutcome::Submitted) => self.submitted += 1,
            (ActivityKind::Submission, ActivityOutcome::Skipped) => self.skipped += 1,
            (ActivityKind::Submission, _) => self.failed += 1,
            _ => {}
        }
        if activity.kind == ActivityKind::Submission {
            self.connects += activity
                .details
                .get("connectsSpent")
                .and_then(Value::as_u64)
                .unwrap_or(0);
        }
    }

    /// How many `job.new` were delivered.
    pub(crate) const fn job_new(&self) -> u64 {
        self.job_new
    }

    /// The table at the end. `jobs` were read from the feed, `matches` of them matched.
    pub(crate) fn render(&self, jobs: u64, matches: u64, ran: Duration, look: Look) -> String {
        let count = |number: u64| thousands(&number.to_string());
        let mut extra = vec![
            format!("{} skipped", self.skipped),
            format!("{} failed", self.failed),
        ];
        if self.parked > 0 {
            extra.push(format!("{} parked before a bid", self.parked));
        }
        let mut bids = Vec::new();
        if self.dry_runs > 0 {
            bids.push(format!("and {} dry runs", self.dry_runs));
        }
        if self.rejected > 0 {
            bids.push(format!("{} leads rejected", self.rejected));
        }
        let undelivered = match self.undelivered {
            0 => "none failed".to_owned(),
            failed => format!("{failed} failed"),
        };
        let cost = Connects::new(self.connects).cost().to_number();
        let cost = usd(cost.as_f64().unwrap_or_default());
        let (median, slowest) = self.latency();
        let rows = [
            ("jobs seen", count(jobs), String::new()),
            ("matched", count(matches), String::new()),
            (
                "deliveries",
                count(self.job_new + self.bid_complete),
                format!(
                    "{} job.new, {} bid_complete, {undelivered}",
                    self.job_new, self.bid_complete
                ),
            ),
            ("bids", count(self.bids), bids.join(", ")),
            ("proposals", count(self.submitted), extra.join(", ")),
            ("connects spent", count(self.connects), cost),
            ("posting to job.new", median, slowest),
        ];
        let width = rows.iter().map(|(_, value, _)| value.len()).max().unwrap_or(0);
        let mut lines = vec![
            String::new(),
            look.paint(Style::Bold, &format!("Ran for {} s.", ran.as_secs())),
            String::new(),
        ];
        for (name, value, remark) in rows {
            let line = format!("  {name:<20}{value:>width$}  {}", look.paint(Style::Dim, &remark));
            lines.push(if remark.is_empty() {
                format!("  {name:<20}{value:>width$}")
            } else {
                line
            });
        }
        lines.join("\n")
    }

    /// The median, and the slowest in words.
    fn latency(&self) -> (String, String) {
        let mut sorted = self.latencies.clone();
        sorted.sort_unstable();
        match (sorted.get(sorted.len() / 2), sorted.last()) {
            (Some(median), Some(slowest)) => (
                format!("{median} ms"),
                format!("median; the slowest took {slowest} ms"),
            ),
            _ => ("–".to_owned(), "no job.new was delivered".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_is_a_table() {
        let tally = Tally {
            since: Timestamp::from_millis(0),
            job_new: 8,
            bid_complete: 15,
            undelivered: 1,
            bids: 1_016,
            dry_runs: 1,
            submitted: 14,
            skipped: 2,
            failed: 0,
            parked: 3,
            rejected: 0,
            connects: 212,
            latencies: vec![90, 40, 300],
        };
        let plain = Look {
            colour: false,
            columns: None,
        };
        assert_eq!(
            tally.render(31, 18, Duration::from_millis(30_400), plain),
            "
Ran for 30 s.

  jobs seen              31
  matched                18
  deliveries             23  8 job.new, 15 bid_complete, 1 failed
  bids                1,016  and 1 dry runs
  proposals              14  2 skipped, 0 failed, 3 parked before a bid
  connects spent        212  $31.80
  posting to job.new  90 ms  median; the slowest took 300 ms"
        );
    }

    #[test]
    fn a_demo_in_which_nothing_happened_has_a_summary_too() {
        let plain = Look {
            colour: false,
            columns: None,
        };
        let summary = Tally::default().render(0, 0, Duration::ZERO, plain);
        assert!(summary.contains("no job.new was delivered"), "{summary}");
    }
}
