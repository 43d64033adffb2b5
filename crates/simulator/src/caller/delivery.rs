//! A received delivery: its envelope and the check of its signature.

use bytes::Bytes;
use http::HeaderMap;
use serde_json::Value;

use bidloop_domain::model::webhook_signature::{
    self, DEFAULT_TOLERANCE, ID_HEADER, SIGNATURE_HEADER, SignatureHeaders, SignatureRefused,
    TIMESTAMP_HEADER,
};
use bidloop_domain::model::{Timestamp, WebhookSecret};

/// The result of checking a delivery's signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signature {
    /// The receiver has no secret.
    NotChecked,
    /// One of the receiver's secrets signed it, and the time is recent.
    Valid,
    /// Signature headers are missing.
    Missing,
    /// None of the receiver's secrets signed it, or the time is off.
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
        secrets: &[WebhookSecret],
        received_at: i64,
    ) -> Self {
        let signature = judge(&headers, &body, secrets, Timestamp::from_millis(received_at));
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

fn judge(headers: &HeaderMap, body: &[u8], secrets: &[WebhookSecret], now: Timestamp) -> Signature {
    if secrets.is_empty() {
        return Signature::NotChecked;
    }
    let header = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let (Some(id), Some(timestamp), Some(signature)) = (
        header(ID_HEADER),
        header(TIMESTAMP_HEADER),
        header(SIGNATURE_HEADER),
    ) else {
        return Signature::Missing;
    };
    let signed = SignatureHeaders {
        id,
        timestamp,
        signature,
    };
    let mut refused = SignatureRefused::Mismatch;
    for secret in secrets {
        match webhook_signature::verify(secret, signed, body, now, DEFAULT_TOLERANCE) {
            Ok(()) => return Signature::Valid,
            Err(fault) => refused = fault,
        }
    }
    Signature::Refused(refused)
}
