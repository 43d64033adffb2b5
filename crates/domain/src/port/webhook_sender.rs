//! Sending one webhook, once.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

use crate::model::words;

/// One signed HTTP POST, ready to be sent.
#[derive(Debug, Clone)]
pub struct OutgoingWebhook {
    /// The endpoint's URL as configured.
    pub url: String,
    /// All headers, the content type and the signature included; names in lower case.
    pub headers: Vec<(&'static str, String)>,
    /// The JSON envelope.
    pub body: Bytes,
}

/// The result of the one attempt to send a webhook (decisions C4 to C6).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookAttempt {
    /// `None` when it was delivered: status 200 within 10 seconds.
    pub failure: Option<WebhookFailure>,
    /// The status line's code, if one arrived.
    pub response_status: Option<u16>,
    /// From the start of the connect to the status line, or to the failure.
    pub duration: Duration,
    /// The first 2 KiB of the answer's body, as text with invalid UTF-8 replaced; empty if none came.
    pub response_body: String,
}

/// Why an attempt failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookFailure {
    /// One of the fixed codes.
    pub kind: WebhookFailureKind,
    /// What happened, for the Activity record; never contains a secret.
    pub message: String,
}

words! {
    /// The kinds of failure of a webhook attempt. Their words are a delivery's `reason`.
    pub enum WebhookFailureKind {
        /// The URL cannot be used: not a URL, no host, a scheme other than https (or http where permitted).
        InvalidTarget,
        /// The address connected to, or to be connected to, is not public (decision C6).
        ForbiddenTarget,
        /// The name did not resolve, or no connection was made.
        ConnectFailed,
        /// The TLS handshake failed.
        TlsFailed,
        /// No status line within 10 seconds of the start of the connect.
        Timeout,
        /// The connection broke before a status line, or what came was not HTTP.
        ProtocolError,
        /// An answer with a status other than 200.
        UnexpectedStatus,
    }
}

/// Sends webhooks.
#[async_trait]
pub trait WebhookSender: Send + Sync + std::fmt::Debug {
    /// Makes exactly one attempt: one connection, one request, no redirect, no retry.
    async fn send(&self, webhook: OutgoingWebhook) -> WebhookAttempt;

    /// Checks `url` without any look-up: its scheme, host and literal address.
    fn check_target(&self, url: &str) -> Result<(), WebhookFailure>;
}
