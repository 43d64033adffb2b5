//! The settings as `bidloop config show` shows them, without secrets.

use std::collections::BTreeSet;

use serde::Serialize;
use toml::Value;
use url::Url;

use super::source::{KEYS, Place, Values};

/// Stands for a secret.
const HIDDEN: &str = "***";
/// Secrets that are URLs: only the password is hidden.
const URLS: [&str; 2] = ["database.url", "mail.smtp_url"];

/// A setting's value in force.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct ShownSetting {
    pub(crate) key: &'static str,
    /// `None`: not set, and without a default of its own.
    pub(crate) value: Option<Value>,
    /// `default`, `file` or `environment`.
    pub(crate) source: &'static str,
    /// The file or the variable.
    pub(crate) place: Option<String>,
}

/// All settings by key. `secrets` were read as such. `default` tells the defaults.
pub(super) fn shown(
    values: &Values,
    secrets: &BTreeSet<String>,
    default: impl Fn(&str) -> Option<Value>,
) -> Vec<ShownSetting> {
    let show = |key: &'static str| match values.0.get(key) {
        None => ShownSetting {
            key,
            value: default(key),
            source: "default",
            place: None,
        },
        Some(found) => ShownSetting {
            key,
            value: Some(visible(&found.value, secrets.contains(key), URLS.contains(&key))),
            source: match found.place {
                Place::File(_) => "file",
                Place::Variable(_) => "environment",
            },
            place: Some(found.place.name()),
        },
    };
    KEYS.iter().copied().map(show).collect()
}

fn visible(value: &Value, is_secret: bool, is_url: bool) -> Value {
    match value {
        Value::String(url) if is_url => Value::String(without_password(url)),
        _ if is_secret => Value::String(HIDDEN.to_owned()),
        Value::String(url) if has_password(url) => Value::String(HIDDEN.to_owned()),
        other => other.clone(),
    }
}

fn has_password(text: &str) -> bool {
    Url::parse(text).is_ok_and(|url| url.password().is_some())
}

/// The URL without its password. A text in which a password may stand elsewhere is hidden as a whole.
fn without_password(text: &str) -> String {
    let hidden = HIDDEN.to_owned();
    let Ok(mut url) = Url::parse(text) else {
        return hidden;
    };
    let is_known = matches!(
        url.scheme(),
        "sqlite" | "postgres" | "postgresql" | "smtp" | "smtps"
    );
    let in_query = url
        .query_pairs()
        .any(|(name, _)| name.to_lowercase().contains("pass"));
    let names_user = !url.username().is_empty();
    if !is_known || in_query || text.matches('@').count() != usize::from(names_user) {
        return hidden;
    }
    if url.password().is_none() {
        return text.to_owned();
    }
    match url.set_password(Some(HIDDEN)) {
        Ok(()) => url.to_string(),
        Err(()) => hidden,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_in_the_url_of_a_setting_that_is_no_secret_is_hidden() {
        let shown = |text: &str| visible(&Value::String(text.to_owned()), false, false);
        assert_eq!(shown("https://u:s3cret@market.test").as_str(), Some("***"));
        let plain = "https://market.test/api";
        assert_eq!(shown(plain).as_str(), Some(plain));
    }

    #[test]
    fn no_password_of_a_url_is_shown() {
        for (url, shown) in [
            (
                "sqlite://bidloop-data/bidloop.db",
                "sqlite://bidloop-data/bidloop.db",
            ),
            ("sqlite:///var/lib/bidloop/x.db", "sqlite:///var/lib/bidloop/x.db"),
            ("postgres://bidloop@127.0.0.1/x", "postgres://bidloop@127.0.0.1/x"),
            (
                "postgres://u:s3cret@h:5432/x?sslmode=require",
                "postgres://u:***@h:5432/x?sslmode=require",
            ),
            (
                "postgres:///x?host=/run/postgresql",
                "postgres:///x?host=/run/postgresql",
            ),
            ("smtps://u:s3cret@mail.test", "smtps://u:***@mail.test"),
            ("postgres://h/x?user=u&password=s3cret", "***"),
            ("postgres://u:12/s3cret@h/x", "***"),
            ("postgres://u:a@s3cret@h/x", "***"),
            ("postgres://u:x@h:1,g:2/s3cret", "***"),
            ("host=h password=s3cret", "***"),
            ("mysql://u:s3cret@h", "***"),
        ] {
            assert_eq!(without_password(url), shown, "{url}");
        }
    }
}
