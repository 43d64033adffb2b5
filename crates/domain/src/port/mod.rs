//! What the domain needs from the outside, one trait a need.
//!
//! A port method is one atomic step: no transaction, connection or lock crosses it. A command re-checks the
//! preconditions it was decided on, so a use case may read, decide and command without holding anything.

mod blob_store;
mod clock;
mod webhook_sender;

pub use blob_store::{BlobError, BlobPath, BlobStore, StagedBlob};
pub use clock::{Clock, Ids};
pub use webhook_sender::{
    OutgoingWebhook, WebhookAttempt, WebhookFailure, WebhookFailureKind, WebhookSender,
};
