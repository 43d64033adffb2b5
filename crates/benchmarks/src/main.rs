//! Measures Bidloop and prints every figure beside its goal; the exit status is 1 if a goal is missed.
//!
//! A suite is a module that fills a [`report::Report`]. `docs/benchmarks.md` explains the method and shows a
//! run.

mod api;
mod http;
mod marketplace;
mod matching;
mod postgres;
mod process;
mod program;
mod report;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::report::Report;

/// Measures Bidloop; prints every figure beside its goal and exits 1 if one is missed.
#[derive(Debug, Parser)]
#[command(name = "bidloop-benchmarks", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// The program under load over HTTP, on SQLite and PostgreSQL, and what it needs when idle.
    Api(api::Options),
    /// Saved filters with the database: paging and backfills over a million jobs, ingesting against 100,000 filters.
    Matching(matching::Options),
    /// The contender that does nothing but answer; run by `api`.
    #[command(hide = true)]
    BareActix(api::BareActix),
}

fn main() -> ExitCode {
    let (json, measured) = match Cli::parse().command {
        Command::Api(options) => (options.json, api::measure(&options)),
        Command::Matching(options) => (options.json, matching::measure(&options)),
        Command::BareActix(server) => return ended(server.serve()),
    };
    ended(measured.and_then(|report| conclude(&report, json)))
}

/// Shows what was measured; an error if it is not what it should be.
fn conclude(report: &Report, json: bool) -> anyhow::Result<()> {
    report.print(json)?;
    anyhow::ensure!(report.holds(), "a goal is missed");
    Ok(())
}

fn ended(outcome: anyhow::Result<()>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report::progress(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}
