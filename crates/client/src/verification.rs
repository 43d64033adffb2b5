//! The check of webhook signatures: Standard Webhooks 1.0.

use std::convert::Infallible;
use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::HeaderMap;
use sha2::Sha256;

use crate::event::Delivery;

/// How far a webhook's timestamp may be from the receiver's clock, in either direction, unless
/// [`WebhookVerifier::tolerance`] says otherwise.
pub const DEFAULT_TOLERANCE: Duration = Duration::from_secs(5 * 60);

/// Some programs that make secrets leave the padding out.
const SECRET_ENCODING: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Checks that webhooks come from the service and are recent.
///
/// It holds one secret for each endpoint that posts to this receiver, or two while a secret is rotated; one that fits is
/// enough. The comparison takes constant time. To recognize a webhook that somebody sends again within the tolerance,
/// remember [`Delivery::id`].
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use bidloop_client::{Event, SignatureHeaders, SignatureRefused, VerifyError, WebhookVerifier};
///
/// let verifier = WebhookVerifier::new(["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"])?;
///
/// // In a receiver these come from the request. The body must be the bytes as they arrived.
/// let headers = SignatureHeaders {
///     id: "msg_1",
///     timestamp: "1795174585",
///     signature: "v1,dKHZveOI0XWjzHfL36+9QXft/78CxugjB0DfDSyvCkQ=",
/// };
/// let body = br#"{"id":"msg_1","event":"greeting","version":"2026-09-10","createdAt":1795174585,"data":"hello"}"#;
/// let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_174_600);
///
/// let delivery = verifier.verify_at(now, headers, body)?;
/// assert_eq!(delivery.event, Event::Unknown { event: "greeting".to_owned(), data: "hello".into() });
///
/// let refused = verifier.verify_at(now, headers, br#"{"id":"msg_1"}"#);
/// assert!(matches!(refused, Err(VerifyError::Refused(SignatureRefused::Mismatch))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct WebhookVerifier {
    /// Without data, ready to be continued: the keys are in here.
    keyed: Vec<Hmac<Sha256>>,
    tolerance: Duration,
}

/// A text that is not a webhook secret. Never repeats the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidWebhookSecret {
    /// The text does not begin with `whsec_`.
    #[error("a webhook secret begins with `whsec_`")]
    Prefix,
    /// The text after `whsec_` is not base64.
    #[error("a webhook secret is `whsec_` followed by base64")]
    Encoding,
    /// The secret is too short or too long.
    #[error("a webhook secret holds 24 to 64 bytes, this one holds {0}")]
    Length(usize),
    /// There is no secret.
    #[error("there is no webhook secret")]
    Missing,
}

/// The three headers of a received webhook, as they arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignatureHeaders<'a> {
    /// The value of `webhook-id`.
    pub id: &'a str,
    /// The value of `webhook-timestamp`.
    pub timestamp: &'a str,
    /// The value of `webhook-signature`.
    pub signature: &'a str,
}

/// Why a received webhook must not be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignatureRefused {
    /// A header is absent or not text.
    #[error("the header `{0}` is missing")]
    Missing(&'static str),
    /// `webhook-timestamp` is not a whole number of seconds.
    #[error("`webhook-timestamp` is not a number of UNIX seconds")]
    Timestamp,
    /// The webhook was signed too long ago; somebody may repeat it.
    #[error("the webhook was signed longer ago than is tolerated")]
    TooOld,
    /// The webhook was signed in the receiver's future: one of the two clocks is wrong.
    #[error("the webhook was signed later than is tolerated")]
    TooNew,
    /// No signature was made with one of the secrets over exactly this id, timestamp and body.
    #[error("no signature in `webhook-signature` fits a secret, the id, the timestamp and the body")]
    Mismatch,
}

