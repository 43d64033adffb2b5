//! The index beside the best that plain SQL does: rows of elapsed time, since PostgreSQL is another process.

use std::hint::black_box;
use std::time::Instant;

use anyhow::{Result, ensure};
use bidloop_domain::matching::{FilterIndex, MatchScratch};

use super::clock::median;
use super::gin_contender::{Asked, Plan, Server};
use super::index_rows::{Matched, index_of};
use super::workload::{Filters, Kind};
use crate::report::{Report, Row, progress};

/// Ours are done so many times in a round: once would be over too soon to be timed well.
const REPEATED: u16 = 10;

/// What is compared.
struct Contest {
    name: &'static str,
    kind: Kind,
    filters: usize,
    /// How many times our time PostgreSQL's is to be.
    goal: f64,
    /// Jobs that are asked for in each round.
    jobs: usize,
}

const CONTESTS: [Contest; 3] = [
    Contest {
        name: "100,000 filters selective, PostgreSQL's time to ours",
        kind: Kind::Selective,
        filters: 100_000,
        goal: 150.0,
        jobs: 100,
    },
    Contest {
        name: "100,000 filters wide, PostgreSQL's time to ours",
        kind: Kind::Wide,
        filters: 100_000,
        goal: 100.0,
        jobs: 30,
    },
    Contest {
        name: "1,000,000 filters selective, PostgreSQL's time to ours",
        kind: Kind::Selective,
        filters: 1_000_000,
        goal: 100.0,
        jobs: 50,
    },
];

/// Compares; where PostgreSQL cannot be started or does not do what it is to, the rows say why.
pub(super) fn measure(report: &mut Report, matched: &Matched, rounds: usize) {
    progress("starting PostgreSQL");
    let server = Server::start();
    for contest in CONTESTS {
        progress(&format!("storing {} filters in PostgreSQL", contest.filters));
        let row = match &server {
            Ok(server) => row(&contest, server, matched, rounds).map_err(|error| format!("{error:#}")),
            Err(error) => Err(format!("{error:#}")),
        };
        report.add(row.unwrap_or_else(|why| Row::failed(contest.name, why).at_least(contest.goal)));
    }
}

/// How many times our time PostgreSQL's best plan takes, with equal result sets from all plans. Phrases and prefixes,
/// which SQL has not, are ours alone.
fn row(contest: &Contest, server: &Server, matched: &Matched, rounds: usize) -> Result<Row> {
    let filters = |phrases_of| Filters::new(contest.kind, 22, phrases_of).take(contest.filters);
    let plans = server.store(filters(&[]))?;
    let index = index_of(filters(&[]))?;
    let with_phrases = index_of(filters(&matched.drawn))?;
    let asked: Vec<Asked> = matched.drawn[..contest.jobs]
        .iter()
        .map(Asked::of)
        .collect::<Result<_>>()?;
    let jobs = &matched.prepared[..contest.jobs];
    let mut scratch = MatchScratch::default();
    for (job, asked) in jobs.iter().zip(&asked) {
        let mut found = Vec::new();
        index.for_each_match(job, &mut scratch, |key| found.push(i64::from(*key)));
        found.sort_unstable();
        for plan in &plans {
            let mut theirs: Vec<i64> = server.matches(plan, asked)?.into_iter().map(i64::from).collect();
            theirs.sort_unstable();
            ensure!(
                found == theirs,
                "the index and PostgreSQL disagree, {}",
                plan.name
            );
        }
    }
    let mut ours = |index: &FilterIndex<u32>| {
        let mut found = Vec::new();
        let started = Instant::now();
        for _ in 0..REPEATED {
            for job in jobs {
                found.clear();
                index.for_each_match(job, &mut scratch, |key| found.push(*key));
                black_box(&found);
            }
        }
        per_job(started, contest.jobs) / f64::from(REPEATED)
    };
    let mut times = vec![(Vec::new(), Vec::new()); plans.len()];
    let (mut ours_times, mut with_phrases_times) = (Vec::new(), Vec::new());
    for round in 0..=rounds {
        let (us, with_phrases) = (ours(&index), ours(&with_phrases));
        let theirs = plans
            .iter()
            .map(|plan| time(server, plan, &asked))
            .collect::<Result<Vec<f64>>>()?;
        if round == 0 {
            continue;
        }
        ours_times.push(us);
        with_phrases_times.push(with_phrases);
        for ((times, ratios), time) in times.iter_mut().zip(theirs) {
            times.push(time);
            ratios.push(time / us);
        }
    }
    let (plan_times, ratios): (Vec<f64>, Vec<f64>) = times
        .into_iter()
        .map(|(times, ratios)| (median(times), median(ratios)))
        .unzip();
    let best = ratios.into_iter().fold(f64::INFINITY, f64::min);
    let mut row = Row::new(contest.name, best, "times")
        .at_least(contest.goal)
        .with("ours, µs a job", Some(median(ours_times) * 1e6))
        .with(
            "ours with phrases and prefixes, µs a job",
            Some(median(with_phrases_times) * 1e6),
        );
    for (plan, time) in plans.iter().zip(plan_times) {
        row = row.with(plan.name, Some(time * 1e3));
    }
    Ok(row)
}

/// Seconds a job.
fn time(server: &Server, plan: &Plan, asked: &[Asked]) -> Result<f64> {
    let started = Instant::now();
    for job in asked {
        black_box(server.matches(plan, job)?);
    }
    Ok(per_job(started, asked.len()))
}

#[expect(clippy::cast_precision_loss, reason = "a count of jobs")]
fn per_job(started: Instant, jobs: usize) -> f64 {
    started.elapsed().as_secs_f64() / jobs as f64
}
