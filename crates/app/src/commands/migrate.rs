//! `bidloop migrate`.

use serde_json::json;

use super::{Outcome, database, output};
use crate::settings::Settings;

pub(super) async fn run(settings: &Settings, as_json: bool) -> Outcome {
    let database = database::open(settings)?;
    let ran = database::migrate(&database).await?;
    if as_json {
        return output::json(&json!({ "migrated": ran }));
    }
    if ran.is_empty() {
        output::line("The schema is current: nothing to do.")
    } else {
        output::line(&format!("Migrated: {}.", ran.join(", ")))
    }
}
