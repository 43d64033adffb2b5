//! The time that splitting a post into words takes.

use std::fs::File;
use std::hint::black_box;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::time::Instant;

use anyhow::Context as _;
use bidloop_domain::matching::JobText;
use bidloop_domain::model::JobPost;

use super::clock::median;
use super::workload::Jobs;
use crate::report::Row;

/// Microseconds to split a post, the median post of the file, JSON a line; of generated posts without one.
pub(super) fn row(posts: Option<&Path>, rounds: usize) -> anyhow::Result<Row> {
    let (name, posts) = if let Some(file) = posts {
        ("splitting a real post into words, median", read(file)?)
    } else {
        let posts = Jobs::new(13).take(1_000).enumerate();
        let posts = posts.map(|(number, job)| job.post(number));
        (
            "splitting a generated post into words, median",
            posts.collect::<anyhow::Result<Vec<JobPost>>>()?,
        )
    };
    let times = posts.iter().map(|post| {
        let rounds = (0..rounds).map(|_| {
            let started = Instant::now();
            black_box(JobText::new(black_box(post)));
            started.elapsed().as_secs_f64() * 1e6
        });
        median(rounds.collect())
    });
    Ok(Row::new(name, median(times.collect()), "µs").below(15.0))
}

fn read(file: &Path) -> anyhow::Result<Vec<JobPost>> {
    let lines = BufReader::new(File::open(file).with_context(|| file.display().to_string())?).lines();
    lines
        .map(|line| JobPost::parse(&line?).map_err(|fault| anyhow::anyhow!("{}: {fault}", file.display())))
        .collect()
}
