//! How the suite is run.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, value_parser};

/// The options of the suite.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Length of a measured round.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = value_parser!(u16).range(1..))]
    seconds: u16,
    /// Rounds of each contender; the median counts.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = value_parser!(u16).range(1..))]
    pub(super) rounds: u16,
    /// Connections of the load generator and of pgbench.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = value_parser!(u16).range(1..))]
    pub(super) connections: u16,
    /// The program to measure; the one beside this executable if left out, built if it is not there.
    #[arg(long, value_name = "FILE")]
    pub(super) program: Option<PathBuf>,
}

impl Options {
    /// Length of a measured round.
    pub(super) fn round(&self) -> Duration {
        Duration::from_secs(self.seconds.into())
    }
}
