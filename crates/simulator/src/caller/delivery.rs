//! A received delivery: its envelope and the check of its signature.

use std::time::{Duration, UNIX_EPOCH};

use bidloop_client::{SignatureHeaders, SignatureRefused, WebhookVerifier};
use bytes::Bytes;
use http::HeaderMap;
use serde_json::Value;

/// The result of checking a delivery's signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signature {
    /// The receiver has no secret.
    NotChecked,
    /// One of the receiver's secrets signed it, and the time is recent.
    Valid,
    /// It is not signed, none of the receiver's secrets signed it, or the time is off.
    Refused(SignatureRefused),
}

/// A received webhook.
#[derive(Debug, Clone)]
pub struct Delivery {
    pub(super) received_at: i64,
    pub(super) path: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    pub(super) json: Value,
    pub(super) signature: Signature,
}

impl Delivery {
    pub(super) fn read(
        path: String,
        headers: HeaderMap,
        body: Bytes,
        verifier: Option<&WebhookVerifier>,
        received_at: i64,
    ) -> Self {
        let signature = match verifier.map(|verifier| check(verifier, &headers, &body, received_at)) {
            None => Signature::NotChecked,
            Some(Ok(())) => Signature::Valid,
            Some(Err(refused)) => Signature::Refused(refused),
        };
        let json = serde_json::from_slice(&body).unwrap_or(Value::Null);
        Self {
            received_at,
            path,
            headers,
            body,
            json,
            signature,
        }
    }

    /// The time of receipt, in UNIX milliseconds.
    pub fn received_at(&self) -> i64 {
        self.received_at
    }

    /// The path it was posted to.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The first value of a header; `None` if it is absent or not text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The body, which the signature covers.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// The body as JSON; null if it is not JSON.
    pub fn json(&self) -> &Value {
        &self.json
    }

    /// The envelope's `id`, empty if there is none.
    pub fn id(&self) -> &str {
        self.json["id"].as_str().unwrap_or_default()
    }

    /// The envelope's `event`, empty if there is none.
    pub fn event(&self) -> &str {
        self.json["event"].as_str().unwrap_or_default()
    }

    /// The envelope's `data`, null if there is none.
    pub fn data(&self) -> &Value {
        &self.json["data"]
    }

    /// The result of checking the signature.
    pub fn signature(&self) -> Signature {
        self.signature
    }
}

fn check(
    verifier: &WebhookVerifier,
    headers: &HeaderMap,
    body: &[u8],
    received_at: i64,
) -> Result<(), SignatureRefused> {
    let now = UNIX_EPOCH + Duration::from_millis(received_at.unsigned_abs());
    verifier.check(now, SignatureHeaders::try_from(headers)?, body)
}
