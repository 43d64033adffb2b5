//! `bidloop backup`.

use bidloop_persistence::BackUpError;
use serde_json::json;

use super::progress::Progress;
use super::{Failure, Outcome, database, output};
use crate::cli::BackupArgs;
use crate::settings::Settings;

impl From<BackUpError> for Failure {
    fn from(error: BackUpError) -> Self {
        Self::failed(error.to_string())
    }
}

/// Asks for no schema of this version: a backup is due before migrating.
pub(super) async fn run(settings: &Settings, args: &BackupArgs) -> Outcome {
    let database = database::open(settings)?;
    let progress = Progress::of("Copying the database and checking the copy");
    let bytes = progress.during(database.back_up(&args.file)).await?;
    if args.json {
        return output::json(&json!({ "file": args.file, "bytes": bytes }));
    }
    output::line(&format!("Backed up to {}: {bytes} bytes.", args.file.display()))
}
