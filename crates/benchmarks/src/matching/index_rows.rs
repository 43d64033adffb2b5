//! Rows of the index by itself: its speed against contenders, its memory, how it is built and edited.

use std::hint::black_box;
use std::time::{Duration, Instant};

use anyhow::{anyhow, ensure};
use bidloop_domain::matching::index::Frequencies;
use bidloop_domain::matching::{FilterIndex, MatchScratch, PreparedJob};
use bidloop_domain::model::SavedFilter;

use super::a_tree_contender::Contender;
use super::clock::{Stopwatch, in_turn, median, p99};
use super::workload::{Filter, Filters, Job, Jobs, Kind};
use crate::report::Row;

/// Jobs that are matched again and again.
const JOBS: usize = 1_000;
/// Jobs that an index has seen before it is built; not those that are matched.
const OBSERVED: usize = 1_000;
/// Jobs that the slow contender is given, and the fast one so often, to be over only after the clock has moved.
const A_TREE_JOBS: usize = 100;
const AS_OFTEN: usize = 50;

/// The jobs of a measurement, drawn and prepared.
#[derive(Debug)]
pub(super) struct Matched {
    pub(super) drawn: Vec<Job>,
    pub(super) prepared: Vec<PreparedJob>,
}

impl Matched {
    pub(super) fn new() -> anyhow::Result<Self> {
        let drawn: Vec<Job> = Jobs::new(11).take(JOBS).collect();
        let prepared = prepared(&drawn)?;
        Ok(Self { drawn, prepared })
    }
}

fn prepared(jobs: &[Job]) -> anyhow::Result<Vec<PreparedJob>> {
    let posts = jobs.iter().enumerate();
    posts
        .map(|(number, job)| Ok(PreparedJob::new(&job.post(number)?.facts())))
        .collect()
}

pub(super) fn frequencies() -> anyhow::Result<Frequencies> {
    let seen: Vec<Job> = Jobs::new(12).take(OBSERVED).collect();
    let mut frequencies = Frequencies::new();
    for job in prepared(&seen)? {
        frequencies.observe(&job);
    }
    Ok(frequencies)
}

/// An index of the filters, by their position.
pub(super) fn index_of(filters: impl Iterator<Item = Filter>) -> anyhow::Result<FilterIndex<u32>> {
    let mut index = FilterIndex::with_frequencies(frequencies()?);
    for (key, filter) in (0..).zip(filters) {
        let compiled = SavedFilter::compile_stored(&filter.stored())
            .map_err(|faults| anyhow!("a generated filter: {faults:?}"))?;
        index.insert(key, &compiled)?;
    }
    Ok(index)
}

fn match_all(index: &FilterIndex<u32>, jobs: &[PreparedJob], scratch: &mut MatchScratch) {
    let mut found = 0_u32;
    for job in jobs {
        index.for_each_match(job, scratch, |key| found ^= key);
    }
    black_box(found);
}

/// Microseconds a job, with what a match looks at.
pub(super) fn speed(name: &str, index: &FilterIndex<u32>, jobs: &Matched, rounds: usize) -> Row {
    let mut scratch = MatchScratch::default();
    let times = (0..=rounds).map(|_| {
        let watch = Stopwatch::start();
        match_all(index, &jobs.prepared, &mut scratch);
        per_job(watch.read())
    });
    let figure = median(times.skip(1).collect());
    let efforts = jobs.prepared.iter().map(|job| index.effort(job, &mut scratch));
    let (entries, evaluated, matched) = efforts.fold((0, 0, 0), |(a, b, c), effort| {
        (a + effort.entries, b + effort.evaluated, c + effort.matched)
    });
    Row::new(name, figure, "µs a job")
        .with("entries", Some(mean(entries)))
        .with("evaluated", Some(mean(evaluated)))
        .with("matches", Some(mean(matched)))
}

#[expect(clippy::cast_precision_loss, reason = "a count of jobs")]
fn mean(sum: usize) -> f64 {
    sum as f64 / JOBS as f64
}

#[expect(clippy::cast_precision_loss, reason = "a count of jobs")]
fn per_job(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6 / JOBS as f64
}

/// How many times the speed of `a-tree` the index has, with equal result sets.
pub(super) fn against_a_tree(filters: usize, jobs: &Matched, rounds: usize) -> anyhow::Result<Row> {
    let filters: Vec<Filter> = Filters::new(Kind::Selective, 21, &[]).take(filters).collect();
    let index = index_of(filters.iter().cloned())?;
    let contender = Contender::new(&filters)?;
    let mut scratch = MatchScratch::default();
    for (job, drawn) in jobs.prepared.iter().zip(&jobs.drawn[..A_TREE_JOBS]) {
        let expected = contender.matches(drawn)?;
        let mut found = Vec::new();
        index.for_each_match(job, &mut scratch, |key| found.push(*key as usize));
        found.sort_unstable();
        ensure!(found == expected, "the index and a-tree disagree");
    }
    let [ours, theirs, _] = in_turn(
        rounds,
        A_TREE_JOBS,
        || {
            for _ in 0..AS_OFTEN {
                match_all(&index, &jobs.prepared[..A_TREE_JOBS], &mut scratch);
            }
        },
        || {
            for job in &jobs.drawn[..A_TREE_JOBS] {
                black_box(contender.matches(job).map_or(0, |found| found.len()));
            }
        },
    );
    #[expect(clippy::cast_precision_loss, reason = "a small number")]
    let (ours, theirs) = (ours / AS_OFTEN as f64 * 1e6, theirs * 1e6);
    Ok(Row::new(
        "10,000 filters selective, a-tree's time to ours",
        theirs / ours,
        "times",
    )
    .at_least(500.0)
    .with("ours µs a job", Some(ours))
    .with("a-tree µs a job", Some(theirs)))
}

