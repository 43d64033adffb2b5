//! `bidloop apply`.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use bidloop_domain::model::ApiKeyId;
use bidloop_domain::port::{
    AttachmentPieces, AttachmentSource, AttachmentSourceError, Clock as _, StoreError,
};
use bidloop_domain::provisioning::{EntityKind, ProvisioningReport};
use bytes::Bytes;
use serde_json::Value;
use tokio::io::AsyncReadExt;
use tokio_util::sync::CancellationToken;

use super::progress::Progress;
use super::{Failure, Outcome, accounts, database, input, keys, output, targets};
use crate::service::{Operations, webhook_sender};
use crate::settings::Settings;
use crate::system::SystemClock;
use crate::toml_text;
use crate::workers;

pub(super) async fn run(settings: &Settings, file: &Path) -> Outcome {
    let document = read_document(file)?;
    let database = database::open_migrated(settings).await?;
    let operations = Operations::new(settings, &database).await?;
    // Standard input has no folder: paths are relative to the working directory.
    let folder = file
        .parent()
        .filter(|_| file != Path::new("-"))
        .unwrap_or(Path::new(""));
    let source = FolderSource(folder.to_path_buf());
    let report = operations.apply_provisioning.execute(&document, &source).await?;
    // What is reported as done holds from then on (decision D7), the campaigns' lists included.
    if let Err(error) = backfill(&operations).await {
        tracing::warn!(%error, "the matches of stored jobs are outdated until the running service has updated them");
    }
    match targets::warnings(&*database.provisioning(), &webhook_sender(settings)).await {
        Ok(lines) => output::errors(&lines),
        Err(error) => tracing::warn!(%error, "the webhooks' targets could not be checked"),
    }
    match accounts::warnings(&*database.overview(), &document, SystemClock.now()).await {
        Ok(lines) => output::errors(&lines),
        Err(error) => tracing::warn!(%error, "the campaigns' bidder accounts could not be checked"),
    }
    match output::json(&report) {
        Ok(()) => Ok(()),
        Err(failure) => Err(withdraw(&operations, &report, failure).await),
    }
}

/// Ends the generated keys that nobody has seen, and names the webhook secrets that nobody knows. All else that the file
/// describes holds.
async fn withdraw(operations: &Operations, report: &ProvisioningReport, failure: Failure) -> Failure {
    // Without secrets, a reader that has seen enough loses nothing that it cannot have again.
    if report.secrets.is_empty() {
        return failure;
    }
    let mut failure =
        failure.and("the file is applied, but its generated secrets were not shown:".to_owned());
    for secret in &report.secrets {
        let organization = &secret.organization_id;
        let line = match (secret.kind, ApiKeyId::parse(&secret.id)) {
            (EntityKind::ApiKey, Ok(id)) => {
                keys::withdrawn(&operations.manage_api_keys, organization, &id).await
            }
            _ => format!(
                "the secret of webhook \"{}\" of organization \"{organization}\" is unknown: apply it with another one",
                secret.id
            ),
        };
        failure = failure.and(line);
    }
    failure
}

async fn backfill(operations: &Operations) -> Result<(), StoreError> {
    let matches = &operations.backfill_matches;
    let never = CancellationToken::new();
    let progress = Progress::of("Matching the stored jobs with the changed filters");
    let scanned = |jobs, of| progress.note(jobs, of);
    let work = async {
        while workers::backfill(matches, &never, scanned).await?.superseded > 0 {}
        Ok(())
    };
    progress.during(work).await
}

/// JSON, or TOML by the file's name.
fn read_document(file: &Path) -> Result<Value, Failure> {
    let is_toml = file
        .extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("toml"));
    if !is_toml {
        return input::json(file);
    }
    toml_text::read(&input::text(file)?)
        .map_err(|fault| Failure::failed(format!("{}: {fault}", file.display())))
}

/// Files relative to a folder.
#[derive(Debug)]
pub(super) struct FolderSource(pub(super) PathBuf);

/// Bytes read at once.
const PIECE: usize = 64 * 1024;

#[async_trait]
impl AttachmentSource for FolderSource {
    async fn open(&self, path: &str) -> Result<AttachmentPieces, AttachmentSourceError> {
        let file = tokio::fs::File::open(self.0.join(path))
            .await
            .map_err(|error| unreadable(&error))?;
        let pieces = futures::stream::try_unfold(file, |mut file| async move {
            let mut piece = vec![0; PIECE];
            let read = file.read(&mut piece).await.map_err(|error| unreadable(&error))?;
            piece.truncate(read);
            Ok((read > 0).then(|| (Bytes::from(piece), file)))
        });
        Ok(Box::pin(pieces))
    }
}

fn unreadable(error: &std::io::Error) -> AttachmentSourceError {
    match error.kind() {
        std::io::ErrorKind::NotFound => AttachmentSourceError::NotFound,
        _ => AttachmentSourceError::Unreadable(error.to_string()),
    }
}
