//! `bidloop marketplace check`. Needs no settings and no database.

use std::path::Path;
use std::time::Duration;

use bidloop_domain::model::{MarketplaceToken, sanitize_for_log};
use bidloop_domain::port::{Clock as _, Entropy as _};
use bidloop_marketplace_check::{Finding, Report, Target, Verdict, check};

use super::{Failure, Outcome, input, output};
use crate::cli::{MarketplaceCheckArgs, MarketplaceCommand};
use crate::system::{SystemClock, SystemEntropy};
use crate::trust_roots::{bundled_roots, client_config};

pub(super) async fn run(command: &MarketplaceCommand) -> Outcome {
    let MarketplaceCommand::Check(args) = command;
    let target = target(args)?;
    let report = check(&target)
        .await
        .map_err(|error| Failure::usage(format!("{}: {error}", args.url)))?;
    if args.json {
        output::json(&report)?;
    } else {
        print(&report)?;
    }
    match report.broken {
        0 => Ok(()),
        1 => Err(Failure::failed("one rule is broken")),
        broken => Err(Failure::failed(format!("{broken} rules are broken"))),
    }
}

fn target(args: &MarketplaceCheckArgs) -> Result<Target, Failure> {
    let token = match (&args.token, &args.token_file) {
        (_, Some(file)) => Some(token_in(file, "--token-file")?),
        (Some(token), None) => Some(checked(token, "--token")?),
        (None, None) => None,
    };
    let feed_token = args
        .feed_token_file
        .as_deref()
        .map(|file| token_in(file, "--feed-token-file"))
        .transpose()?;
    if args.allow_proposals.is_some() && token.is_none() {
        return Err(Failure::usage(
            "--allow-proposals: needs the token of the account that bids: --token-file FILE",
        ));
    }
    Ok(Target {
        base_url: args.url.clone(),
        token,
        feed_token,
        allow_proposals: args.allow_proposals.clone(),
        timeout: Duration::from_millis(args.timeout_ms),
        tls: client_config(bundled_roots()),
        now_ms: SystemClock.now().as_millis(),
        run: SystemEntropy.uuid().to_string(),
    })
}

fn token_in(file: &Path, option: &str) -> Result<String, Failure> {
    match input::text(file) {
        Ok(text) => checked(text.trim(), option),
        Err(Failure::Failed(lines)) => Err(Failure::Usage(lines)),
        Err(other) => Err(other),
    }
}

/// The token, if a request can carry it.
fn checked(token: &str, option: &str) -> Result<String, Failure> {
    MarketplaceToken::parse(token)
        .map(|token| token.expose().to_owned())
        .map_err(|error| Failure::usage(format!("{option}: {error}")))
}

fn print(report: &Report) -> Outcome {
    for finding in &report.rules {
        for line in lines(finding) {
            // It repeats what the marketplace said.
            output::line(&sanitize_for_log(&line, usize::MAX))?;
        }
    }
    output::line(&format!(
        "{} held, {} broken, {} not tried.",
        report.held, report.broken, report.not_tried
    ))
}

fn lines(finding: &Finding) -> Vec<String> {
    let mut lines = vec![format!(
        "{:<10} {:<27} {}",
        finding.result, finding.rule, finding.says
    )];
    let details = [
        ("expected", finding.expected.as_deref()),
        ("came", finding.came.as_deref()),
        ("do", finding.mend),
        ("why", finding.why.as_deref()),
    ];
    for (name, text) in details {
        if let Some(text) = text {
            lines.push(format!("{:<10} {name}: {text}", ""));
        }
    }
    debug_assert_eq!(finding.result == Verdict::Held, lines.len() == 1);
    lines
}
