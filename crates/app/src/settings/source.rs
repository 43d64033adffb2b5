//! The sources of settings: names and raw values from the file and the environment.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use bidloop_domain::matching::json::closest;
use toml::Value;

use crate::toml_text;

/// The names of all settings.
pub(super) const KEYS: &[&str] = &[
    "attachments.url",
    "billing.stripe_webhook_secret",
    "billing.stripe_webhook_secret_file",
    "console.enabled",
    "database.allow_insecure",
    "database.auto_migrate",
    "database.prepared_statements",
    "database.request_connections",
    "database.url",
    "database.url_file",
    "database.worker_connections",
    "log.format",
    "mail.allow_insecure",
    "mail.from",
    "mail.smtp_url",
    "mail.smtp_url_file",
    "marketplace.allow_insecure",
    "marketplace.base_url",
    "marketplace.poll_interval_ms",
    "marketplace.timeout_ms",
    "marketplace.token",
    "marketplace.token_file",
    "mcp.base_url",
    "mcp.listen",
    "retention.activity_days",
    "retention.deliveries_days",
    "retention.jobs_days",
    "retention.letters_days",
    "secrets.key_file",
    "server.base_url",
    "server.cors_origins",
    "server.listen",
    "server.max_connections",
    "server.max_connections_per_address",
    "server.operability_listen",
    "server.post_cache_mb",
    "server.trusted_proxies",
    "submission.deadline_ms",
    "telemetry.otlp_endpoint",
    "telemetry.otlp_headers",
    "telemetry.otlp_headers_file",
    "telemetry.sample_ratio",
    "telemetry.service_name",
    "watch.act_within_minutes",
    "webhooks.allow_insecure_targets",
    "webhooks.denied_networks",
    "webhooks.extra_root_certificates",
];

/// A fault of a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SettingsFault {
    name: String,
    message: String,
}

impl SettingsFault {
    pub(super) fn new(name: &str, message: &str) -> Self {
        Self {
            name: name.to_owned(),
            message: message.to_owned(),
        }
    }
}

impl fmt::Display for SettingsFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.message)
    }
}

/// Where a value was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    File(PathBuf),
    Variable(String),
}

impl Place {
    /// The file's path or the variable's name.
    pub(super) fn name(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Variable(name) => name.clone(),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "in {}", path.display()),
            Self::Variable(name) => write!(f, "from {name}"),
        }
    }
}

/// A raw value, which may be a secret, and where it was found.
#[derive(Clone)]
pub(super) struct Found {
    pub(super) value: Value,
    pub(super) place: Place,
}

impl fmt::Debug for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Found")
            .field("place", &self.place)
            .finish_non_exhaustive()
    }
}

/// Raw values by key; later sources replace earlier ones.
#[derive(Debug, Default)]
pub(super) struct Values(pub(super) BTreeMap<&'static str, Found>);

impl Values {
    pub(super) fn add_file(&mut self, file: &Path, text: &str, faults: &mut Vec<SettingsFault>) {
        let place = Place::File(file.to_owned());
        let table: toml::Table = match toml_text::read(text) {
            Ok(table) => table,
            Err(fault) => {
                faults.push(SettingsFault::new(&file.display().to_string(), &fault));
                return;
            }
        };
        for (section, value) in table {
            let Value::Table(entries) = value else {
                faults.push(unknown(&section, &place));
                continue;
            };
            for (key, value) in entries {
                self.add(&format!("{section}.{key}"), value, place.clone(), faults);
            }
        }
    }

    /// Adds the variables `BIDLOOP_` + section + `__` + key. The name of a setting with only one underscore is reported,
    /// because it would have no effect.
    pub(super) fn add_environment(
        &mut self,
        environment: &[(String, String)],
        faults: &mut Vec<SettingsFault>,
    ) {
        for (variable, value) in environment {
            let Some(name) = variable.strip_prefix("BIDLOOP_") else {
                continue;
            };
            if let Some((section, key)) = name.split_once("__") {
                let name = format!("{}.{}", section.to_lowercase(), key.to_lowercase());
                self.add(
                    &name,
                    Value::String(value.clone()),
                    Place::Variable(variable.clone()),
                    faults,
                );
                continue;
            }
            let flat = |key: &str| key.replace('.', "_").to_uppercase();
            if let Some(key) = KEYS.iter().copied().find(|key| flat(key) == name) {
                let right = key.replace('.', "__").to_uppercase();
                faults.push(SettingsFault::new(
                    &format!("{key} (from {variable})"),
                    &format!("not a setting's name; did you mean `BIDLOOP_{right}`?"),
                ));
            }
        }
    }

    fn add(&mut self, name: &str, value: Value, place: Place, faults: &mut Vec<SettingsFault>) {
        match KEYS.iter().copied().find(|key| *key == name) {
            Some(key) => {
                self.0.insert(key, Found { value, place });
            }
            None => faults.push(unknown(name, &place)),
        }
    }
}

fn unknown(name: &str, place: &Place) -> SettingsFault {
    let hint = closest(name, KEYS).map_or_else(String::new, |key| format!("; did you mean `{key}`?"));
    SettingsFault::new(&format!("{name} ({place})"), &format!("unknown setting{hint}"))
}

/// All of the process's variables whose names and values are text.
pub(super) fn environment() -> Vec<(String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}
