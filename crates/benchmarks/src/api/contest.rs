//! Contenders measured against each other: alternating rounds, each after a warm-up, and the median of the rounds.

use std::time::Duration;

use anyhow::{Result, ensure};

use crate::report::{Report, Row};

/// The service itself, which all others are compared with.
pub(super) const SERVICE: &str = "bidloop";

/// Somebody who does the same work again and again.
pub(super) trait Contender {
    fn name(&self) -> &'static str;

    /// Works for about this long.
    fn run(&mut self, time: Duration) -> Result<Run>;

    /// The CPU used so far.
    fn cpu(&self) -> Cpu;
}

/// What was done in one go.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) seconds: f64,
    /// One a request or transaction.
    pub(super) latencies_us: Vec<u32>,
}

/// CPU seconds so far, as far as they can be told.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cpu {
    /// Of the process that serves, or loops.
    pub(super) server: Option<f64>,
    /// Of the database server, if there is one.
    pub(super) database: Option<f64>,
}

/// How long a contest goes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    pub(super) rounds: usize,
    pub(super) round: Duration,
}

/// One contender's figures: a round's, or the medians of all.
#[derive(Debug, Clone, Copy)]
struct Figures {
    per_second: f64,
    p50_ms: f64,
    p99_ms: f64,
    server_us: Option<f64>,
    database_us: Option<f64>,
}

impl Figures {
    /// CPU of all that the work needs, in microseconds a request.
    fn cpu_us(&self) -> Option<f64> {
        match (self.server_us, self.database_us) {
            (None, None) => None,
            (server, database) => Some(server.unwrap_or(0.0) + database.unwrap_or(0.0)),
        }
    }
}

/// Lets the contenders compete and reports each one's figures, and the service's in relation to the others'.
pub(super) fn hold(
    measure: &str,
    contenders: &mut [Box<dyn Contender + '_>],
    pace: Pace,
    report: &mut Report,
) -> Result<()> {
    let mut rounds: Vec<Vec<Figures>> = contenders.iter().map(|_| Vec::new()).collect();
    for _ in 0..pace.rounds {
        for (contender, figures) in contenders.iter_mut().zip(&mut rounds) {
            contender.run(pace.round / 5)?;
            figures.push(round(&mut **contender, pace.round)?);
        }
    }
    let medians: Vec<(&str, Figures)> = contenders
        .iter()
        .zip(&rounds)
        .map(|(contender, figures)| (contender.name(), medians(figures)))
        .collect();
    for (name, figures) in &medians {
        report.add(
            Row::new(format!("{measure}: {name}"), figures.per_second, "/s")
                .with("p50 ms", Some(figures.p50_ms))
                .with("p99 ms", Some(figures.p99_ms))
                .with("server CPU µs", figures.server_us)
                .with("database CPU µs", figures.database_us),
        );
    }
    let Some((_, service)) = medians.iter().find(|(name, _)| *name == SERVICE) else {
        return Ok(());
    };
    for (name, other) in medians.iter().filter(|(name, _)| *name != SERVICE) {
        let cpu = service.cpu_us().zip(other.cpu_us());
        let throughput = service.per_second / other.per_second;
        report.add(
            Row::new(
                format!("{measure}: {SERVICE} / {name}"),
                throughput,
                "× throughput",
            )
            .with("× CPU", cpu.map(|(service, other)| service / other))
            .with("× p50", Some(service.p50_ms / other.p50_ms)),
        );
    }
    Ok(())
}

fn round(contender: &mut dyn Contender, time: Duration) -> Result<Figures> {
    let before = contender.cpu();
    let mut run = contender.run(time)?;
    let after = contender.cpu();
    ensure!(!run.latencies_us.is_empty(), "{} did nothing", contender.name());
    run.latencies_us.sort_unstable();
    let count = count(run.latencies_us.len());
    let per_request = |before: Option<f64>, after: Option<f64>| Some((after? - before?) * 1e6 / count);
    Ok(Figures {
        per_second: count / run.seconds,
        p50_ms: percentile_ms(&run.latencies_us, 50),
        p99_ms: percentile_ms(&run.latencies_us, 99),
        server_us: per_request(before.server, after.server),
        database_us: per_request(before.database, after.database),
    })
}

fn medians(rounds: &[Figures]) -> Figures {
    let all = |of: fn(&Figures) -> Option<f64>| median(rounds.iter().filter_map(of).collect());
    let one = |of: fn(&Figures) -> Option<f64>| all(of).unwrap_or(f64::NAN);
    Figures {
        per_second: one(|figures| Some(figures.per_second)),
        p50_ms: one(|figures| Some(figures.p50_ms)),
        p99_ms: one(|figures| Some(figures.p99_ms)),
        server_us: all(|figures| figures.server_us),
        database_us: all(|figures| figures.database_us),
    }
}

/// The middle one; of an even number the mean of the two in the middle.
pub(super) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = *values.get(middle)?;
    Some(if values.len() % 2 == 1 {
        upper
    } else {
        f64::midpoint(upper, values[middle - 1])
    })
}

/// Of sorted microseconds.
fn percentile_ms(sorted: &[u32], percent: usize) -> f64 {
    let index = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
    sorted.get(index).map_or(f64::NAN, |us| f64::from(*us) / 1000.0)
}

fn count(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_whatever_the_order() {
        assert_eq!(median(vec![]), None);
        assert_eq!(median(vec![9.0, 1.0, 5.0]), Some(5.0));
        assert_eq!(median(vec![4.0, 1.0, 9.0, 2.0]), Some(3.0));
    }

    #[test]
    fn percentiles_are_taken_from_what_was_measured() {
        let sorted: Vec<u32> = (1..=100).map(|n| n * 1000).collect();
        assert!((percentile_ms(&sorted, 50) - 51.0).abs() < f64::EPSILON);
        assert!((percentile_ms(&sorted, 99) - 100.0).abs() < f64::EPSILON);
        assert!((percentile_ms(&[7000], 99) - 7.0).abs() < f64::EPSILON);
    }
}
