//! One file a command. A command prints its result on standard output and fails with a [`Failure`].

mod accounts;
mod activity;
mod apply;
mod backup;
mod bids;
mod campaigns;
mod config;
mod database;
mod demo;
mod doctor;
mod filters;
mod first_run;
mod healthcheck;
mod init;
mod input;
mod keys;
mod leads;
mod list_leads;
mod manual;
mod marketplace;
mod mcp;
mod migrate;
mod moment;
mod openapi;
mod organizations;
mod output;
mod progress;
mod prune;
mod serve;
mod simulate;
mod targets;
mod tokens;
mod webhooks;

use std::fmt::Display;
use std::process::ExitCode;

use bidloop_domain::model::OrganizationId;
use bidloop_domain::port::StoreError;
use bidloop_domain::use_case::ApplyProvisioningError;

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
    /// Exit 0: the reader of standard output has closed it. Output with a secret must not end so.
    OutputClosed,
}

impl Failure {
    pub(crate) fn failed(line: impl Into<String>) -> Self {
        Self::Failed(vec![line.into()])
    }

    pub(crate) fn usage(line: impl Into<String>) -> Self {
        Self::Usage(vec![line.into()])
    }

    /// Adds a line, and makes it a failure that the output was closed.
    pub(crate) fn and(self, line: String) -> Self {
        let mut lines = match self {
            Self::Failed(lines) | Self::Usage(lines) => lines,
            Self::OutputClosed => vec!["standard output was closed before the result was written".to_owned()],
        };
        lines.push(line);
        Self::Failed(lines)
    }

    /// One line for each fault.
    pub(crate) fn faults<F: Display>(faults: &[F]) -> Self {
        Self::Failed(faults.iter().map(ToString::to_string).collect())
    }
}

impl From<ApplyProvisioningError> for Failure {
    fn from(error: ApplyProvisioningError) -> Self {
        match error {
            ApplyProvisioningError::Faulty(faults) => Self::faults(&faults),
            other => Self::failed(other.to_string()),
        }
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::failed(format!("{error:#}"))
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::failed(error.to_string())
    }
}

impl From<Vec<SettingsFault>> for Failure {
    fn from(faults: Vec<SettingsFault>) -> Self {
        Self::Usage(faults.iter().map(ToString::to_string).collect())
    }
}

/// An organization that a command names and that is not there.
fn no_organization(id: &OrganizationId) -> String {
    format!("there is no organization \"{id}\": `bidloop organizations list` shows those there are")
}

pub(crate) type Outcome = Result<(), Failure>;

/// Runs the command and turns its outcome into the process's exit status.
pub(crate) async fn run(cli: Cli) -> ExitCode {
    let (lines, status) = match dispatch(cli).await {
        Ok(()) | Err(Failure::OutputClosed) => return ExitCode::SUCCESS,
        Err(Failure::Usage(lines)) => (lines, 2),
        Err(Failure::Failed(lines)) => (lines, 1),
    };
    output::errors(&lines);
    ExitCode::from(status)
}

async fn dispatch(cli: Cli) -> Outcome {
    let config = cli.config.as_deref();
    // These commands need no settings.
    match &cli.command {
        Command::Openapi(_) => return openapi::run(),
        Command::Simulate(args) => return simulate::run(args).await,
        Command::Init(args) => return init::run(args),
        Command::Completions(args) => return manual::completions(args),
        Command::Man(args) => return manual::man(args),
        Command::Marketplace(command) => return marketplace::run(command).await,
        _ => {}
    }
    let settings = Settings::load(config)?;
    let level = match &cli.command {
        // Operators do not need the HTTP server's messages about its threads, nor errors about what strangers send.
        Command::Serve(_) => "info,actix_server=warn,actix_http::h1=off,rmcp=warn",
        // The market of a new demo always refuses the stored position of the last one.
        Command::Demo(_) => "warn,bidloop::workers::watch=error",
        _ => "warn,bidloop::commands::progress=info",
    };
    telemetry::start(settings.log_format, level, cli.color);
    match cli.command {
        Command::Demo(args) => demo::run(&settings, &args, cli.color).await,
        Command::Serve(args) => serve::run(&settings, &args.role.into_iter().collect()).await,
        Command::Apply(args) => apply::run(&settings, &args.file).await,
        Command::Doctor(args) => doctor::run(&settings, &args).await,
        Command::Migrate(args) => migrate::run(&settings, args.json).await,
        Command::Prune(args) => prune::run(&settings, &args).await,
        Command::Backup(args) => backup::run(&settings, &args).await,
        Command::FirstRun(args) => first_run::run(&settings, args.json).await,
        Command::Keys(command) => keys::run(&settings, command).await,
        Command::Tokens(command) => tokens::run(&settings, command).await,
        Command::Mcp => mcp::run(&settings).await,
        Command::Bids(command) => bids::run(&settings, command).await,
        Command::Organizations(command) => organizations::run(&settings, &command).await,
        Command::Campaigns(command) => campaigns::run(&settings, command).await,
        Command::Leads(command) => leads::run(&settings, command).await,
        Command::Activity(args) => activity::run(&settings, &args).await,
        Command::Webhooks(command) => webhooks::run(&settings, command).await,
        Command::Filters(command) => filters::run(&settings, command).await,
        Command::Config(command) => config::run(&settings, &command).await,
        Command::Healthcheck(args) => healthcheck::run(&settings, args.json).await,
        Command::Openapi(_)
        | Command::Simulate(_)
        | Command::Init(_)
        | Command::Completions(_)
        | Command::Man(_)
        | Command::Marketplace(_) => Ok(()),
    }
}

/// Reports why the program could not start.
pub(crate) fn report_start_failure(error: &std::io::Error) {
    output::errors(&[format!("the program's threads cannot be started: {error}")]);
}
