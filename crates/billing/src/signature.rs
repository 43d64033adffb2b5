//! Signatures of Stripe's webhooks: `Stripe-Signature: t=<UNIX seconds>,v1=<hex>`, an HMAC-SHA256 over `<t>.<body>`.

use std::time::Duration;

use bidloop_domain::model::{Secret, Timestamp};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// How far a signature's time may be from the clock, in either direction.
pub const TOLERANCE: Duration = Duration::from_secs(5 * 60);

/// A text that cannot be a signing secret. Never repeats the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be the endpoint's signing secret, which begins with `whsec_`")]
pub struct InvalidSecret;

/// Why a request does not count as Stripe's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignatureFault {
    /// There is none, or it has no time or no signature of the scheme v1.
    #[error("the header Stripe-Signature is missing or not of the form `t=<seconds>,v1=<signature>`")]
    Malformed,
    /// No signature is the body's with this secret.
    #[error("no signature in Stripe-Signature is that of the body with the configured secret")]
    Wrong,
    /// It was made too long ago, or is of the future.
    #[error("the time in Stripe-Signature is more than five minutes away from the clock")]
    TooFarAway,
}

/// The secret with which Stripe signs what it sends to one endpoint.
///
/// ```
/// use bidloop_billing::StripeSecret;
///
/// let secret = StripeSecret::parse("whsec_0123456789abcdef0123456789abcdef")?;
/// assert_eq!(format!("{secret:?}"), "StripeSecret(Secret(…))");
/// # Ok::<(), bidloop_billing::InvalidSecret>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StripeSecret(Secret<String>);

impl StripeSecret {
    /// Checks the form: `whsec_` and at least 16 printable ASCII characters.
    pub fn parse(text: &str) -> Result<Self, InvalidSecret> {
        let random = text.strip_prefix("whsec_").ok_or(InvalidSecret)?;
        if random.len() < 16 || !random.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(InvalidSecret);
        }
        Ok(Self(Secret::new(text.to_owned())))
    }

    /// Checks that `header`, the value of `Stripe-Signature`, has a signature of `body` that was made at about `now`. While
    /// a secret is replaced, Stripe signs with both, so one of several signatures is enough.
    pub fn verify(&self, header: &str, body: &[u8], now: Timestamp) -> Result<(), SignatureFault> {
        let mut signed_at = None;
        let mut signatures: Vec<Vec<u8>> = Vec::new();
        for item in header.split(',') {
            match item.trim().split_once('=') {
                Some(("t", seconds)) => signed_at = Some(seconds),
                Some(("v1", signature)) => signatures.extend(hex::decode(signature)),
                _ => {}
            }
        }
        let seconds = signed_at.ok_or(SignatureFault::Malformed)?;
        let at: i64 = seconds.parse().map_err(|_| SignatureFault::Malformed)?;
        if signatures.is_empty() {
            return Err(SignatureFault::Malformed);
        }
        let mac = Hmac::<Sha256>::new_from_slice(self.0.expose().as_bytes());
        let mac = mac.map_err(|_| SignatureFault::Wrong)?;
        let mac = mac.chain_update(seconds).chain_update(b".").chain_update(body);
        // Compared in constant time.
        if !signatures
            .iter()
            .any(|signature| mac.clone().verify_slice(signature).is_ok())
        {
            return Err(SignatureFault::Wrong);
        }
        let at = Timestamp::from_seconds(at);
        if now.since(at).max(at.since(now)) > TOLERANCE {
            return Err(SignatureFault::TooFarAway);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "whsec_0123456789abcdef0123456789abcdef";
    const AT: i64 = 1_790_000_000;
    const BODY: &[u8] = br#"{"id":"evt_1"}"#;
    /// Made with `printf '%s' '1790000000.{"id":"evt_1"}' | openssl dgst -sha256 -hmac whsec_0123456789abcdef0123456789abcdef`.
    const SIGNATURE: &str = "3f88d562552ba41cc994025d0d78098ead89de2c88e24b58dbabc7cca7bd0469";

    fn verify(header: &str, body: &[u8], second: i64) -> Result<(), SignatureFault> {
        let secret = StripeSecret::parse(SECRET).unwrap();
        secret.verify(header, body, Timestamp::from_seconds(second))
    }

    fn header() -> String {
        format!("t={AT},v1={SIGNATURE}")
    }

    #[test]
    fn a_signature_made_elsewhere_is_accepted() {
        assert_eq!(verify(&header(), BODY, AT), Ok(()));
    }

    #[test]
    fn one_of_several_signatures_is_enough_and_other_schemes_are_passed_over() {
        let other = "0".repeat(64);
        for several in [
            format!("t={AT},v1={other},v1={SIGNATURE}"),
            format!("t={AT}, v0={other}, v1={SIGNATURE}, v1=nothex"),
        ] {
            assert_eq!(verify(&several, BODY, AT), Ok(()), "{several}");
        }
        let old_scheme = format!("t={AT},v0={SIGNATURE}");
        assert_eq!(verify(&old_scheme, BODY, AT), Err(SignatureFault::Malformed));
    }

    #[test]
    fn any_other_body_time_or_secret_is_refused() {
        assert_eq!(
            verify(&header(), br#"{"id":"evt_2"}"#, AT),
            Err(SignatureFault::Wrong)
        );
        let moved = format!("t={},v1={SIGNATURE}", AT + 1);
        assert_eq!(verify(&moved, BODY, AT), Err(SignatureFault::Wrong));
        let shorter = format!("t={AT},v1={}", &SIGNATURE[2..]);
        assert_eq!(verify(&shorter, BODY, AT), Err(SignatureFault::Wrong));
        let other = StripeSecret::parse("whsec_another_secret_0123456789").unwrap();
        let at = Timestamp::from_seconds(AT);
        assert_eq!(other.verify(&header(), BODY, at), Err(SignatureFault::Wrong));
    }

    #[test]
    fn five_minutes_are_tolerated_in_either_direction() {
        for away in [-300, 300] {
            assert_eq!(verify(&header(), BODY, AT + away), Ok(()));
        }
        for away in [-301, 301] {
            assert_eq!(
                verify(&header(), BODY, AT + away),
                Err(SignatureFault::TooFarAway)
            );
        }
        assert_eq!(verify(&header(), b"{}", AT + 301), Err(SignatureFault::Wrong));
    }

    #[test]
    fn what_is_no_signature_is_refused() {
        for header in ["", "t=", "v1=00", "t=now,v1=00", "t=1", "t=1,v1=xyz", "whatever"] {
            assert_eq!(
                verify(header, BODY, AT),
                Err(SignatureFault::Malformed),
                "{header}"
            );
        }
    }

    #[test]
    fn a_secret_begins_as_stripes_do() {
        for text in [
            "",
            "whsec_",
            "whsec_short",
            "sk_live_0123456789abcdef",
            "whsec_0123456789 abcdef",
        ] {
            assert_eq!(StripeSecret::parse(text), Err(InvalidSecret), "{text}");
        }
    }
}
