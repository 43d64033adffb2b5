//! The program's settings: a TOML file, overridden by environment variables, every fault named by its key.
//!
//! This is the one place that reads the process's environment.

mod reader;
mod source;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reader::Reader;
pub(crate) use source::SettingsFault;

/// Where the API listens and how the world reaches it.
#[derive(Debug, Clone)]
pub(crate) struct ServerSettings {
    /// Port 0 takes a free one.
    pub(crate) listen: SocketAddr,
    /// What `bidUrl` and `rejectUrl` begin with; from the bound address if unset.
    pub(crate) base_url: Option<String>,
}

/// Which database, and who migrates it.
#[derive(Debug, Clone)]
pub(crate) struct DatabaseSettings {
    /// `sqlite://…` or `postgres://…`.
    pub(crate) url: String,
    /// Whether `serve` and `apply` migrate by themselves.
    pub(crate) auto_migrate: bool,
}

/// The marketplace to watch and to submit to.
#[derive(Clone)]
pub(crate) struct MarketplaceSettings {
    /// Its address.
    pub(crate) base_url: String,
    /// The watcher's own token.
    pub(crate) token: Option<String>,
    /// Pause between two reads of a drained feed.
    pub(crate) poll_interval: Duration,
    /// One call, from connect to the answer's end.
    pub(crate) timeout: Duration,
}

impl std::fmt::Debug for MarketplaceSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MarketplaceSettings")
            .field("base_url", &self.base_url)
            .finish_non_exhaustive()
    }
}

/// How webhooks are sent.
#[derive(Debug, Clone)]
pub(crate) struct WebhookSettings {
    /// Permits plain HTTP and non-public addresses.
    pub(crate) allow_insecure_targets: bool,
    /// PEM of further trust roots.
    pub(crate) extra_root_certificates: Option<PathBuf>,
}

/// The form of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// All settings, checked.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) server: ServerSettings,
    pub(crate) database: DatabaseSettings,
    /// Without it, nothing is watched or submitted.
    pub(crate) marketplace: Option<MarketplaceSettings>,
    /// From queueing to giving up (decision B4).
    pub(crate) submission_deadline: Duration,
    /// Age of a post up to which active campaigns act on it; `None`: any (decision D2).
    pub(crate) act_within: Option<Duration>,
    pub(crate) webhooks: WebhookSettings,
    /// `file:…` or `s3://…`.
    pub(crate) attachments_url: String,
    /// The storage's credentials and region, from the usual `AWS_*` variables.
    pub(crate) aws_environment: Vec<(String, String)>,
    pub(crate) log_format: LogFormat,
}

impl Settings {
    /// Reads `file`, if given, and the environment. All faults are found in one go.
    pub(crate) fn load(file: Option<&Path>) -> Result<Self, Vec<SettingsFault>> {
        let environment = source::environment();
        let mut values = source::Values::default();
        let mut faults = Vec::new();
        if let Some(file) = file {
            match std::fs::read_to_string(file) {
                Ok(text) => values.add_file(file, &text, &mut faults),
                Err(error) => {
                    faults.push(SettingsFault::new(
                        &file.display().to_string(),
                        &format!("cannot be read: {error}"),
                    ));
                }
            }
        }
        values.add_environment(&environment, &mut faults);
        let settings = Self::read(values, &environment, &mut faults);
        if faults.is_empty() {
            Ok(settings)
        } else {
            Err(faults)
        }
    }

