//! What Bidloop talks about.

mod timestamp;
pub mod webhook_signature;

pub use timestamp::Timestamp;
pub use webhook_signature::{WebhookSecret, WebhookSecretError};
