//! What the verifier accepts, for all deliveries.

use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bidloop_client::{
    DEFAULT_TOLERANCE, InvalidWebhookSecret, SignatureHeaders, SignatureRefused, WebhookVerifier,
};
use hmac::{Hmac, KeyInit as _, Mac as _};
use proptest::prelude::*;
use sha2::Sha256;

const NOW: u64 = 1_795_174_585;

fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(NOW)
}

fn secret(key: &[u8]) -> String {
    format!("whsec_{}", STANDARD.encode(key))
}

fn sign(key: &[u8], id: &str, timestamp: &str, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    for part in [id.as_bytes(), b".", timestamp.as_bytes(), b".", body] {
        mac.update(part);
    }
    format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
}

fn check(
    verifier: &WebhookVerifier,
    (id, timestamp, signature): (&str, &str, &str),
    body: &[u8],
) -> Result<(), SignatureRefused> {
    let headers = SignatureHeaders {
        id,
        timestamp,
        signature,
    };
    verifier.check(now(), headers, body)
}

fn key() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 24..=64)
}

proptest! {
    #[test]
    fn a_signed_delivery_is_accepted_and_a_changed_byte_is_not(
        key in key(),
        id in "[a-z0-9_-]{1,40}",
        mut body in prop::collection::vec(any::<u8>(), 1..400),
        at: prop::sample::Index,
        flip in 1..=255_u8,
    ) {
        let verifier = WebhookVerifier::new([secret(&key)]).unwrap();
        let timestamp = NOW.to_string();
        let signature = sign(&key, &id, &timestamp, &body);
        prop_assert_eq!(check(&verifier, (&id, &timestamp, &signature), &body), Ok(()));

        let other_id = format!("{id}x");
        prop_assert_eq!(
            check(&verifier, (&other_id, &timestamp, &signature), &body),
            Err(SignatureRefused::Mismatch)
        );
        let at = at.index(body.len());
        body[at] ^= flip;
        prop_assert_eq!(check(&verifier, (&id, &timestamp, &signature), &body), Err(SignatureRefused::Mismatch));
    }

    #[test]
    fn a_changed_byte_of_the_signature_is_a_mismatch(key in key(), at in 3..47_usize, letter in "[A-Za-z0-9+/=]") {
        let verifier = WebhookVerifier::new([secret(&key)]).unwrap();
        let timestamp = NOW.to_string();
        let mut signature = sign(&key, "id", &timestamp, b"{}");
        prop_assume!(signature[at..=at] != letter);
        signature.replace_range(at..=at, &letter);
        prop_assert_eq!(check(&verifier, ("id", &timestamp, &signature), b"{}"), Err(SignatureRefused::Mismatch));
    }

    #[test]
    fn a_timestamp_is_accepted_within_the_tolerance_only(key in key(), age in -100_000..100_000_i64) {
        let verifier = WebhookVerifier::new([secret(&key)]).unwrap();
        let timestamp = (i64::try_from(NOW).unwrap() - age).to_string();
        let signature = sign(&key, "id", &timestamp, b"{}");
        let tolerated = i64::try_from(DEFAULT_TOLERANCE.as_secs()).unwrap();
        let expected = if age > tolerated {
            Err(SignatureRefused::TooOld)
        } else if age < -tolerated {
            Err(SignatureRefused::TooNew)
        } else {
            Ok(())
        };
        prop_assert_eq!(check(&verifier, ("id", &timestamp, &signature), b"{}"), expected);
    }

    #[test]
    fn another_secret_is_refused_and_in_a_rotation_one_of_two_is_enough(old in key(), new in key(), other in key()) {
        prop_assume!(old != new && other != old && other != new);
        let timestamp = NOW.to_string();
        let [by_old, by_new] = [&old, &new].map(|key| sign(key, "id", &timestamp, b"{}"));
        let by_both = format!("{by_new} {by_old}");
        let verifier = |keys: &[&Vec<u8>]| WebhookVerifier::new(keys.iter().map(|key| secret(key))).unwrap();

        prop_assert_eq!(check(&verifier(&[&other]), ("id", &timestamp, &by_both), b"{}"), Err(SignatureRefused::Mismatch));
        for key in [&old, &new] {
            prop_assert_eq!(check(&verifier(&[key]), ("id", &timestamp, &by_both), b"{}"), Ok(()));
        }
        for signature in [&by_old, &by_new] {
            prop_assert_eq!(check(&verifier(&[&old, &new]), ("id", &timestamp, signature), b"{}"), Ok(()));
        }
    }
}

