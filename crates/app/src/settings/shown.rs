//! The settings as `bidloop config show` shows them, without secrets.

use serde::Serialize;
use toml::Value;
use url::Url;

use super::source::{KEYS, Place, Values};

/// Stands for a secret.
const HIDDEN: &str = "***";
/// Settings whose values are secrets as a whole.
const SECRETS: [&str; 3] = [
    "billing.stripe_webhook_secret",
    "marketplace.token",
    "telemetry.otlp_headers",
];
/// Settings whose values are URLs, perhaps with a password.
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

/// All settings by key. `default` tells the defaults.
pub(super) fn shown(values: &Values, default: impl Fn(&str) -> Option<Value>) -> Vec<ShownSetting> {
    let show = |key: &'static str| match values.0.get(key) {
        None => ShownSetting {
            key,
            value: default(key),
            source: "default",
            place: None,
        },
        Some(found) => ShownSetting {
            key,
            value: Some(visible(key, &found.value)),
            source: match found.place {
                Place::File(_) => "file",
                Place::Variable(_) => "environment",
            },
            place: Some(found.place.name()),
        },
    };
    KEYS.iter().copied().map(show).collect()
}

fn visible(key: &str, value: &Value) -> Value {
    match value {
        _ if SECRETS.contains(&key) => Value::String(HIDDEN.to_owned()),
        Value::String(url) if URLS.contains(&key) => Value::String(without_password(url)),
        other => other.clone(),
    }
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
