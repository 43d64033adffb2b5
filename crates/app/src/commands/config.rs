//! `bidloop config check`. Faulty settings have ended the program with status 2 before this runs.

use serde_json::json;

use super::{Outcome, output};
use crate::cli::ConfigCommand;
use crate::settings::Settings;

pub(super) fn run(settings: &Settings, command: &ConfigCommand) -> Outcome {
    let ConfigCommand::Check { json: as_json } = command;
    let warnings: Vec<_> = settings.warnings.iter().map(ToString::to_string).collect();
    if *as_json {
        return output::json(&json!({ "ok": true, "warnings": warnings }));
    }
    for warning in warnings {
        output::line(&format!("Warning: {warning}."))?;
    }
    let marketplace = match settings.marketplace_url() {
        Some(url) => format!("the marketplace at {url}"),
        None => "no marketplace: nothing is watched or submitted".to_owned(),
    };
    output::line(&format!("Configuration OK; {marketplace}."))
}
