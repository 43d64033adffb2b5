//! Single values of a provisioning file: parsing, with a message for each fault. No message repeats a secret.

use bidloop_matching::json::{storable_text, whole_value, wrong_type};
use serde_json::Value;
use strum::VariantArray;
use url::Url;

use crate::model::{
    ApiKey, EmailAddress, EventKind, InvalidId, MarketplaceToken, Password, Timestamp, WebhookSecret,
    sanitize_for_log,
};

/// The last second of the year 9999. A later time was probably given in milliseconds.
const LAST_SECOND: i64 = 253_402_300_799;

/// How many characters of a value a message shows.
const SHOWN_CHARS: usize = 60;

/// A text that is not blank.
pub(super) fn words(value: &Value) -> Result<String, String> {
    let text = storable_text(value)?;
    if text.trim().is_empty() {
        return Err("must not be blank".to_owned());
    }
    Ok(text)
}

pub(super) fn id<T: TryFrom<String, Error = InvalidId>>(value: &Value) -> Result<T, String> {
    T::try_from(storable_text(value)?).map_err(|invalid| format!("must be an id: {}", invalid.rule()))
}

/// The words of an enum, each with its variant.
pub(super) fn words_of<T: VariantArray + Copy + Into<&'static str>>() -> Vec<(&'static str, T)> {
    T::VARIANTS
        .iter()
        .map(|variant| ((*variant).into(), *variant))
        .collect()
}

/// Parses one of a closed set of words to its meaning.
pub(super) fn word<T: Copy>(allowed: &[(&str, T)]) -> impl Fn(&Value) -> Result<T, String> {
    move |value| {
        let given = storable_text(value)?;
        let found = allowed.iter().find(|(word, _)| *word == given);
        found.map(|(_, meaning)| *meaning).ok_or_else(|| {
            let words: Vec<String> = allowed.iter().map(|(word, _)| format!("\"{word}\"")).collect();
            let one_of = if words.len() == 1 { "" } else { "one of " };
            format!("must be {one_of}{}, not {}", words.join(", "), shown(&given))
        })
    }
}

/// `"state": "absent"`, the only state that an entity other than a campaign can be given.
pub(super) fn absence(value: &Value) -> Result<(), String> {
    word(&[("absent", ())])(value)
}

pub(super) fn unix_seconds(value: &Value) -> Result<Timestamp, String> {
    whole_number(value)?
        .filter(|seconds| (0..=LAST_SECOND).contains(seconds))
        .map(Timestamp::from_seconds)
        .ok_or_else(|| {
            format!("must be a time in UNIX seconds, a whole number from 0 to {LAST_SECOND}, not {value}")
        })
}

pub(super) fn count(value: &Value) -> Result<u32, String> {
    whole_number(value)?
        .and_then(|count| u32::try_from(count).ok())
        .ok_or_else(|| format!("must be a whole number from 0 to {}, not {value}", u32::MAX))
}

/// `None` for a number with a fraction or one that is too large. `12.0` is a whole number.
fn whole_number(value: &Value) -> Result<Option<i64>, String> {
    let Value::Number(number) = value else {
        return Err(wrong_type("a number", value));
    };
    let from_float = || number.as_f64().and_then(whole_value);
    Ok(number.as_i64().or_else(from_float))
}

pub(super) fn email(value: &Value) -> Result<String, String> {
    let email = storable_text(value)?;
    match EmailAddress::parse(&email) {
        Ok(_) => Ok(email),
        Err(fault) => Err(format!("{fault}, not {}", shown(&email))),
    }
}

pub(super) fn password(value: &Value) -> Result<String, String> {
    let password = storable_text(value)?;
    match Password::parse(&password) {
        Ok(_) => Ok(password),
        Err(fault) => Err(format!("{fault}; leave it out for a user who cannot sign in")),
    }
}

pub(super) fn api_key(value: &Value) -> Result<ApiKey, String> {
    ApiKey::parse(&storable_text(value)?).map_err(|_| {
        "must be `lk_` followed by 64 hexadecimal characters; leave it out to have one generated".to_owned()
    })
}

pub(super) fn webhook_secret(value: &Value) -> Result<WebhookSecret, String> {
    WebhookSecret::parse(&storable_text(value)?)
        .map_err(|fault| format!("{fault}; leave it out to have one generated"))
}

pub(super) fn token(value: &Value) -> Result<MarketplaceToken, String> {
    MarketplaceToken::parse(&words(value)?).map_err(|error| error.to_string())
}

/// A webhook's URL. Whether its address may be connected to is checked at delivery (decision C6).
pub(super) fn webhook_url(value: &Value) -> Result<String, String> {
    let text = storable_text(value)?;
    let url = Url::parse(&text).map_err(|fault| format!("is not a URL: {fault}"))?;
    if !matches!(url.scheme(), "https" | "http") {
        return Err(format!(
            "must begin with https://, not {}",
            shown(&format!("{}:", url.scheme()))
        ));
    }
    Ok(text)
}

pub(super) fn event(value: &Value) -> Result<EventKind, String> {
    word(&words_of())(value)
}

/// A value as a message shows it.
pub(super) fn shown(text: &str) -> String {
    format!("\"{}\"", sanitize_for_log(text, SHOWN_CHARS))
}
