//! The time that splitting a post into words takes.

use std::hint::black_box;
use std::time::Instant;

use bidloop_domain::matching::JobText;
use bidloop_domain::model::JobPost;

use super::clock::median;
use super::workload::Jobs;
use crate::report::Row;

/// Microseconds to split a post, the median one of the real posts; of generated ones without those.
pub(super) fn row(real: Option<&[JobPost]>, rounds: usize) -> anyhow::Result<Row> {
    let generated: Vec<JobPost>;
    let (name, posts) = if let Some(posts) = real {
        ("splitting a real post into words, median", posts)
    } else {
        let posts = Jobs::new(13).take(1_000).enumerate();
        let posts = posts.map(|(number, job)| job.post(number));
        generated = posts.collect::<anyhow::Result<_>>()?;
        (
            "splitting a generated post into words, median",
            generated.as_slice(),
        )
    };
    let times = posts.iter().map(|post| {
        let rounds = (0..rounds).map(|_| {
            let started = Instant::now();
            black_box(JobText::new(black_box(&post.facts())));
            started.elapsed().as_secs_f64() * 1e6
        });
        median(rounds.collect())
    });
    Ok(Row::new(name, median(times.collect()), "µs").below(15.0))
}
