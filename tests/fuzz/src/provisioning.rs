//! Provisioning files.

use std::sync::Arc;

use async_trait::async_trait;
use bidloop_domain::model::Timestamp;
use bidloop_domain::port::{
    AttachmentPieces, AttachmentSource, AttachmentSourceError, HasherBusy, PasswordHasher,
};
use bidloop_domain::use_case::{ApplyProvisioning, ApplyProvisioningError};
use bidloop_fakes::{MemoryBlobStore, MemoryStore, RecordingWorkSignal, SequentialEntropy, SimulatedClock};
use bidloop_templates::JinjaProposalWriter;
use bytes::Bytes;
use futures::executor::block_on;
use futures::stream;
use serde_json::Value;

use crate::case::Case;
use crate::cost::bounded;

/// Every file exists and is a text.
#[derive(Debug)]
struct Texts;

#[async_trait]
impl AttachmentSource for Texts {
    async fn open(&self, _path: &str) -> Result<AttachmentPieces, AttachmentSourceError> {
        Ok(Box::pin(stream::iter([Ok(Bytes::from_static(b"text"))])))
    }
}

/// Stands for the slow hash of the program.
#[derive(Debug)]
struct PlainHasher;

#[async_trait]
impl PasswordHasher for PlainHasher {
    async fn hash(&self, password: &str) -> Result<String, HasherBusy> {
        Ok(password.to_owned())
    }

    async fn verify(&self, password: &str, hash: Option<&str>) -> Result<bool, HasherBusy> {
        Ok(hash == Some(password))
    }
}

/// Applies the input to an empty installation. A faulty file reports faults and changes nothing; one that was applied
/// changes nothing when it is applied again.
pub fn provisioning(data: &[u8]) {
    let Some((_, text)) = Case::text(data) else {
        return;
    };
    let Ok(file) = serde_json::from_str::<Value>(&text) else {
        return;
    };
    let apply = bounded(text.len(), || {
        let apply = installation();
        (block_on(apply.execute(&file, &Texts)), apply)
    });
    match apply {
        (Ok(_), apply) => {
            let again = block_on(apply.execute(&file, &Texts)).expect("the file was applied before");
            assert!(
                again.created.is_empty() && again.changed.is_empty() && again.secrets.is_empty(),
                "{again:?}"
            );
        }
        (Err(ApplyProvisioningError::Faulty(faults)), _) => assert!(!faults.is_empty()),
        (Err(error), _) => panic!("{error}"),
    }
}

fn installation() -> ApplyProvisioning {
    ApplyProvisioning {
        store: Arc::new(MemoryStore::new()),
        blobs: Arc::new(MemoryBlobStore::new()),
        templates: Arc::new(JinjaProposalWriter::new()),
        passwords: Arc::new(PlainHasher),
        clock: Arc::new(SimulatedClock::at(Timestamp::from_seconds(1_790_000_000))),
        entropy: Arc::new(SequentialEntropy::new()),
        signal: Arc::new(RecordingWorkSignal::new()),
        pause: Arc::new(SimulatedClock::at(Timestamp::from_seconds(1_790_000_000))),
    }
}
