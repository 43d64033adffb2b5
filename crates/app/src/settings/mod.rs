//! The program's settings: a TOML file and environment variables, which override it. Every fault is reported by its key.
//!
//! This is the one place that reads the process's environment.

mod adapter_settings;
mod file;
mod reader;
mod secret_file;
mod shown;
mod source;
#[cfg(test)]
mod tests;
mod tls;
mod warnings;

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bidloop_attachments::StorageSettings;
use bidloop_billing::StripeSecret;
use bidloop_domain::model::Secret;
use bidloop_domain::use_case::{PostCache, Retention};
use bidloop_http_api::AllowedOrigins;
use bidloop_http_server::TrustedProxies;
use bidloop_mail::MailSettings;
use bidloop_webhooks::Targets;
use rustls::ClientConfig;

pub(crate) use adapter_settings::opening;
use reader::Reader;
pub(crate) use shown::ShownSetting;
pub(crate) use source::SettingsFault;

const MB: u64 = 1_048_576;

/// The address and the public URL of the API.
#[derive(Debug, Clone)]
pub(crate) struct ServerSettings {
    /// Port 0 stands for any free port.
    pub(crate) listen: SocketAddr,
    /// The address of health, readiness and metrics; the API's own if unset.
    pub(crate) operability_listen: Option<SocketAddr>,
    /// The start of `bidUrl` and `rejectUrl`; made from the bound address if unset.
    pub(crate) base_url: Option<String>,
    /// The most connections at once; follows the limit of descriptors if unset.
    pub(crate) max_connections: Option<NonZeroUsize>,
    /// The most connections from one address; `None`: any number.
    pub(crate) max_connections_per_address: Option<NonZeroUsize>,
    /// The most bytes of posts that are kept in memory for pages of leads.
    pub(crate) post_cache_bytes: u64,
    /// The web pages that may call the API.
    pub(crate) cors_origins: AllowedOrigins,
    /// Whose word is taken for where a request comes from.
    pub(crate) trusted_proxies: TrustedProxies,
}

/// The database, and whether the program migrates it.
#[derive(Debug, Clone)]
pub(crate) struct DatabaseSettings {
    /// `sqlite://…` or `postgres://…`, perhaps with a password.
    pub(crate) url: Secret<String>,
    /// The file with the keys that seal secrets; `None`: beside a SQLite database, none on PostgreSQL.
    pub(crate) secrets_key_file: Option<PathBuf>,
    /// Whether `serve` and `apply` migrate by themselves.
    pub(crate) auto_migrate: bool,
    /// Connections to PostgreSQL at most: for requests and commands, and for workers.
    pub(crate) request_connections: usize,
    pub(crate) worker_connections: usize,
    /// Whether connections to PostgreSQL keep prepared statements: not behind a pooler in transaction mode.
    pub(crate) prepared_statements: bool,
}

/// The marketplace to watch and to submit to.
#[derive(Debug, Clone)]
pub(crate) struct MarketplaceSettings {
    /// Its address, the watcher's own token, and how long a call may take.
    pub(crate) client: bidloop_marketplace::MarketplaceSettings,
    /// Pause between two reads at the end of the feed.
    pub(crate) poll_interval: Duration,
}

/// The tool server over HTTP.
#[derive(Debug, Clone)]
pub(crate) struct McpSettings {
    /// Its own address. Port 0 stands for any free port.
    pub(crate) listen: SocketAddr,
    /// Where clients reach it, if not there.
    pub(crate) base_url: Option<String>,
}

/// How webhooks are sent.
#[derive(Debug, Clone)]
pub(crate) struct WebhookSettings {
    /// Which targets are permitted.
    pub(crate) targets: Targets,
    /// The TLS settings of connections to receivers.
    pub(crate) tls: Arc<ClientConfig>,
}

/// Where spans are exported to, and which.
#[derive(Debug, Clone)]
#[cfg_attr(
    not(feature = "otel"),
    expect(dead_code, reason = "only an exporter reads it")
)]
pub(crate) struct TelemetrySettings {
    /// The collector's address for OTLP over HTTP, without `/v1/traces`.
    pub(crate) otlp_endpoint: String,
    /// What each request carries, such as a token.
    pub(crate) headers: Secret<Vec<(String, String)>>,
    pub(crate) service_name: String,
    /// The share of traces that are recorded, of those that begin here: 0 to 1.
    pub(crate) sample_ratio: f64,
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
    /// Whether the console is served beside the API.
    pub(crate) console_enabled: bool,
    pub(crate) database: DatabaseSettings,
    /// Without it, the tool server is reached through the command alone.
    pub(crate) mcp: Option<McpSettings>,
    /// Without it, nothing is watched or submitted.
    pub(crate) marketplace: Option<MarketplaceSettings>,
    /// The time from accepting a bid to giving it up (decision B4).
    pub(crate) submission_deadline: Duration,
    /// Age of a post up to which active campaigns act on it; `None`: any (decision D2).
    pub(crate) act_within: Option<Duration>,
    /// How long what is finished is kept.
    pub(crate) retention: Retention,
    pub(crate) webhooks: WebhookSettings,
    /// A folder, or a bucket with the credentials and region of the usual `AWS_*` variables.
    pub(crate) attachments: StorageSettings,
    pub(crate) log_format: LogFormat,
    /// Without it, no span is exported.
    pub(crate) telemetry: Option<TelemetrySettings>,
    /// Without it, owners pass invitations and password links on themselves.
    pub(crate) mail: Option<MailSettings>,
    /// Verifies what Stripe sends. Without it, nothing is taken from Stripe.
    pub(crate) stripe_webhook_secret: Option<StripeSecret>,
    /// What is permitted, but an operator should know.
    pub(crate) warnings: Vec<SettingsFault>,
    /// Each setting's value and where it comes from, without secrets.
    pub(crate) shown: Vec<ShownSetting>,
}

