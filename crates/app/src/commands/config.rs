//! `bidloop config show|check`. Faulty settings have ended the program with status 2 before this runs.

use serde_json::json;

use super::{Outcome, database, output, targets};
use crate::cli::ConfigCommand;
use crate::service::webhook_sender;
use crate::settings::{Settings, ShownSetting};

pub(super) async fn run(settings: &Settings, command: &ConfigCommand) -> Outcome {
    match command {
        ConfigCommand::Show { json: true } => output::json(&settings.shown),
        ConfigCommand::Show { json: false } => settings.shown.iter().try_for_each(show),
        ConfigCommand::Check { json } => check(settings, *json).await,
    }
}

fn show(setting: &ShownSetting) -> Outcome {
    let value = setting
        .value
        .as_ref()
        .map_or_else(|| "(not set)".to_owned(), ToString::to_string);
    let source = match &setting.place {
        Some(place) => format!("{}: {place}", setting.source),
        None => setting.source.to_owned(),
    };
    output::line(&format!("{:<36} {value:<40} {source}", setting.key))
}

async fn check(settings: &Settings, as_json: bool) -> Outcome {
    let mut warnings: Vec<_> = settings.warnings.iter().map(ToString::to_string).collect();
    warnings.extend(refused_targets(settings).await);
    if as_json {
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

/// Warnings of the stored webhook targets. None if the database cannot be read: the settings may be checked before there
/// is one.
async fn refused_targets(settings: &Settings) -> Vec<String> {
    let Ok(database) = database::open_current(settings).await else {
        return Vec::new();
    };
    let warnings = targets::warnings(&*database.provisioning(), &webhook_sender(settings)).await;
    warnings.unwrap_or_default()
}
