//! Webhook signatures as Standard Webhooks 1.0 defines them (decision C3): signing, and checking a signature.
//!
//! Owns the form of a signing secret and the computation of a signature. Does not own which secrets an endpoint has
//! at a moment, nor the sending. The `standardwebhooks` crate does the same, but reads the clock itself, signs with
//! one secret only, and accepts secrets of any length.

use std::time::Duration;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use super::{Secret, Timestamp};

/// The header with the delivery's id.
pub const ID_HEADER: &str = "webhook-id";
/// The header with the moment of sending, in UNIX seconds.
pub const TIMESTAMP_HEADER: &str = "webhook-timestamp";
/// The header with the signatures.
pub const SIGNATURE_HEADER: &str = "webhook-signature";

/// How far a webhook's timestamp may be from the receiver's clock, in either direction, by default: the value of the
/// reference implementations of Standard Webhooks.
pub const DEFAULT_TOLERANCE: Duration = Duration::from_secs(5 * 60);

const SECRET_PREFIX: &str = "whsec_";
const SIGNATURE_PREFIX: &str = "v1,";

/// Some programs that make secrets leave the padding out.
const SECRET_ENCODING: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The secret that signs the webhooks of one endpoint (decision C3): 24 to 64 bytes, written as `whsec_`
/// and their base64.
///
/// ```
/// use bidloop_domain::model::WebhookSecret;
///
/// let secret = WebhookSecret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")?;
/// assert_eq!(secret.expose(), "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
/// assert_eq!(format!("{secret:?}"), "WebhookSecret(Secret(…))");
///
/// assert!(WebhookSecret::parse("hunter2").is_err());
/// # Ok::<(), bidloop_domain::model::WebhookSecretError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookSecret(Secret<Vec<u8>>);

/// Why a text is not a webhook secret. Never repeats the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WebhookSecretError {
    /// The text does not begin with `whsec_`.
    #[error("must begin with `whsec_`")]
    Prefix,
    /// The text after `whsec_` is not base64.
    #[error("must be `whsec_` followed by base64 (letters, digits, `+`, `/`, `=` at the end)")]
    Encoding,
    /// The secret is too short or too long.
    #[error("must hold 24 to 64 bytes, this one holds {0}")]
    Length(usize),
}

impl WebhookSecret {
    /// Reads `whsec_` and base64, with or without padding.
    ///
    /// # Errors
    /// The first rule that `text` breaks.
    pub fn parse(text: &str) -> Result<Self, WebhookSecretError> {
        let encoded = text
            .strip_prefix(SECRET_PREFIX)
            .ok_or(WebhookSecretError::Prefix)?;
        let bytes = SECRET_ENCODING
            .decode(encoded)
            .map_err(|_| WebhookSecretError::Encoding)?;
        if !(24..=64).contains(&bytes.len()) {
            return Err(WebhookSecretError::Length(bytes.len()));
        }
        Ok(Self(Secret::new(bytes)))
    }

    /// A new secret from 32 bytes that the caller drew from a cryptographic source.
    pub fn generate(random: [u8; 32]) -> Self {
        Self(Secret::new(random.to_vec()))
    }

    /// The secret in the clear, `whsec_…`: for storing it and for showing it once to the endpoint's owner.
    pub fn expose(&self) -> String {
        format!("{SECRET_PREFIX}{}", STANDARD.encode(self.0.expose()))
    }

    /// The keyed hash of `<id>.<timestamp>.<body>`, ready to be read or compared.
    fn keyed_hash(&self, id: &str, timestamp: &str, body: &[u8]) -> Hmac<Sha256> {
        #[expect(clippy::expect_used, reason = "HMAC is defined for keys of any length")]
        let mut mac =
            Hmac::<Sha256>::new_from_slice(self.0.expose()).expect("HMAC takes a key of any length");
        for part in [id.as_bytes(), b".", timestamp.as_bytes(), b".", body] {
            mac.update(part);
        }
        mac
    }
}