impl Settings {
    /// Reads the file that `option` names, or else the one that is [found](file::find), and the environment. Reports all
    /// faults together.
    pub(crate) fn load(option: Option<&Path>) -> Result<Self, Vec<SettingsFault>> {
        let environment = source::environment();
        let mut values = source::Values::default();
        let mut faults = Vec::new();
        match file::find(option, &environment) {
            Ok(Some(file)) => values.add_file(&file.path, &file.text, &mut faults),
            Ok(None) => {}
            Err(fault) => faults.push(fault),
        }
        values.add_environment(&environment, &mut faults);
        let settings = Self::read(values, &environment, &mut faults);
        if faults.is_empty() {
            Ok(settings)
        } else {
            Err(faults)
        }
    }

    /// What `BIDLOOP_TOKEN` holds: the personal token of the client that starts `bidloop mcp`. It is no setting.
    pub(crate) fn personal_token() -> Option<Secret<String>> {
        let mut environment = source::environment().into_iter();
        let found = environment.find(|(name, _)| name == "BIDLOOP_TOKEN");
        found.map(|(_, value)| Secret::new(value))
    }

    /// The marketplace's address, if there is one.
    pub(crate) fn marketplace_url(&self) -> Option<&str> {
        let marketplace = self.marketplace.as_ref()?;
        Some(&marketplace.client.base_url)
    }

    fn read(
        values: source::Values,
        environment: &[(String, String)],
        faults: &mut Vec<SettingsFault>,
    ) -> Self {
        let mut read = Reader::new(values, faults);
        let server = ServerSettings {
            listen: read.address("server.listen", SocketAddr::from(([127, 0, 0, 1], 8080))),
            operability_listen: read.is_set("server.operability_listen").then(|| {
                read.address(
                    "server.operability_listen",
                    SocketAddr::from(([127, 0, 0, 1], 8081)),
                )
            }),
            base_url: read.http_url("server.base_url"),
            max_connections: read.count("server.max_connections"),
            max_connections_per_address: read.count("server.max_connections_per_address"),
            post_cache_bytes: read
                .whole("server.post_cache_mb", PostCache::DEFAULT_BYTES / MB, 0)
                .saturating_mul(MB),
            cors_origins: adapter_settings::cors_origins(&mut read),
            trusted_proxies: TrustedProxies::new(adapter_settings::networks(
                &mut read,
                "server.trusted_proxies",
            )),
        };
        let mcp_base_url = read.http_url("mcp.base_url");
        let mcp = read.is_set("mcp.listen").then(|| McpSettings {
            listen: read.address("mcp.listen", SocketAddr::from(([127, 0, 0, 1], 8090))),
            base_url: mcp_base_url.clone(),
        });
        if mcp.is_none() && mcp_base_url.is_some() {
            read.fault("mcp.base_url", "needs `mcp.listen`, which is not set");
        }
        let console_enabled = read.boolean("console.enabled", true);
        let database = adapter_settings::database(&mut read);
        let poll_interval = read.milliseconds("marketplace.poll_interval_ms", 1_000, 1);
        let marketplace = adapter_settings::marketplace(&mut read).map(|client| MarketplaceSettings {
            client,
            poll_interval,
        });
        let submission_deadline = read.milliseconds("submission.deadline_ms", 900_000, 1);
        let minutes = read.whole("watch.act_within_minutes", 1_440, 0);
        let act_within = (minutes > 0).then(|| Duration::from_secs(minutes.saturating_mul(60)));
        let retention = Retention {
            activity: read.days("retention.activity_days", 400),
            deliveries: read.days("retention.deliveries_days", 90),
            jobs: read.days("retention.jobs_days", 180),
            letters: read.days("retention.letters_days", 400),
        };
        let webhooks = WebhookSettings {
            targets: adapter_settings::targets(&mut read),
            tls: adapter_settings::webhook_tls(&mut read),
        };
        let attachments = adapter_settings::storage(&mut read, environment);
        let mail = adapter_settings::mail(&mut read);
        let stripe_webhook_secret = read.secret("billing.stripe_webhook_secret", |secret| {
            StripeSecret::parse(secret).map_err(|error| error.to_string())
        });
        let log_format = match read.text_or("log.format", "text").as_deref() {
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
        let telemetry = adapter_settings::telemetry(&mut read);
        let mut settings = Self {
            server,
            console_enabled,
            database,
            mcp,
            marketplace,
            submission_deadline,
            act_within,
            retention,
            webhooks,
            attachments,
            log_format,
            telemetry,
            mail,
            stripe_webhook_secret,
            warnings: Vec::new(),
            shown: read.shown(),
        };
        warnings::note(&settings, &mut read);
        settings.warnings = read.warnings();
        settings
    }
}
