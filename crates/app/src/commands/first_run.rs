//! `bidloop first-run`.

use serde_json::json;

use super::{Failure, Outcome, database, output};
use crate::service::Operations;
use crate::settings::Settings;

/// Prints a code that replaces the former one. The service need not run yet.
pub(super) async fn run(settings: &Settings, as_json: bool) -> Outcome {
    let database = database::open_migrated(settings).await?;
    let first_run = Operations::new(settings, &database).await?.people.first_run;
    let code = first_run.new_code().await?.ok_or_else(|| {
        Failure::failed(
            "there are users already: one of them can invite others, and `bidloop apply` makes users, too",
        )
    })?;
    if as_json {
        return output::json(&json!({ "code": code.expose() }));
    }
    output::line(code.expose())
}
