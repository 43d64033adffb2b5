//! `bidloop prune`: a pass of erasing removed organizations and of pruning now, with the pauses of the background's.

use std::collections::BTreeMap;

use bidloop_domain::port::Prunable;
use bidloop_domain::use_case::{Erased, PrunableCount};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::{Failure, Outcome, database, output};
use crate::cli::PruneArgs;
use crate::service::Operations;
use crate::settings::Settings;
use crate::workers;

pub(super) async fn run(settings: &Settings, args: &PruneArgs) -> Outcome {
    let database = database::open_current(settings).await?;
    let operations = Operations::new(settings, &database).await?;
    if args.dry_run {
        return count(&operations, args.json).await;
    }
    let never = CancellationToken::new();
    let erasure = workers::erase(&operations.erase_organizations, &never, |_| {}).await?;
    let removed = workers::prune(&operations.prune, &never, |_, _| {}).await?;
    let left = operations.erase_organizations.removed().await?;
    if args.json {
        output::json(&json!({
            "dryRun": false,
            "removed": by_kind(&removed),
            "erased": {
                "organizations": erasure.erased.organizations,
                "rows": erasure.erased.rows,
                "files": erasure.erased.files,
            },
            "removedOrganizations": left,
        }))?;
    } else {
        print(erasure.erased, &removed)?;
        for organization in &left {
            output::line(&format!(
                "removed organization \"{organization}\": not erased yet"
            ))?;
        }
    }
    if erasure.failures.is_empty() {
        Ok(())
    } else {
        Err(Failure::faults(&erasure.failures))
    }
}

fn by_kind(removed: &BTreeMap<Prunable, u64>) -> Map<String, Value> {
    let removed = removed.iter();
    removed
        .map(|(kind, rows)| (kind.to_string(), json!(rows)))
        .collect()
}

fn print(erased: Erased, removed: &BTreeMap<Prunable, u64>) -> Outcome {
    let Erased {
        organizations,
        rows,
        files,
    } = erased;
    if erased != Erased::default() {
        output::line(&format!(
            "removed organizations: {organizations} erased; {rows} rows and {files} files removed"
        ))?;
    }
    for (kind, rows) in removed {
        output::line(&format!("{}: {rows} removed", described(*kind)))?;
    }
    Ok(())
}

async fn count(operations: &Operations, as_json: bool) -> Outcome {
    let counts = operations.prune.count().await?;
    let removed = operations.erase_organizations.removed().await?;
    if as_json {
        let prunable: Map<String, Value> = counts
            .iter()
            .map(|count| {
                let value = json!({ "rows": count.rows, "isLeast": count.is_least });
                (count.kind.to_string(), value)
            })
            .collect();
        return output::json(&json!({
            "dryRun": true,
            "prunable": prunable,
            "removedOrganizations": removed,
        }));
    }
    for organization in removed {
        output::line(&format!("removed organization \"{organization}\": to be erased"))?;
    }
    for PrunableCount { kind, rows, is_least } in counts {
        let at_least = if is_least { "at least " } else { "" };
        output::line(&format!("{}: {at_least}{rows} to be removed", described(kind)))?;
    }
    Ok(())
}

fn described(kind: Prunable) -> &'static str {
    match kind {
        Prunable::Letters => "letters and answers of ended bids",
        Prunable::Deliveries => "ended deliveries",
        Prunable::Activity => "Activity entries",
        Prunable::Matches => "matches without leads",
        Prunable::Jobs => "jobs without leads",
        Prunable::SignIns => "sessions, links and tries to sign in that are over",
        Prunable::Statistics => "counts of hours and days",
    }
}
