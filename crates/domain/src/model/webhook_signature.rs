//! Signing webhooks as Standard Webhooks 1.0 defines it (decision C3).
//!
//! Owns the form of a signing secret and the computation of a signature. Does not own which secrets an endpoint has
//! at a moment, nor the sending. The crate `bidloop-client` checks signatures. The `standardwebhooks` crate does both,
//! but reads the clock itself, signs with one secret only, and accepts secrets of any length.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use super::Secret;

const SECRET_PREFIX: &str = "whsec_";

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

    /// `v1,` and the keyed hash of `<id>.<timestamp>.<body>`.
    fn signature(&self, id: &str, timestamp: &str, body: &[u8]) -> String {
        #[expect(clippy::expect_used, reason = "HMAC is defined for keys of any length")]
        let mut mac =
            Hmac::<Sha256>::new_from_slice(self.0.expose()).expect("HMAC takes a key of any length");
        for part in [id.as_bytes(), b".", timestamp.as_bytes(), b".", body] {
            mac.update(part);
        }
        format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
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
    let signatures = secrets
        .iter()
        .map(|secret| secret.signature(id, &timestamp, body));
    signatures.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example that the Standard Webhooks libraries test themselves with.
    fn published_secret() -> WebhookSecret {
        WebhookSecret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap()
    }

    #[test]
    fn signs_the_published_example_of_standard_webhooks() {
        let (id, body) = ("msg_p5jXN8AQM9LWM0D4loKWxJek", br#"{"test": 2432232314}"#);
        assert_eq!(
            sign(&[published_secret()], id, 1_614_265_330, body),
            "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
        );
    }

    #[test]
    fn during_a_rotation_each_secret_signs() {
        let (old, new) = (published_secret(), WebhookSecret::generate([7; 32]));
        let by = |secrets: &[WebhookSecret]| sign(secrets, "id_1", 50, b"body");
        let by_both = by(&[new.clone(), old.clone()]);
        assert_eq!(by_both, format!("{} {}", by(&[new]), by(&[old])));
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
