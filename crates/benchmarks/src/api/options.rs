//! How the suite is run.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum, value_parser};

use crate::world::Databases;

/// The options of the suite.
#[derive(Debug, Clone, Args)]
pub(crate) struct Options {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Length of a measured round.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = value_parser!(u16).range(1..))]
    seconds: u16,
    /// Rounds of each contender; the median counts.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = value_parser!(u16).range(1..))]
    pub(super) rounds: u16,
    /// Connections of the load generator and of pgbench.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = value_parser!(u16).range(2..))]
    pub(super) connections: u16,
    /// The program to measure; the installed one if left out, which is built with the profile `distribution`.
    #[arg(long, value_name = "FILE")]
    pub(super) program: Option<PathBuf>,
    /// A program that decides on each bid by itself, which a lone client of the measured one must nearly equal.
    #[arg(long, value_name = "FILE")]
    pub(super) before: Option<PathBuf>,
    /// Measure these parts alone.
    #[arg(long, value_enum, value_name = "PART", value_delimiter = ',')]
    only: Vec<Part>,
    #[command(flatten)]
    pub(super) databases: Databases,
}

/// A part that can be measured by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Part {
    /// Size of the program's file.
    Size,
    /// Time to start.
    Start,
    /// Memory when idle, and for uploads.
    Idle,
    /// A page of leads.
    List,
    /// Look-ups of a lead that does not exist.
    LookUps,
    /// Bids of 50 organizations.
    Bids,
    /// Bids of one organization, and of another one meanwhile; on PostgreSQL.
    Hot,
    /// Bids while a snapshot is held; on PostgreSQL.
    Held,
    /// Bids of a single client; on PostgreSQL.
    Lone,
    /// Bids through PgBouncer; on PostgreSQL.
    Pooler,
}

impl Options {
    /// Length of a measured round.
    pub(super) fn round(&self) -> Duration {
        Duration::from_secs(self.seconds.into())
    }

    pub(super) fn asks_for(&self, part: Part) -> bool {
        self.only.is_empty() || self.only.contains(&part)
    }

    /// The same with twice as many rounds.
    pub(super) fn with_more_rounds(&self) -> Self {
        Self {
            rounds: self.rounds.saturating_mul(2),
            ..self.clone()
        }
    }

    /// The same for one part alone.
    pub(super) fn for_part(&self, part: Part) -> Self {
        Self {
            only: vec![part],
            ..self.clone()
        }
    }
}