    fn read(
        values: source::Values,
        environment: &[(String, String)],
        faults: &mut Vec<SettingsFault>,
    ) -> Self {
        let mut read = Reader::new(values, faults);
        let server = ServerSettings {
            listen: read.address("server.listen", SocketAddr::from(([127, 0, 0, 1], 8080))),
            base_url: read.http_url("server.base_url"),
        };
        let database = DatabaseSettings {
            url: read
                .text("database.url")
                .unwrap_or_else(|| "sqlite://bidloop-data/bidloop.db".to_owned()),
            auto_migrate: read.boolean("database.auto_migrate", true),
        };
        read.check("database.url", &database.url, |url| {
            let known = ["sqlite://", "postgres://", "postgresql://"]
                .iter()
                .any(|scheme| url.starts_with(scheme));
            if known {
                Ok(())
            } else {
                Err("must begin with `sqlite://` or `postgres://`".to_owned())
            }
        });
        let base_url = read.http_url("marketplace.base_url");
        let token = read.text("marketplace.token");
        let poll_interval = read.milliseconds("marketplace.poll_interval_ms", 1_000, 1);
        let timeout = read.milliseconds("marketplace.timeout_ms", 10_000, 1);
        let marketplace = base_url.map(|base_url| MarketplaceSettings {
            base_url,
            token,
            poll_interval,
            timeout,
        });
        let submission_deadline = read.milliseconds("submission.deadline_ms", 900_000, 1);
        let minutes = read.whole("watch.act_within_minutes", 1_440, 0);
        let act_within = (minutes > 0).then(|| Duration::from_secs(minutes.saturating_mul(60)));
        let webhooks = WebhookSettings {
            allow_insecure_targets: read.boolean("webhooks.allow_insecure_targets", false),
            extra_root_certificates: read.text("webhooks.extra_root_certificates").map(PathBuf::from),
        };
        let attachments_url = read
            .text("attachments.url")
            .unwrap_or_else(|| "file:bidloop-data/attachments".to_owned());
        read.check("attachments.url", &attachments_url, |url| {
            let known = url.starts_with("file:") || url.starts_with("s3://");
            if known {
                Ok(())
            } else {
                Err("must begin with `file:` or `s3://`".to_owned())
            }
        });
        let log_format = match read.text("log.format").as_deref() {
            None | Some("text") => LogFormat::Text,
            Some("json") => LogFormat::Json,
            Some(other) => {
                read.fault(
                    "log.format",
                    &format!("is `{other}`, but must be `text` or `json`"),
                );
                LogFormat::Text
            }
        };
        let aws_environment = environment
            .iter()
            .filter(|(name, _)| name.starts_with("AWS_"))
            .cloned()
            .collect();
        Self {
            server,
            database,
            marketplace,
            submission_deadline,
            act_within,
            webhooks,
            attachments_url,
            aws_environment,
            log_format,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(toml: &str, environment: &[(&str, &str)]) -> Result<Settings, Vec<String>> {
        let environment: Vec<_> = environment
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let mut faults = Vec::new();
        let mut values = source::Values::default();
        values.add_file(Path::new("bidloop.toml"), toml, &mut faults);
        values.add_environment(&environment, &mut faults);
        let settings = Settings::read(values, &environment, &mut faults);
        if faults.is_empty() {
            Ok(settings)
        } else {
            Err(faults.iter().map(ToString::to_string).collect())
        }
    }

    #[test]
    fn every_key_has_its_documented_default() {
        let settings = load("", &[]).unwrap();
        assert_eq!(settings.server.listen.to_string(), "127.0.0.1:8080");
        assert_eq!(settings.database.url, "sqlite://bidloop-data/bidloop.db");
        assert!(settings.database.auto_migrate);
        assert!(settings.marketplace.is_none());
        assert_eq!(settings.submission_deadline, Duration::from_secs(900));
        assert_eq!(settings.act_within, Some(Duration::from_secs(86_400)));
        assert!(!settings.webhooks.allow_insecure_targets);
        assert_eq!(settings.attachments_url, "file:bidloop-data/attachments");
        assert_eq!(settings.log_format, LogFormat::Text);
    }

    #[test]
    fn the_environment_overrides_the_file() {
        let settings = load(
            "[marketplace]\nbase_url = \"http://127.0.0.1:9090\"\ntimeout_ms = 5\n",
            &[
                ("BIDLOOP_MARKETPLACE__TIMEOUT_MS", "70"),
                ("BIDLOOP_DATABASE__AUTO_MIGRATE", "false"),
            ],
        )
        .unwrap();
        assert_eq!(settings.marketplace.unwrap().timeout, Duration::from_millis(70));
        assert!(!settings.database.auto_migrate);
    }

    #[test]
    fn an_unknown_key_is_an_error_that_suggests_the_closest() {
        let faults = load(
            "[server]\nlisten_on = \"x\"\n",
            &[("BIDLOOP_DATABSE__URL", "sqlite://a")],
        )
        .unwrap_err();
        assert_eq!(
            faults,
            [
                "server.listen_on (in bidloop.toml): unknown setting; did you mean `server.listen`?",
                "databse.url (from BIDLOOP_DATABSE__URL): unknown setting; did you mean `database.url`?",
            ]
        );
    }

    #[test]
    fn all_faults_are_reported_with_their_names() {
        let faults = load(
            "[server]\nlisten = \"here\"\n[log]\nformat = \"xml\"\n[submission]\ndeadline_ms = -1\n[database]\nurl = \"mysql://x\"\n[watch]\nact_within_minutes = \"soon\"\n",
            &[],
        )
        .unwrap_err();
        let names: Vec<&str> = faults
            .iter()
            .filter_map(|fault| fault.split_whitespace().next())
            .collect();
        assert_eq!(
            names,
            [
                "server.listen",
                "database.url",
                "submission.deadline_ms",
                "watch.act_within_minutes",
                "log.format"
            ]
        );
    }

    #[test]
    fn act_within_zero_means_any_age() {
        assert_eq!(
            load("[watch]\nact_within_minutes = 0\n", &[]).unwrap().act_within,
            None
        );
    }
}
