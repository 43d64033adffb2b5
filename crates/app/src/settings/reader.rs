//! Reads raw values as the types of settings and collects faults.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{SocketAddr, ToSocketAddrs};
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Duration;

use toml::Value;

use super::secret_file;
use super::shown::{ShownSetting, shown};
use super::source::{SettingsFault, Values};

/// Reads one key after the other.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    values: Values,
    faults: &'a mut Vec<SettingsFault>,
    warnings: Vec<SettingsFault>,
    /// The defaults of keys that are not set.
    defaults: BTreeMap<String, Value>,
    /// The keys that were read as secrets.
    secrets: BTreeSet<String>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(values: Values, faults: &'a mut Vec<SettingsFault>) -> Self {
        Self {
            values,
            faults,
            warnings: Vec::new(),
            defaults: BTreeMap::new(),
            secrets: BTreeSet::new(),
        }
    }

    pub(super) fn fault(&mut self, key: &str, message: &str) {
        let name = self.name(key);
        self.faults.push(SettingsFault::new(&name, message));
    }

    /// Notes what is permitted, but an operator should know.
    pub(super) fn warn(&mut self, key: &str, message: &str) {
        let name = self.name(key);
        self.warnings.push(SettingsFault::new(&name, message));
    }

    pub(super) fn warnings(self) -> Vec<SettingsFault> {
        self.warnings
    }

    /// All settings that have been read, without secrets.
    pub(super) fn shown(&self) -> Vec<ShownSetting> {
        shown(&self.values, &self.secrets, |key| self.defaults.get(key).cloned())
    }

    /// The value; if it is not set, the default is noted to be shown.
    fn found(&mut self, key: &str, default: impl Into<Value>) -> Option<&Value> {
        if !self.is_set(key) {
            self.defaults.insert(key.to_owned(), default.into());
        }
        self.values.0.get(key).map(|found| &found.value)
    }

    /// Notes the default of a key that is read later, to be shown if it is not set.
    pub(super) fn note_default(&mut self, key: &str, default: &str) {
        self.found(key, default);
    }

    /// As [`text`](Self::text), for a key whose default is this text.
    pub(super) fn text_or(&mut self, key: &str, default: &str) -> Option<String> {
        self.note_default(key, default);
        self.text(key)
    }

    /// The key, with the place where it is set.
    fn name(&self, key: &str) -> String {
        let place = self.values.0.get(key);
        place.map_or_else(|| key.to_owned(), |found| format!("{key} ({})", found.place))
    }

    pub(super) fn is_set(&self, key: &str) -> bool {
        self.values.0.contains_key(key)
    }

    pub(super) fn text(&mut self, key: &str) -> Option<String> {
        match &self.values.0.get(key)?.value {
            Value::String(text) if text.is_empty() => {
                self.fault(key, "is empty; leave it out to use the default");
                None
            }
            Value::String(text) if text.contains('\0') => {
                self.fault(key, "holds the character U+0000");
                None
            }
            Value::String(text) => Some(text.clone()),
            _ => {
                self.fault(key, "must be a text in quotes");
                None
            }
        }
    }

    /// A list: texts in brackets, or one text with commas or spaces between them.
    pub(super) fn texts(&mut self, key: &str) -> Option<Vec<String>> {
        if let Value::Array(items) = &self.values.0.get(key)?.value {
            let texts = items.iter().map(|item| item.as_str().map(str::to_owned));
            let texts: Option<Vec<String>> = texts.collect();
            if texts.is_none() {
                self.fault(key, "must be a list of texts in quotes");
            }
            return texts;
        }
        let text = self.text(key)?;
        let texts = text.split([',', ' ']).filter(|text| !text.is_empty());
        Some(texts.map(str::to_owned).collect())
    }

    pub(super) fn boolean(&mut self, key: &str, default: bool) -> bool {
        let parsed = match self.found(key, default) {
            None => return default,
            Some(Value::Boolean(value)) => Some(*value),
            Some(Value::String(text)) => text.parse().ok(),
            Some(_) => None,
        };
        parsed.unwrap_or_else(|| {
            self.fault(key, "must be `true` or `false`");
            default
        })
    }

    pub(super) fn whole(&mut self, key: &str, default: u64, minimum: u64) -> u64 {
        let shown = i64::try_from(default).unwrap_or(i64::MAX);
        let parsed = match self.found(key, shown) {
            None => return default,
            Some(Value::Integer(value)) => u64::try_from(*value).ok(),
            Some(Value::String(text)) => text.trim().parse().ok(),
            Some(_) => None,
        };
        parsed
            .filter(|value| *value >= minimum && i64::try_from(*value).is_ok())
            .unwrap_or_else(|| {
                self.fault(key, &format!("must be a whole number, at least {minimum}"));
                default
            })
    }

    /// A number from 0 to 1.
    pub(super) fn ratio(&mut self, key: &str, default: f64) -> f64 {
        let parsed = match self.found(key, default) {
            None => return default,
            Some(Value::Float(value)) => Some(*value),
            Some(Value::Integer(0)) => Some(0.0),
            Some(Value::Integer(1)) => Some(1.0),
            Some(Value::String(text)) => text.trim().parse().ok(),
            Some(_) => None,
        };
        parsed
            .filter(|value| (0.0..=1.0).contains(value))
            .unwrap_or_else(|| {
                self.fault(key, "must be a number from 0 to 1");
                default
            })
    }

    /// A number of things; 0 and a missing key stand for the default.
    pub(super) fn count(&mut self, key: &'static str) -> Option<NonZeroUsize> {
        usize::try_from(self.whole(key, 0, 0))
            .ok()
            .and_then(NonZeroUsize::new)
    }

    /// A number of days; `None` for 0, which stands for ever.
    pub(super) fn days(&mut self, key: &str, default: u64) -> Option<Duration> {
        let days = self.whole(key, default, 0);
        (days > 0).then(|| Duration::from_secs(days.saturating_mul(24 * 60 * 60)))
    }

    pub(super) fn milliseconds(&mut self, key: &str, default: u64, minimum: u64) -> Duration {
        Duration::from_millis(self.whole(key, default, minimum))
    }

    pub(super) fn address(&mut self, key: &str, default: SocketAddr) -> SocketAddr {
        let Some(text) = self.text_or(key, &default.to_string()) else {
            return default;
        };
        let resolved = text
            .to_socket_addrs()
            .ok()
            .and_then(|mut addresses| addresses.next());
        resolved.unwrap_or_else(|| {
            self.fault(
                key,
                &format!("is `{text}`, but must be an address and a port such as `127.0.0.1:8080`"),
            );
            default
        })
    }

    pub(super) fn http_url(&mut self, key: &str) -> Option<String> {
        self.parsed(key, |text| {
            let fault = match url::Url::parse(text) {
                Ok(url) if !matches!(url.scheme(), "http" | "https") => {
                    "must begin with `http://` or `https://`"
                }
                Ok(url) if url.host_str().is_none_or(str::is_empty) => "has no host",
                Ok(url) if url.query().is_some() || url.fragment().is_some() => {
                    "must not have a query or a fragment"
                }
                Ok(_) => return Ok(text.to_owned()),
                Err(_) => "is not a URL such as `https://bids.example.com`",
            };
            Err(fault.to_owned())
        })
    }

    /// A text, parsed. An error of `parse` is reported as a fault.
    pub(super) fn parsed<T>(
        &mut self,
        key: &str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        match parse(&self.text(key)?) {
            Ok(parsed) => Some(parsed),
            Err(message) => {
                self.fault(key, &message);
                None
            }
        }
    }

    /// A secret: the value of `key`, or the content of the file that `key` + `_file` names. An error of `parse` must not
    /// repeat the secret.
    pub(super) fn secret<T>(
        &mut self,
        key: &str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        self.secrets.insert(key.to_owned());
        let file_key = format!("{key}_file");
        if !self.is_set(&file_key) {
            return self.parsed(key, parse);
        }
        if self.is_set(key) {
            let set = self.name(key);
            self.fault(&file_key, &format!("{set} is set too: leave one of them out"));
            return None;
        }
        self.parsed(&file_key, |file| parse(&secret_file::read(Path::new(file))?))
    }
}
