//! The index: time a job, the floor, memory a filter, build and edits.
//!
//! `cargo bench -p bidloop-matching` measures everything, `cargo bench -p bidloop-matching -- wide` the rows whose names
//! contain a word. Times are CPU time of one thread, but for the build. The figure is the median of the rounds; the
//! shortest is shown, too, since other work on the machine only adds.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark")]

mod workload;

use std::hint::black_box;
use std::process::Command;
use std::thread;
use std::time::Instant;

use bidloop_matching::index::Frequencies;
use bidloop_matching::{FilterIndex, JobFacts, MatchScratch, PaymentKind, PreparedJob, SavedFilter};

use self::workload::{Filters, Job, Jobs, Kind};

const ROUNDS: usize = 15;
const JOBS: usize = 1_000;
const MILLION: usize = 1_000_000;
const BUILDS: usize = 3;
const BUILD: &str = "build of 1,000,000 from stored JSON with two threads";
/// The option of the process whose memory is measured.
const MEMORY: &str = "--resident-with";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [option, filters] = arguments.as_slice()
        && option == MEMORY
    {
        let index = index_of(Filters::new(Kind::Selective, 31, &[]), filters.parse().unwrap());
        println!("{}", process_status("VmRSS:"));
        drop(index);
        return;
    }
    let names: Vec<&String> = arguments.iter().filter(|name| !name.starts_with('-')).collect();
    let is_wanted = |row: &str| names.is_empty() || names.iter().any(|name| row.contains(name.as_str()));
    let drawn: Vec<Job> = Jobs::new(11).take(JOBS).collect();
    let jobs = prepared(&drawn);
    for (row, kind, filters, with_phrases) in [
        ("10,000 selective", Kind::Selective, 10_000, false),
        ("100,000 selective", Kind::Selective, 100_000, false),
        ("100,000 selective, phrases", Kind::Selective, 100_000, true),
        ("100,000 wide", Kind::Wide, 100_000, false),
        ("100,000 wide, phrases", Kind::Wide, 100_000, true),
        ("1,000,000 selective", Kind::Selective, MILLION, false),
        ("1,000,000 selective, phrases", Kind::Selective, MILLION, true),
    ] {
        if is_wanted(row) {
            let phrases_of = if with_phrases { drawn.as_slice() } else { &[] };
            let index = index_of(Filters::new(kind, 22, phrases_of), filters);
            time_a_job(row, &index, &jobs);
        }
    }
    if is_wanted("floor") || is_wanted("edits") {
        let mut index = index_of(Filters::new(Kind::Selective, 31, &[]), MILLION);
        floor(&index, &jobs);
        edits(&mut index, &jobs);
    }
    if is_wanted(BUILD) {
        build();
    }
    if is_wanted("memory") {
        memory();
    }
}

fn prepared(jobs: &[Job]) -> Vec<PreparedJob> {
    jobs.iter().map(|job| PreparedJob::new(&facts(job))).collect()
}

fn facts(job: &Job) -> JobFacts<'_> {
    let rate = f64::from(job.rate);
    JobFacts {
        title: &job.title,
        description: &job.description,
        category: Some(&job.category),
        payment_kind: Some(PaymentKind::Hourly),
        hourly_range: Some((rate, rate)),
        client_country: Some(&job.country),
        is_payment_verified: Some(job.payment_verified),
        ..JobFacts::default()
    }
}

/// What the index knows of jobs: 1,000, none of which is matched.
fn frequencies() -> Frequencies {
    let observed: Vec<Job> = Jobs::new(12).take(JOBS).collect();
    let mut frequencies = Frequencies::new();
    for job in prepared(&observed) {
        frequencies.observe(&job);
    }
    frequencies
}

fn index_of(filters: Filters<'_>, count: usize) -> FilterIndex<u32> {
    let mut index = FilterIndex::with_frequencies(frequencies());
    for (key, filter) in (0..).zip(filters.take(count)) {
        let compiled = SavedFilter::parse(&filter.to_string()).unwrap();
        index.insert(key, &compiled).unwrap();
    }
    index
}

fn match_all(index: &FilterIndex<u32>, jobs: &[PreparedJob], scratch: &mut MatchScratch) {
    let mut found = 0;
    for job in jobs {
        index.for_each_match(job, scratch, |key| found ^= key);
    }
    black_box(found);
}

/// Microseconds of CPU time a job: the median of the rounds, and the shortest.
fn measured(mut round: impl FnMut()) -> [f64; 2] {
    let mut times: Vec<f64> = (0..=ROUNDS)
        .map(|_| {
            let before = cpu_time();
            round();
            (cpu_time() - before) / 1e3 / count(JOBS)
        })
        .collect();
    // The first does not count.
    times.remove(0);
    times.sort_by(f64::total_cmp);
    [times[times.len() / 2], times[0]]
}

/// Nanoseconds that this thread has run.
fn cpu_time() -> f64 {
    // The kernel updates the figure when the thread yields.
    thread::yield_now();
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    statistics.split(' ').next().unwrap().parse().unwrap()
}