/// Why a delivery cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// It must not be trusted: answer 401.
    #[error(transparent)]
    Refused(#[from] SignatureRefused),
    /// It is genuine, and no envelope that this version of the client can read.
    #[error("the delivery is genuine, but cannot be read: {0}")]
    Malformed(#[from] serde_json::Error),
}

impl From<Infallible> for SignatureRefused {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

impl<'a> SignatureHeaders<'a> {
    /// Takes the headers from any kind of map: `header` returns the value of a name in lower case.
    ///
    /// ```
    /// use bidloop_client::{SignatureHeaders, SignatureRefused};
    ///
    /// let missing = SignatureHeaders::find(|_name| None);
    /// assert_eq!(missing, Err(SignatureRefused::Missing("webhook-id")));
    /// ```
    pub fn find(header: impl Fn(&str) -> Option<&'a str>) -> Result<Self, SignatureRefused> {
        let find = |name| header(name).ok_or(SignatureRefused::Missing(name));
        Ok(Self {
            id: find("webhook-id")?,
            timestamp: find("webhook-timestamp")?,
            signature: find("webhook-signature")?,
        })
    }
}

impl<'a> TryFrom<&'a HeaderMap> for SignatureHeaders<'a> {
    type Error = SignatureRefused;

    fn try_from(headers: &'a HeaderMap) -> Result<Self, SignatureRefused> {
        Self::find(|name| headers.get(name)?.to_str().ok())
    }
}

impl WebhookVerifier {
    /// A verifier with these secrets, `whsec_…`, of which a webhook must be signed with one.
    pub fn new(secrets: impl IntoIterator<Item = impl AsRef<str>>) -> Result<Self, InvalidWebhookSecret> {
        let keyed: Vec<Hmac<Sha256>> = secrets
            .into_iter()
            .map(|secret| keyed(secret.as_ref()))
            .collect::<Result<_, _>>()?;
        if keyed.is_empty() {
            return Err(InvalidWebhookSecret::Missing);
        }
        Ok(Self {
            keyed,
            tolerance: DEFAULT_TOLERANCE,
        })
    }

    /// Sets how far a webhook's timestamp may be from the receiver's clock.
    #[must_use]
    pub fn tolerance(self, tolerance: Duration) -> Self {
        Self { tolerance, ..self }
    }

    /// Checks a delivery by the system's clock and reads it. `headers` are a `&HeaderMap` of the `http` crate, or
    /// [`SignatureHeaders::find`] takes them from another map.
    pub fn verify<'a, H>(&self, headers: H, body: &[u8]) -> Result<Delivery, VerifyError>
    where
        H: TryInto<SignatureHeaders<'a>>,
        SignatureRefused: From<H::Error>,
    {
        self.verify_at(system_time(), headers, body)
    }

    /// Checks a delivery that arrived at `now`, and reads it.
    pub fn verify_at<'a, H>(&self, now: SystemTime, headers: H, body: &[u8]) -> Result<Delivery, VerifyError>
    where
        H: TryInto<SignatureHeaders<'a>>,
        SignatureRefused: From<H::Error>,
    {
        let headers = headers.try_into().map_err(SignatureRefused::from)?;
        self.check(now, headers, body)?;
        Ok(serde_json::from_slice(body)?)
    }

    /// Checks that what arrived at `now` is genuine, without reading it.
    pub fn check(
        &self,
        now: SystemTime,
        headers: SignatureHeaders<'_>,
        body: &[u8],
    ) -> Result<(), SignatureRefused> {
        let signed: i64 = headers
            .timestamp
            .parse()
            .map_err(|_| SignatureRefused::Timestamp)?;
        let tolerated = i64::try_from(self.tolerance.as_secs()).unwrap_or(i64::MAX);
        let age = unix_seconds(now).saturating_sub(signed);
        if age > tolerated {
            return Err(SignatureRefused::TooOld);
        }
        if age < -tolerated {
            return Err(SignatureRefused::TooNew);
        }
        // The timestamp's text is signed, not its value: `+5` and `5` differ.
        let signed = [headers.id, ".", headers.timestamp, "."].map(str::as_bytes);
        for keyed in &self.keyed {
            let mut hash = keyed.clone();
            for part in signed {
                hash.update(part);
            }
            hash.update(body);
            if headers
                .signature
                .split(' ')
                .any(|signature| fits(&hash, signature))
            {
                return Ok(());
            }
        }
        Err(SignatureRefused::Mismatch)
    }
}

/// Whether a signature is of version 1 and of this hash, compared in constant time.
fn fits(hash: &Hmac<Sha256>, signature: &str) -> bool {
    signature
        .strip_prefix("v1,")
        .and_then(|encoded| STANDARD.decode(encoded).ok())
        .is_some_and(|claimed| hash.clone().verify_slice(&claimed).is_ok())
}

fn keyed(secret: &str) -> Result<Hmac<Sha256>, InvalidWebhookSecret> {
    let encoded = secret
        .strip_prefix("whsec_")
        .ok_or(InvalidWebhookSecret::Prefix)?;
    let key = SECRET_ENCODING
        .decode(encoded)
        .map_err(|_| InvalidWebhookSecret::Encoding)?;
    if !(24..=64).contains(&key.len()) {
        return Err(InvalidWebhookSecret::Length(key.len()));
    }
    Hmac::new_from_slice(&key).map_err(|_| InvalidWebhookSecret::Length(key.len()))
}

fn unix_seconds(now: SystemTime) -> i64 {
    let seconds = |since: Duration| i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
    match now.duration_since(UNIX_EPOCH) {
        Ok(since) => seconds(since),
        Err(before) => -seconds(before.duration()),
    }
}

#[expect(clippy::disallowed_methods, reason = "the default clock of a receiver")]
fn system_time() -> SystemTime {
    SystemTime::now()
}

impl fmt::Debug for WebhookVerifier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("WebhookVerifier")
            .field("secrets", &self.keyed.len())
            .field("tolerance", &self.tolerance)
            .finish()
    }
}
