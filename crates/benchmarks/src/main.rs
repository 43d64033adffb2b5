//! Measures Bidloop and prints every figure beside its goal; the exit status is 1 if a goal is missed.
//!
//! A suite is a module that fills a [`report::Report`]: `api`, `queues`, `matching`, `console` or `retention`. `world` is
//! what they measure on.
//! `docs/benchmarks.md` explains the method and shows a run.
#![expect(clippy::cast_precision_loss, reason = "figures are shown with three digits")]

mod api;
mod bare_actix;
mod console;
mod database;
mod http;
mod marketplace;
mod matching;
mod postgres;
mod process;
mod program;
mod queues;
mod report;
mod retention;
mod waiting;
mod world;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

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
    /// Deliveries beside other queues, and the whole path from a posted job to its receiver.
    Queues(queues::Options),
    /// Saved filters with the database: paging and backfills over a million jobs, ingesting against 100,000 filters.
    Matching(matching::Options),
    /// The console's pages over 100,000 leads and 1,000,000 Activity entries.
    Console(console::Options),
    /// Pruning a year of activity while jobs come in.
    Retention(retention::Options),
    /// A server of fixed answers, run by the suites.
    #[command(hide = true)]
    BareActix(bare_actix::BareActix),
}

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report::progress(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> anyhow::Result<()> {
    let (json, report) = match command {
        Command::Api(options) => (options.json, api::measure(&options)?),
        Command::Queues(options) => (options.json, queues::measure(&options)?),
        Command::Matching(options) => (options.json, matching::measure(&options)?),
        Command::Console(options) => (options.json, console::measure(&options)?),
        Command::Retention(options) => (options.json, retention::measure(&options)?),
        Command::BareActix(server) => return server.serve(),
    };
    report.print(json)?;
    anyhow::ensure!(report.holds(), "a goal is missed");
    Ok(())
}