#[expect(clippy::cast_precision_loss, reason = "counts, shown rounded")]
const fn count(count: usize) -> f64 {
    count as f64
}

fn time_a_job(row: &str, index: &FilterIndex<u32>, jobs: &[PreparedJob]) {
    let mut scratch = MatchScratch::default();
    let [median, shortest] = measured(|| match_all(index, jobs, &mut scratch));
    let efforts = jobs.iter().map(|job| index.effort(job, &mut scratch));
    let (entries, evaluated, matched) = efforts.fold((0, 0, 0), |(a, b, c), effort| {
        (a + effort.entries, b + effort.evaluated, c + effort.matched)
    });
    let [entries, evaluated, matched] = [entries, evaluated, matched].map(|sum| count(sum) / count(JOBS));
    println!(
        "{row}: {median:.2} µs a job, shortest {shortest:.2} ({entries:.0} entries, {evaluated:.1} verified, {matched:.1} matches)"
    );
}

/// The index beside one pass over as many records of 32 bytes as it reads entries, list by list.
fn floor(index: &FilterIndex<u32>, jobs: &[PreparedJob]) {
    let mut scratch = MatchScratch::default();
    let mut starts = std::collections::HashMap::new();
    let mut end = 0;
    let mut ranges = Vec::new();
    for job in jobs {
        for (list, entries) in index.lists_read(job, &mut scratch) {
            let start = *starts.entry(list).or_insert_with(|| {
                end += entries;
                end - entries
            });
            ranges.push(start..start + entries);
        }
    }
    let records: Vec<[u32; 8]> = (0..end).map(|n| [u32::try_from(n).unwrap(); 8]).collect();
    let [ours, _] = measured(|| match_all(index, jobs, &mut scratch));
    let [floor, _] = measured(|| {
        let mut found = 0;
        for range in &ranges {
            for words in &records[range.clone()] {
                found += u32::from(words.iter().fold(0, |all, word| all ^ word) == 7);
            }
        }
        black_box(found);
    });
    println!("floor: {floor:.2} µs a job, ours {:.2} times that", ours / floor);
}

/// Replaces one filter of a million after each job.
fn edits(index: &mut FilterIndex<u32>, jobs: &[PreparedJob]) {
    let mut scratch = MatchScratch::default();
    let edits = Filters::new(Kind::Selective, 41, &[]).take(5 * JOBS);
    let mut times: Vec<f64> = (0_u32..)
        .zip(edits)
        .zip(jobs.iter().cycle())
        .map(|((number, edit), job)| {
            let compiled = SavedFilter::parse(&edit.to_string()).unwrap();
            let started = Instant::now();
            index.insert(number * 7_919 % 1_000_000, &compiled).unwrap();
            let time = started.elapsed().as_secs_f64() * 1e3;
            index.for_each_match(job, &mut scratch, |_| {});
            time
        })
        .collect();
    times.sort_by(f64::total_cmp);
    let at = |percent: usize| times[times.len() * percent / 100];
    println!(
        "edits: p50 {:.4} ms, p99 {:.4} ms until the next match sees one",
        at(50),
        at(99)
    );
}

/// From stored JSON to the index. The goal is for two idle cores; the CPU time tells more on a busy machine.
fn build() {
    let filters = Filters::new(Kind::Selective, 31, &[]).take(MILLION);
    let stored: Vec<(u32, String)> = (0..).zip(filters.map(|filter| filter.to_string())).collect();
    let (mut shortest, mut least) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..BUILDS {
        let mut index = FilterIndex::with_frequencies(frequencies());
        let started = Instant::now();
        let load = index.load(&stored, |(key, json)| {
            Some((*key, SavedFilter::parse(json).ok()?))
        });
        let work = || {
            load.work();
            cpu_time() / 1e9
        };
        let cpu = thread::scope(|scope| {
            let threads = [scope.spawn(work), scope.spawn(work)];
            threads.map(|thread| thread.join().unwrap()).iter().sum()
        });
        load.finish().unwrap();
        shortest = shortest.min(started.elapsed().as_secs_f64());
        least = least.min(cpu);
        assert_eq!(index.len(), MILLION);
    }
    println!("{BUILD}: {shortest:.2} s, {least:.2} s of CPU time (goal: 2.40 s)");
}

/// The resident memory of a process with a million filters, minus that of one without.
fn memory() {
    let resident = |filters: usize| -> f64 {
        let mut process = Command::new(std::env::current_exe().unwrap());
        let output = process.args([MEMORY, &filters.to_string()]).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
    };
    let bytes = (resident(MILLION) - resident(0)) * 1024.0 / count(MILLION);
    println!("memory: {bytes:.0} bytes a filter");
}

/// A line of the process's status, in KiB.
fn process_status(line: &str) -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let value = status.lines().find_map(|text| text.strip_prefix(line)).unwrap();
    value.trim().trim_end_matches(" kB").to_owned()
}
