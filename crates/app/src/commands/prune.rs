//! `bidloop prune`: a pass of pruning now, with the pauses of the background's.

use bidloop_domain::port::Prunable;
use bidloop_domain::use_case::{PrunableCount, Prune};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::{Outcome, database, output};
use crate::cli::PruneArgs;
use crate::service::Operations;
use crate::settings::Settings;
use crate::workers;

pub(super) async fn run(settings: &Settings, args: &PruneArgs) -> Outcome {
    let database = database::open_current(settings).await?;
    let prune = Operations::new(settings, &database).await?.prune;
    if args.dry_run {
        return count(&prune, args.json).await;
    }
    let never = CancellationToken::new();
    let removed = workers::prune(&prune, &never, |_, _| {}).await?;
    if args.json {
        let removed: Map<String, Value> = removed
            .iter()
            .map(|(kind, rows)| (kind.to_string(), json!(rows)))
            .collect();
        return output::json(&json!({ "dryRun": false, "removed": removed }));
    }
    for (kind, rows) in &removed {
        output::line(&format!("{}: {rows} removed", described(*kind)))?;
    }
    Ok(())
}

async fn count(prune: &Prune, as_json: bool) -> Outcome {
    let counts = prune.count().await?;
    if as_json {
        let prunable: Map<String, Value> = counts
            .iter()
            .map(|count| {
                let value = json!({ "rows": count.rows, "isLeast": count.is_least });
                (count.kind.to_string(), value)
            })
            .collect();
        return output::json(&json!({ "dryRun": true, "prunable": prunable }));
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
    }
}