/// The value of `webhook-signature`: `v1,` and the base64 of the HMAC-SHA256, once for each of `secrets`, separated
/// by spaces (decision C3).
///
/// During a rotation two secrets sign, so that receivers with either one accept. `id` is the delivery's id,
/// `timestamp_seconds` the value of `webhook-timestamp`, `body` the bytes exactly as sent.
///
/// ```
/// use bidloop_domain::model::{WebhookSecret, webhook_signature};
///
/// let secret = WebhookSecret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")?;
/// let signature = webhook_signature::sign(
///     &[secret],
///     "msg_p5jXN8AQM9LWM0D4loKWxJek",
///     1_614_265_330,
///     br#"{"test": 2432232314}"#,
/// );
/// assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
/// # Ok::<(), bidloop_domain::model::WebhookSecretError>(())
/// ```
pub fn sign(secrets: &[WebhookSecret], id: &str, timestamp_seconds: i64, body: &[u8]) -> String {
    let timestamp = timestamp_seconds.to_string();
    let signature = |secret: &WebhookSecret| {
        let hash = secret.keyed_hash(id, &timestamp, body).finalize().into_bytes();
        format!("{SIGNATURE_PREFIX}{}", STANDARD.encode(hash))
    };
    secrets.iter().map(signature).collect::<Vec<_>>().join(" ")
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
pub enum SignatureRefused {
    /// `webhook-timestamp` is not a whole number of seconds.
    #[error("`webhook-timestamp` is not a number of UNIX seconds")]
    Timestamp,
    /// The webhook was signed too long ago; it may be a replay.
    #[error("the webhook was signed longer ago than is tolerated")]
    TooOld,
    /// The webhook was signed in the receiver's future: one of the two clocks is wrong.
    #[error("the webhook was signed later than is tolerated")]
    TooNew,
    /// No signature was made with the secret over exactly this id, timestamp and body.
    #[error("no signature in `webhook-signature` fits the secret, the id, the timestamp and the body")]
    Mismatch,
}

/// Checks that a received webhook was signed with `secret` and is no further than `tolerance` from `now`. A receiver
/// of Bidloop's webhooks calls this before it trusts one.
///
/// One fitting signature among several suffices; signatures of other versions are ignored. The comparison takes
/// constant time. A receiver should also remember the webhook's id for the length of the tolerance, to recognize a
/// replay within it.
///
/// ```
/// use bidloop_domain::model::webhook_signature::{self, DEFAULT_TOLERANCE, SignatureHeaders, SignatureRefused};
/// use bidloop_domain::model::{Timestamp, WebhookSecret};
///
/// // In a receiver these come from the request; the body must be the bytes as they arrived.
/// let body = br#"{"test": 2432232314}"#;
/// let headers = SignatureHeaders {
///     id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
///     timestamp: "1614265330",
///     signature: "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
/// };
/// let secret = WebhookSecret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")?;
/// let now = Timestamp::from_seconds(1_614_265_337);
///
/// webhook_signature::verify(&secret, headers, body, now, DEFAULT_TOLERANCE)?;
///
/// let forged = br#"{"test": 1}"#;
/// let refused = webhook_signature::verify(&secret, headers, forged, now, DEFAULT_TOLERANCE);
/// assert_eq!(refused, Err(SignatureRefused::Mismatch));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The first check that fails.
pub fn verify(
    secret: &WebhookSecret,
    headers: SignatureHeaders<'_>,
    body: &[u8],
    now: Timestamp,
    tolerance: Duration,
) -> Result<(), SignatureRefused> {
    let signed_seconds: i64 = headers
        .timestamp
        .parse()
        .map_err(|_| SignatureRefused::Timestamp)?;
    let tolerated = i64::try_from(tolerance.as_secs()).unwrap_or(i64::MAX);
    let age = now.as_seconds().saturating_sub(signed_seconds);
    if age > tolerated {
        return Err(SignatureRefused::TooOld);
    }
    if age < -tolerated {
        return Err(SignatureRefused::TooNew);
    }
    // The timestamp's text is signed, not its value: `+5` and `5` differ.
    let hash = secret.keyed_hash(headers.id, headers.timestamp, body);
    let fits = |signature: &str| {
        let encoded = signature.strip_prefix(SIGNATURE_PREFIX)?;
        let claimed = STANDARD.decode(encoded).ok()?;
        hash.clone().verify_slice(&claimed).ok()
    };
    if headers
        .signature
        .split(' ')
        .any(|signature| fits(signature).is_some())
    {
        Ok(())
    } else {
        Err(SignatureRefused::Mismatch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example that the Standard Webhooks libraries test themselves with.
    const PUBLISHED_SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const PUBLISHED_BODY: &[u8] = br#"{"test": 2432232314}"#;
    const PUBLISHED: SignatureHeaders<'static> = SignatureHeaders {
        id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
        timestamp: "1614265330",
        signature: "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    };
    const SIGNED_AT: i64 = 1_614_265_330;

    fn published_secret() -> WebhookSecret {
        WebhookSecret::parse(PUBLISHED_SECRET).unwrap()
    }

    fn verify_published(headers: SignatureHeaders<'_>, now_seconds: i64) -> Result<(), SignatureRefused> {
        let now = Timestamp::from_seconds(now_seconds);
        verify(
            &published_secret(),
            headers,
            PUBLISHED_BODY,
            now,
            DEFAULT_TOLERANCE,
        )
    }

    #[test]
    fn signs_the_published_example_of_standard_webhooks() {
        assert_eq!(
            sign(&[published_secret()], PUBLISHED.id, SIGNED_AT, PUBLISHED_BODY),
            PUBLISHED.signature
        );
    }

    #[test]
    fn verifies_the_published_example_of_standard_webhooks() {
        assert_eq!(verify_published(PUBLISHED, SIGNED_AT), Ok(()));
    }

    #[test]
    fn during_a_rotation_receivers_with_either_secret_accept() {
        let old = published_secret();
        let new = WebhookSecret::generate([7; 32]);
        let signature = sign(&[new.clone(), old.clone()], "id_1", 50, b"body");
        let headers = SignatureHeaders {
            id: "id_1",
            timestamp: "50",
            signature: &signature,
        };

        assert_eq!(signature.split(' ').count(), 2);
        let now = Timestamp::from_seconds(50);
        for secret in [&old, &new] {
            assert_eq!(verify(secret, headers, b"body", now, DEFAULT_TOLERANCE), Ok(()));
        }
        let stranger = WebhookSecret::generate([8; 32]);
        assert_eq!(
            verify(&stranger, headers, b"body", now, DEFAULT_TOLERANCE),
            Err(SignatureRefused::Mismatch)
        );
    }

    #[test]
    fn a_changed_id_timestamp_or_body_is_a_mismatch() {
        let other_id = SignatureHeaders {
            id: "msg_other",
            ..PUBLISHED
        };
        assert_eq!(
            verify_published(other_id, SIGNED_AT),
            Err(SignatureRefused::Mismatch)
        );

        let other_time = SignatureHeaders {
            timestamp: "1614265331",
            ..PUBLISHED
        };
        assert_eq!(
            verify_published(other_time, SIGNED_AT),
            Err(SignatureRefused::Mismatch)
        );

        let same_time_spelt_otherwise = SignatureHeaders {
            timestamp: "+1614265330",
            ..PUBLISHED
        };
        assert_eq!(
            verify_published(same_time_spelt_otherwise, SIGNED_AT),
            Err(SignatureRefused::Mismatch)
        );

        let now = Timestamp::from_seconds(SIGNED_AT);
        assert_eq!(
            verify(&published_secret(), PUBLISHED, b"{}", now, DEFAULT_TOLERANCE),
            Err(SignatureRefused::Mismatch)
        );
    }

    #[test]
    fn the_tolerance_holds_in_both_directions_and_includes_its_ends() {
        let tolerated = 300;
        assert_eq!(verify_published(PUBLISHED, SIGNED_AT + tolerated), Ok(()));
        assert_eq!(verify_published(PUBLISHED, SIGNED_AT - tolerated), Ok(()));
        assert_eq!(
            verify_published(PUBLISHED, SIGNED_AT + tolerated + 1),
            Err(SignatureRefused::TooOld)
        );
        assert_eq!(
            verify_published(PUBLISHED, SIGNED_AT - tolerated - 1),
            Err(SignatureRefused::TooNew)
        );
    }

    #[test]
    fn a_timestamp_that_is_not_a_number_is_refused() {
        for timestamp in ["", "soon", "1614265330.5", "99999999999999999999"] {
            let headers = SignatureHeaders {
                timestamp,
                ..PUBLISHED
            };
            assert_eq!(
                verify_published(headers, SIGNED_AT),
                Err(SignatureRefused::Timestamp),
                "{timestamp:?}"
            );
        }
    }

    #[test]
    fn signatures_of_other_versions_and_malformed_ones_are_ignored() {
        let among_others = format!("v1a,AAAA v1,%% v2,{0} {0}", PUBLISHED.signature);
        let headers = SignatureHeaders {
            signature: &among_others,
            ..PUBLISHED
        };
        assert_eq!(verify_published(headers, SIGNED_AT), Ok(()));

        let raw = PUBLISHED.signature.trim_start_matches("v1,");
        for useless in [
            "",
            "v1,",
            raw,
            &format!("v2,{raw}"),
            &format!("v1,{}", &raw[..20]),
        ] {
            let headers = SignatureHeaders {
                signature: useless,
                ..PUBLISHED
            };
            assert_eq!(
                verify_published(headers, SIGNED_AT),
                Err(SignatureRefused::Mismatch),
                "{useless:?}"
            );
        }
    }

    #[test]
    fn a_secret_holds_24_to_64_bytes() {
        for length in [24, 32, 64] {
            let text = format!("whsec_{}", STANDARD.encode(vec![1; length]));
            assert_eq!(WebhookSecret::parse(&text).unwrap().expose(), text);
        }
        for length in [0, 23, 65] {
            let text = format!("whsec_{}", STANDARD.encode(vec![1; length]));
            assert_eq!(
                WebhookSecret::parse(&text),
                Err(WebhookSecretError::Length(length))
            );
        }
    }

    #[test]
    fn a_secret_is_read_with_and_without_padding() {
        let padded = WebhookSecret::generate([3; 32]).expose();
        assert!(padded.ends_with('='));
        let bare = padded.trim_end_matches('=');
        assert_eq!(WebhookSecret::parse(bare), WebhookSecret::parse(&padded));
    }

    #[test]
    fn an_error_does_not_repeat_the_secret() {
        assert_eq!(WebhookSecret::parse("MfKQ9r8G"), Err(WebhookSecretError::Prefix));
        assert_eq!(
            WebhookSecret::parse("WHSEC_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"),
            Err(WebhookSecretError::Prefix)
        );
        let error = WebhookSecret::parse("whsec_hunter2!").unwrap_err();
        assert_eq!(error, WebhookSecretError::Encoding);
        assert!(!error.to_string().contains("hunter2"));
    }

    #[test]
    fn debug_output_shows_nothing_of_a_secret() {
        assert_eq!(format!("{:?}", published_secret()), "WebhookSecret(Secret(…))");
    }
}
