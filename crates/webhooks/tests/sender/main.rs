//! The sender against receivers on the loopback interface, with stand-ins for DNS where names matter.

#![expect(
    clippy::unwrap_used,
    reason = "what a test sets up either works or fails the test"
)]

mod answers;
mod contract;
mod fake_network;
mod receiver;
mod requests;
mod targets;
mod time_limit;
mod tls;

use std::sync::Arc;
use std::time::Duration;

use bidloop_domain::port::{OutgoingWebhook, WebhookAttempt, WebhookFailureKind, WebhookSender as _};
use bidloop_webhooks::{HyperWebhookSender, TargetPolicy};
use rustls::{ClientConfig, RootCertStore};

/// Long enough for anything on the loopback interface, short enough to end a test that hangs.
const SOON: Duration = Duration::from_secs(30);

/// TLS settings without trust roots.
fn no_roots() -> Arc<ClientConfig> {
    client_config(RootCertStore::empty())
}

fn client_config(roots: RootCertStore) -> Arc<ClientConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    Arc::new(config)
}

/// A sender that may send to the loopback interface.
fn insecure_sender() -> HyperWebhookSender {
    HyperWebhookSender::new(TargetPolicy::AllowInsecure, no_roots())
}

fn webhook_to(url: impl Into<String>) -> OutgoingWebhook {
    OutgoingWebhook {
        url: url.into(),
        headers: vec![("content-type", "application/json".to_owned())],
        body: r#"{"event":"job.new"}"#.into(),
    }
}

async fn send(sender: &HyperWebhookSender, webhook: OutgoingWebhook) -> WebhookAttempt {
    tokio::time::timeout(SOON, sender.send(webhook)).await.unwrap()
}

fn kind_of(attempt: &WebhookAttempt) -> Option<WebhookFailureKind> {
    attempt.failure.as_ref().map(|failure| failure.kind)
}
