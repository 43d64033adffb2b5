//! Matching: the index over all saved filters beside its contenders.

mod a_tree_contender;
mod clock;
mod equality;
mod footprint;
mod gin_contender;
mod gin_rows;
mod index_rows;
mod real_posts;
mod split;
mod stored;
mod workload;

use std::path::PathBuf;

use self::index_rows::{Matched, index_of};
use self::workload::{Filters, Kind};
use crate::report::{Report, Row, progress};

pub(crate) use self::footprint::Footprint;

/// Filters of the largest measurements.
const MILLION: usize = 1_000_000;

/// What to measure.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Print JSON instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
    /// Rounds of each measurement; the median counts.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// Pairs of a filter and a job that are compared with brute force.
    #[arg(long, default_value_t = 100_000_000)]
    pairs: u64,
    /// Seed of the comparison.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Measure these parts alone.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "PART")]
    only: Vec<Part>,
    /// Real posts, JSON a line, packed with gzip or not; left out, those that lie beside the repository, if any do.
    #[arg(long, value_name = "FILE")]
    posts: Option<PathBuf>,
}

/// What can be measured by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    /// The index by itself, and beside a-tree.
    Index,
    /// The index beside PostgreSQL.
    Sql,
    /// The index on real posts, and splitting them into words.
    Posts,
    /// The program on a million stored jobs.
    Stored,
    /// The program with 100,000 filters reading the feed.
    Ingest,
    /// The index against brute force.
    Equality,
}

impl Options {
    fn asks_for(&self, part: Part) -> bool {
        self.only.is_empty() || self.only.contains(&part)
    }
}

/// Measures everything.
pub(crate) fn measure(options: &Options) -> anyhow::Result<Report> {
    let mut report = Report::default();
    let rounds = usize::from(options.rounds);
    if options.asks_for(Part::Posts) {
        let posts = real_posts::read(options.posts.as_deref())?;
        report.add(split::row(posts.as_deref(), rounds)?);
        if let Some(posts) = posts {
            real_posts::measure(&mut report, &posts, rounds)?;
        } else {
            progress("no real posts are there: nothing is measured on them");
        }
    }
    if options.asks_for(Part::Index) {
        report.add(footprint::row(1_000_000)?);
        let jobs = Matched::new()?;
        report.add(index_rows::against_a_tree(10_000, &jobs, rounds)?);
        for (name, kind) in [
            ("100,000 filters selective", Kind::Selective),
            ("100,000 filters wide", Kind::Wide),
        ] {
            let index = index_of(Filters::new(kind, 22, &[]).take(100_000))?;
            report.add(index_rows::speed(name, &index, &jobs, rounds));
        }
        let index = index_of(Filters::new(Kind::Selective, 22, &jobs.drawn).take(100_000))?;
        let name = "100,000 filters selective, with phrases and prefixes";
        report.add(index_rows::speed(name, &index, &jobs, rounds));
        drop(index);
        report.add(index_rows::build(MILLION)?);
        progress("indexing a million filters");
        let mut index = index_of(Filters::new(Kind::Selective, 31, &[]).take(MILLION))?;
        report.add(index_rows::speed(
            "1,000,000 filters selective",
            &index,
            &jobs,
            rounds,
        ));
        report.add(index_rows::against_the_floor(&index, &jobs, rounds));
        for row in index_rows::edits(&mut index, &jobs, rounds)? {
            report.add(row);
        }
    }
    if options.asks_for(Part::Sql) {
        gin_rows::measure(&mut report, &Matched::new()?, rounds);
    }
    if options.asks_for(Part::Equality) {
        report.add(equality_row(options)?);
    }
    let stored = stored::Parts {
        stored: options.asks_for(Part::Stored),
        ingest: options.asks_for(Part::Ingest),
    };
    stored::measure(stored, &mut report)?;
    Ok(report)
}

#[expect(clippy::cast_precision_loss, reason = "counts, shown rounded")]
fn equality_row(options: &Options) -> anyhow::Result<Row> {
    progress("comparing the index with each filter by itself");
    let compared = equality::compare(options.pairs, options.seed)?;
    let telling = options.pairs / 100;
    anyhow::ensure!(
        compared.matching >= telling && compared.failing_by_one >= telling,
        "the pairs tell little: {compared:?}"
    );
    Ok(
        Row::new("pairs equal to brute force", compared.pairs as f64, "pairs")
            .at_least(options.pairs as f64)
            .with("matching", Some(compared.matching as f64))
            .with("failing by one condition", Some(compared.failing_by_one as f64))
            .with("edits", Some(compared.edits as f64)),
    )
}
