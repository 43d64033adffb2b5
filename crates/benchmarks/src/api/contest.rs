//! Contenders measured against each other: alternating rounds, each after a warm-up. A figure is the median of the rounds, a
//! ratio the median of their ratios.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::options::Options;
use crate::process::Cpu;
use crate::report::{Report, Row, median, median_ratio};

/// A contender, which does the same work again and again.
pub(super) trait Contender {
    fn name(&self) -> &'static str;

    /// Works for about this long.
    fn run(&mut self, time: Duration) -> Result<Run>;

    /// The CPU seconds used so far.
    fn cpu(&self) -> Cpu;
}

/// A contender under another name.
pub(super) struct Named<'c>(pub(super) &'static str, pub(super) Box<dyn Contender + 'c>);

impl Contender for Named<'_> {
    fn name(&self) -> &'static str {
        self.0
    }

    fn run(&mut self, time: Duration) -> Result<Run> {
        self.1.run(time)
    }

    fn cpu(&self) -> Cpu {
        self.1.cpu()
    }
}

/// What the first contender must reach beside the second.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Goals {
    /// At least so many times its throughput.
    pub(super) throughput: Option<f64>,
    /// At most so many times its CPU a request, database included.
    pub(super) cpu: Option<f64>,
    /// At most so many times its median latency.
    pub(super) p50: Option<f64>,
}

impl Goals {
    pub(super) fn throughput(goal: f64) -> Self {
        Self {
            throughput: Some(goal),
            ..Self::default()
        }
    }
}

/// The work of one run.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) seconds: f64,
    /// One for each request or transaction.
    pub(super) latencies_us: Vec<u32>,
}

impl Run {
    /// A run that ends now.
    pub(super) fn since(started: Instant, latencies_us: Vec<u32>) -> Self {
        Self {
            seconds: started.elapsed().as_secs_f64(),
            latencies_us,
        }
    }
}

/// The microseconds since `started`.
pub(super) fn latency_us(started: Instant) -> u32 {
    u32::try_from(started.elapsed().as_micros()).unwrap_or(u32::MAX)
}

/// One contender's figures: of a round, or the medians of all.
#[derive(Debug, Clone, Copy)]
struct Figures {
    per_second: f64,
    p50_ms: f64,
    p99_ms: f64,
    /// Microseconds a request.
    cpu: Cpu,
}

impl Figures {
    /// Microseconds a request, of server and database together.
    fn whole_cpu(&self) -> Option<f64> {
        let known: Vec<f64> = [self.cpu.server, self.cpu.database]
            .into_iter()
            .flatten()
            .collect();
        (!known.is_empty()).then(|| known.iter().sum())
    }
}

/// Measures the contenders. Reports the figures of each, and those of the first as ratios to the others'.
pub(super) fn hold(
    measure: &str,
    contenders: &mut [Box<dyn Contender + '_>],
    goals: Goals,
    options: &Options,
    report: &mut Report,
) -> Result<()> {
    let mut rounds: Vec<Vec<Figures>> = contenders.iter().map(|_| Vec::new()).collect();
    for _ in 0..options.rounds {
        for (contender, figures) in contenders.iter_mut().zip(&mut rounds) {
            contender.run(options.round() / 5)?;
            figures.push(round(&mut **contender, options.round())?);
        }
    }
    for (contender, rounds) in contenders.iter().zip(&rounds) {
        let figures = medians(rounds);
        report.add(
            Row::new(
                format!("{measure}: {}", contender.name()),
                figures.per_second,
                "/s",
            )
            .with("p50 ms", figures.p50_ms)
            .with("p99 ms", figures.p99_ms)
            .with("server CPU µs", figures.cpu.server)
            .with("database CPU µs", figures.cpu.database),
        );
    }
    let ([first, others @ ..], [ours, theirs @ ..]) = (&*contenders, rounds.as_slice()) else {
        return Ok(());
    };
    for (place, (other, theirs)) in others.iter().zip(theirs).enumerate() {
        let goals = if place == 0 { goals } else { Goals::default() };
        let ratio = |figure: fn(&Figures) -> f64| median_ratio(ours, theirs, figure);
        let cpu = Some(ratio(|round| round.whole_cpu().unwrap_or(f64::NAN))).filter(|cpu| !cpu.is_nan());
        let p50 = ratio(|round| round.p50_ms);
        let per_second = ratio(|round| round.per_second);
        let name = format!("{measure}: {} / {}", first.name(), other.name());
        let throughput = Row::new(name.clone(), per_second, "× throughput");
        let throughput = throughput.with("× CPU", cpu).with("× p50", p50);
        report.add(match goals.throughput {
            Some(goal) => throughput.at_least(goal),
            None => throughput,
        });
        if let Some(goal) = goals.cpu {
            report.add(match cpu {
                Some(cpu) => Row::new(name.clone(), cpu, "× CPU").at_most(goal),
                None => Row::failed(name.clone(), "the CPU of the database server is unknown"),
            });
        }
        if let Some(goal) = goals.p50 {
            report.add(Row::new(name, p50, "× p50").at_most(goal));
        }
    }
    Ok(())
}

/// The 99th percentile of latencies in microseconds, in milliseconds.
pub(super) fn p99_ms(mut latencies_us: Vec<u32>) -> f64 {
    latencies_us.sort_unstable();
    percentile_ms(&latencies_us, 99)
}

fn round(contender: &mut dyn Contender, time: Duration) -> Result<Figures> {
    let before = contender.cpu();
    let mut run = contender.run(time)?;
    let after = contender.cpu();
    ensure!(!run.latencies_us.is_empty(), "{} did nothing", contender.name());
    run.latencies_us.sort_unstable();
    let count = run.latencies_us.len() as f64;
    Ok(Figures {
        per_second: count / run.seconds,
        p50_ms: percentile_ms(&run.latencies_us, 50),
        p99_ms: percentile_ms(&run.latencies_us, 99),
        cpu: after.each_since(before, count / 1e6),
    })
}

fn medians(rounds: &[Figures]) -> Figures {
    let of = |figure: fn(&Figures) -> f64| median(rounds.iter().map(figure).collect());
    let if_known = |figure: fn(&Figures) -> Option<f64>| {
        let figures: Option<Vec<f64>> = rounds.iter().map(figure).collect();
        figures.map(median)
    };
    Figures {
        per_second: of(|figures| figures.per_second),
        p50_ms: of(|figures| figures.p50_ms),
        p99_ms: of(|figures| figures.p99_ms),
        cpu: Cpu {
            server: if_known(|figures| figures.cpu.server),
            database: if_known(|figures| figures.cpu.database),
        },
    }
}

/// A percentile of sorted microseconds.
fn percentile_ms(sorted: &[u32], percent: usize) -> f64 {
    let index = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
    sorted.get(index).map_or(f64::NAN, |us| f64::from(*us) / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_taken_from_what_was_measured() {
        let sorted: Vec<u32> = (1..=100).map(|n| n * 1000).collect();
        assert!((percentile_ms(&sorted, 50) - 51.0).abs() < f64::EPSILON);
        assert!((percentile_ms(&sorted, 99) - 100.0).abs() < f64::EPSILON);
        assert!((percentile_ms(&[7000], 99) - 7.0).abs() < f64::EPSILON);
    }
}
