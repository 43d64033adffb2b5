//! One file a command. A command prints its result on standard output and fails with a [`Failure`].

mod activity;
mod apply;
mod config;
mod database;
mod demo;
mod filters;
mod input;
mod keys;
mod leads;
mod migrate;
mod openapi;
mod output;
mod serve;
mod simulate;

use std::process::ExitCode;

use crate::cli::{Cli, Command};
use crate::settings::{Settings, SettingsFault};
use crate::telemetry;

/// Why a command did not do its work; decides the exit status.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Exit 1: what went wrong, one line each.
    Failed(Vec<String>),
    /// Exit 2: wrong usage or settings, one line each.
    Usage(Vec<String>),
    /// Exit 0: nobody reads our output any more.
    OutputClosed,
}

impl Failure {
    pub(crate) fn failed(line: impl Into<String>) -> Self {
        Self::Failed(vec![line.into()])
    }

    pub(crate) fn usage(line: impl Into<String>) -> Self {
        Self::Usage(vec![line.into()])
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::failed(format!("{error:#}"))
    }
}

impl From<bidloop_domain::port::StoreError> for Failure {
    fn from(error: bidloop_domain::port::StoreError) -> Self {
        Self::failed(error.to_string())
    }
}

impl From<Vec<SettingsFault>> for Failure {
    fn from(faults: Vec<SettingsFault>) -> Self {
        Self::Usage(faults.iter().map(ToString::to_string).collect())
    }
}

pub(crate) type Outcome = Result<(), Failure>;

/// Runs the command and turns its outcome into the process's exit status.
pub(crate) async fn run(cli: Cli) -> ExitCode {
    let outcome = match dispatch(cli).await {
        Err(Failure::OutputClosed) => Ok(()),
        outcome => outcome,
    };
    let (lines, status) = match outcome {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failure::Usage(lines)) => (lines, 2),
        Err(Failure::Failed(lines)) => (lines, 1),
        Err(Failure::OutputClosed) => (Vec::new(), 0),
    };
    output::errors(&lines);
    ExitCode::from(status)
}

async fn dispatch(cli: Cli) -> Outcome {
    let config = cli.config.as_deref();
    // These two need no settings.
    match &cli.command {
        Command::Openapi(_) => return openapi::run(),
        Command::Simulate(args) => return simulate::run(args).await,
        _ => {}
    }
    let settings = Settings::load(config)?;
    let level = match &cli.command {
        // What the HTTP server says of its threads is no news to operators.
        Command::Serve(_) => "info,actix_server=warn",
        // A new demo market refuses the last one's position each time: that is no news there.
        Command::Demo(_) => "warn,bidloop::workers::watch=error",
        _ => "warn",
    };
    telemetry::start(settings.log_format, level);
    match cli.command {
        Command::Demo(args) => demo::run(&settings, &args).await,
        Command::Serve(args) => serve::run(&settings, &args.role.into_iter().collect()).await,
        Command::Apply(args) => apply::run(&settings, &args.file).await,
        Command::Migrate(args) => migrate::run(&settings, args.json).await,
        Command::Keys(command) => keys::run(&settings, command).await,
        Command::Leads(command) => leads::run(&settings, command).await,
        Command::Activity(args) => activity::run(&settings, &args).await,
        Command::Filters(command) => filters::run(&settings, command).await,
        Command::Config(command) => config::run(&settings, &command),
        Command::Openapi(_) | Command::Simulate(_) => Ok(()),
    }
}

/// Says why the program could not even start.
pub(crate) fn report_start_failure(error: &std::io::Error) {
    output::errors(&[format!("the program's threads cannot be started: {error}")]);
}