const PUBLISHED_SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const PUBLISHED: (&str, &str, &str) = (
    "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "1614265330",
    "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
);

/// The published example of Standard Webhooks, with another signature header.
fn published(signature: &str) -> Result<(), SignatureRefused> {
    let headers = SignatureHeaders {
        id: PUBLISHED.0,
        timestamp: PUBLISHED.1,
        signature,
    };
    let signed_at = SystemTime::UNIX_EPOCH + Duration::from_secs(1_614_265_330);
    let verifier = WebhookVerifier::new([PUBLISHED_SECRET]).unwrap();
    verifier.check(signed_at, headers, br#"{"test": 2432232314}"#)
}

#[test]
fn the_published_example_is_accepted_beside_signatures_of_other_versions() {
    assert_eq!(published(PUBLISHED.2), Ok(()));
    assert_eq!(
        published(&format!("v1a,AAAA v1,%% v2,{0} {0}", PUBLISHED.2)),
        Ok(())
    );
    let raw = PUBLISHED.2.trim_start_matches("v1,");
    for useless in [
        "",
        "v1,",
        raw,
        &format!("v2,{raw}"),
        &format!("v1,{}", &raw[..20]),
    ] {
        assert_eq!(published(useless), Err(SignatureRefused::Mismatch), "{useless:?}");
    }
}

#[test]
fn a_timestamp_that_is_no_number_or_spelt_otherwise_is_refused() {
    let verifier = WebhookVerifier::new([secret(&[7; 24])]).unwrap();
    for timestamp in ["", "soon", "1795174585.5", "99999999999999999999"] {
        let refused = check(&verifier, ("id", timestamp, "v1,AAAA"), b"{}");
        assert_eq!(refused, Err(SignatureRefused::Timestamp), "{timestamp:?}");
    }
    let signature = sign(&[7; 24], "id", &NOW.to_string(), b"{}");
    let spelt_otherwise = format!("+{NOW}");
    assert_eq!(
        check(&verifier, ("id", &spelt_otherwise, &signature), b"{}"),
        Err(SignatureRefused::Mismatch)
    );
}

#[test]
fn a_missing_header_is_named() {
    let mut headers = http::HeaderMap::new();
    let read = |headers: &http::HeaderMap| SignatureHeaders::try_from(headers).map(|_| ());
    for name in ["webhook-id", "webhook-timestamp", "webhook-signature"] {
        assert_eq!(read(&headers), Err(SignatureRefused::Missing(name)));
        headers.insert(name, http::HeaderValue::from_static("1"));
    }
    assert_eq!(read(&headers), Ok(()));
}

#[test]
fn a_secret_is_whsec_and_24_to_64_bytes_in_base64_padded_or_not() {
    let new = |text: &str| WebhookVerifier::new([text]).map(|_| ());
    for length in [24, 32, 64] {
        let text = secret(&vec![1; length]);
        assert_eq!(new(&text), Ok(()));
        assert_eq!(new(text.trim_end_matches('=')), Ok(()));
    }
    for length in [0, 23, 65] {
        assert_eq!(
            new(&secret(&vec![1; length])),
            Err(InvalidWebhookSecret::Length(length))
        );
    }
    assert_eq!(new("MfKQ9r8G"), Err(InvalidWebhookSecret::Prefix));
    let error = new("whsec_hunter2!").unwrap_err();
    assert!(error == InvalidWebhookSecret::Encoding && !error.to_string().contains("hunter2"));
    let none: [&str; 0] = [];
    assert_eq!(
        WebhookVerifier::new(none).map(|_| ()),
        Err(InvalidWebhookSecret::Missing)
    );
}

#[test]
fn nothing_of_a_secret_is_shown() {
    let shown = format!("{:?}", WebhookVerifier::new([PUBLISHED_SECRET]).unwrap());
    assert_eq!(shown, "WebhookVerifier { secrets: 1, tolerance: 300s }");
}