/// A record of the floor.
#[derive(Debug, Clone, Copy, Default)]
struct Record([u32; 8]);

/// How many times the floor the index takes: reading as many records of 32 bytes, list by list, as the index has
/// entries under what the job has.
pub(super) fn against_the_floor(index: &FilterIndex<u32>, jobs: &Matched, rounds: usize) -> Row {
    let mut scratch = MatchScratch::default();
    let mut places = std::collections::HashMap::new();
    let mut end = 0;
    let mut lists: Vec<Vec<std::ops::Range<usize>>> = Vec::with_capacity(JOBS);
    for job in &jobs.prepared {
        let read = index.lists_read(job, &mut scratch).into_iter();
        let ranges = read.map(|(list, entries)| {
            let start = *places.entry(list).or_insert_with(|| {
                end += entries;
                end - entries
            });
            start..start + entries
        });
        lists.push(ranges.collect());
    }
    let records: Vec<Record> = (0..end)
        .map(|n| Record([u32::try_from(n).unwrap_or(0); 8]))
        .collect();
    let [ours, floor, _] = in_turn(
        rounds,
        JOBS,
        || match_all(index, &jobs.prepared, &mut scratch),
        || {
            let mut found = 0_u32;
            for range in lists.iter().flatten() {
                for Record(words) in &records[range.clone()] {
                    found += u32::from(words.iter().fold(0, |all, word| all ^ word) == 7);
                }
            }
            black_box(found);
        },
    );
    Row::new(
        "1,000,000 filters selective, our time to the floor's",
        ours / floor,
        "times",
    )
    .below(3.0)
    .with("ours µs a job", Some(ours * 1e6))
    .with("floor µs a job", Some(floor * 1e6))
}

/// Seconds to make an index of stored filters.
pub(super) fn build(filters: usize) -> anyhow::Result<Row> {
    let stored: Vec<(u32, String)> = (0..)
        .zip(Filters::new(Kind::Selective, 31, &[]).take(filters))
        .map(|(key, filter)| (key, filter.stored()))
        .collect();
    let mut index = FilterIndex::with_frequencies(frequencies()?);
    let started = Instant::now();
    let compile =
        |(key, stored): &(u32, String)| SavedFilter::compile_stored(stored).map(|compiled| (*key, compiled));
    let load = index.load(&stored, compile);
    let threads = std::thread::available_parallelism()?;
    std::thread::scope(|scope| {
        for _ in 0..threads.get() {
            scope.spawn(|| load.work());
        }
    });
    load.finish()
        .map_err(|fault| anyhow!("a generated filter: {fault:?}"))?;
    let seconds = started.elapsed().as_secs_f64();
    ensure!(index.len() == filters, "filters are missing");
    Ok(Row::new("build of 1,000,000 filters from their stored form", seconds, "s").below(3.0))
}

/// Edits at 1,000 a second while jobs are matched: how soon each is seen, and what matching loses.
pub(super) fn edits(index: &mut FilterIndex<u32>, jobs: &Matched, rounds: usize) -> anyhow::Result<[Row; 2]> {
    const PAUSE: Duration = Duration::from_millis(1);
    let mut scratch = MatchScratch::default();
    let count = u32::try_from(index.len())?;
    let mut edits = Filters::new(Kind::Selective, 41, &[]);
    let mut seen_after = Vec::new();
    let mut lost = Vec::new();
    for round in 0..=rounds {
        let started = Instant::now();
        match_all(index, &jobs.prepared, &mut scratch);
        let undisturbed = started.elapsed();

        let started = Instant::now();
        let mut next = started;
        let mut key = 0;
        for job in &jobs.prepared {
            index.for_each_match(job, &mut scratch, |_| {});
            let now = Instant::now();
            if now < next {
                continue;
            }
            next += PAUSE;
            let Some(edit) = edits.next() else { break };
            let compiled = SavedFilter::compile_stored(&edit.stored())
                .map_err(|faults| anyhow!("a generated filter: {faults:?}"))?;
            let edited = Instant::now();
            index.insert(key % count, &compiled)?;
            if round > 0 {
                seen_after.push(edited.elapsed().as_secs_f64() * 1e3);
            }
            key += 7_919;
        }
        if round > 0 {
            lost.push((started.elapsed().as_secs_f64() / undisturbed.as_secs_f64() - 1.0) * 100.0);
        }
    }
    Ok([
        Row::new(
            "an edit is seen by the next match after, p99",
            p99(seen_after.clone()),
            "ms",
        )
        .below(1.0)
        .with("p50 ms", Some(median(seen_after))),
        Row::new("matching time added by 1,000 edits a second", median(lost), "%").below(10.0),
    ])
}
