//! Settings of adapters. Each is parsed by the adapter's own code, so the adapter accepts whatever passes here.
//!
//! Reading makes no connection and reads no file except certificates and files that hold one secret.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use bidloop_attachments::StorageSettings;
use bidloop_domain::model::{MarketplaceToken, Secret};
use bidloop_http_api::AllowedOrigins;
use bidloop_mail::{MailSender, MailServer, MailSettings};
use bidloop_marketplace::{HyperMarketplace, MarketplaceSettings};
use bidloop_persistence::DatabaseSettings;
use bidloop_webhooks::{TargetPolicy, Targets};
use rustls::ClientConfig;
use url::Url;

use super::reader::Reader;
use super::{secret_file, tls};
use crate::system::{SystemClock, SystemEntropy};
use crate::trust_roots::{bundled_roots, client_config, database_tls, with_roots_of};

const DATABASE_URL: &str = "sqlite://bidloop-data/bidloop.db";
const ATTACHMENTS_URL: &str = "file:bidloop-data/attachments";

pub(super) fn database(read: &mut Reader<'_>) -> super::DatabaseSettings {
    let secrets_key_file = read.parsed("secrets.key_file", |file| {
        bidloop_persistence::check_key_file(Path::new(file)).map(|()| PathBuf::from(file))
    });
    super::DatabaseSettings {
        url: database_url(read),
        secrets_key_file,
        auto_migrate: read.boolean("database.auto_migrate", true),
        request_connections: connections(read, "database.request_connections", 12),
        worker_connections: connections(read, "database.worker_connections", 8),
        prepared_statements: read.boolean("database.prepared_statements", true),
    }
}

/// At least 3: one for a busy organization, and some for the others.
fn connections(read: &mut Reader<'_>, key: &str, default: u64) -> usize {
    usize::try_from(read.whole(key, default, 3)).unwrap_or(usize::MAX)
}

fn database_url(read: &mut Reader<'_>) -> Secret<String> {
    if !read.is_set("database.url_file") {
        read.note_default("database.url", DATABASE_URL);
    }
    let parsed = read.secret("database.url", |url| {
        let checked = persistence_settings(url).check();
        checked
            .map(|checked| (Secret::new(url.to_owned()), checked))
            .map_err(|error| error.to_string())
    });
    let allowed = read.boolean("database.allow_insecure", false);
    let Some((url, checked)) = parsed else {
        return Secret::new(DATABASE_URL.to_owned());
    };
    let key = match "database.url_file" {
        file if read.is_set(file) => file,
        _ => "database.url",
    };
    tls::require(
        read,
        key,
        checked.hosts_without_tls.iter().map(String::as_str),
        allowed,
        "add `sslmode=verify-full` to the URL, or set `database.allow_insecure = true` if the network may be trusted",
    );
    if checked.is_shared && !read.is_set("secrets.key_file") {
        read.warn(
            "secrets.key_file",
            "is not set, so marketplace tokens and webhook secrets are stored in plain text; \
             `openssl rand -hex 32` makes a key",
        );
    }
    url
}

/// The settings of the database with this URL.
fn persistence_settings(url: &str) -> DatabaseSettings {
    DatabaseSettings {
        postgres_tls: database_tls,
        ..DatabaseSettings::new(url)
    }
}

/// The settings with which the database is opened.
pub(crate) fn opening(settings: &super::DatabaseSettings) -> DatabaseSettings {
    DatabaseSettings {
        secrets_key_file: settings.secrets_key_file.clone(),
        request_connections: settings.request_connections,
        worker_connections: settings.worker_connections,
        prepared_statements: settings.prepared_statements,
        ..persistence_settings(settings.url.expose())
    }
}

pub(super) fn storage(read: &mut Reader<'_>, environment: &[(String, String)]) -> StorageSettings {
    read.note_default("attachments.url", ATTACHMENTS_URL);
    read.parsed("attachments.url", |url| {
        let tls = client_config(bundled_roots());
        StorageSettings::parse(url, bucket_variables(environment)?, tls).map_err(|error| error.to_string())
    })
    .unwrap_or_else(|| StorageSettings::folder(ATTACHMENTS_URL.trim_start_matches("file:")))
}

/// The variables of buckets, with the content of the files that `…_FILE` variables name for secrets.
fn bucket_variables(environment: &[(String, String)]) -> Result<Vec<(String, String)>, String> {
    let mut variables = environment.to_vec();
    for secret in ["AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"] {
        let file_variable = format!("{secret}_FILE");
        let value_of = |name: &str| environment.iter().find(|(variable, _)| variable == name);
        let Some((_, file)) = value_of(&file_variable) else {
            continue;
        };
        if value_of(secret).is_some() {
            return Err(format!(
                "{file_variable} and {secret} are both set: leave one of them out"
            ));
        }
        let content = secret_file::read(Path::new(file)).map_err(|why| format!("{file_variable}: {why}"))?;
        variables.push((secret.to_owned(), content));
    }
    Ok(variables)
}

/// Where webhooks may be sent to.
pub(super) fn targets(read: &mut Reader<'_>) -> Targets {
    let policy = if read.boolean("webhooks.allow_insecure_targets", false) {
        TargetPolicy::AllowInsecure
    } else {
        TargetPolicy::PublicHttps
    };
    Targets {
        policy,
        denied: networks(read, "webhooks.denied_networks"),
    }
}

/// The networks of a setting; none if it is not set.
pub(super) fn networks<N: FromStr>(read: &mut Reader<'_>, key: &str) -> Vec<N> {
    let networks = read.parsed(key, |networks| {
        let networks = networks.split([',', ' ']).filter(|network| !network.is_empty());
        let network = |text: &str| {
            text.parse()
                .map_err(|_| format!("`{text}` is not a network such as `10.0.0.0/8` or `fd00::/8`"))
        };
        networks.map(network).collect()
    });
    networks.unwrap_or_default()
}

/// The web pages that may call the API.
pub(super) fn cors_origins(read: &mut Reader<'_>) -> AllowedOrigins {
    let key = "server.cors_origins";
    let origins = read.texts(key).unwrap_or_default();
    AllowedOrigins::parse(origins.iter().map(String::as_str)).unwrap_or_else(|fault| {
        read.fault(key, &fault);
        AllowedOrigins::None
    })
}

/// The TLS settings of connections to webhook receivers.
pub(super) fn webhook_tls(read: &mut Reader<'_>) -> Arc<ClientConfig> {
    let extended = read.parsed("webhooks.extra_root_certificates", |file| {
        with_roots_of(bundled_roots(), file)
    });
    client_config(extended.unwrap_or_else(bundled_roots))
}

/// The settings of the marketplace's client; `None` without an address.
pub(super) fn marketplace(read: &mut Reader<'_>) -> Option<MarketplaceSettings> {
    let timeout = read.milliseconds("marketplace.timeout_ms", 10_000, 1);
    let feed_token = read.secret("marketplace.token", |token| {
        MarketplaceToken::parse(token).map_err(|error| error.to_string())
    });
    let allowed = read.boolean("marketplace.allow_insecure", false);
    let settings = read.parsed("marketplace.base_url", |base_url| {
        let settings = MarketplaceSettings {
            base_url: base_url.to_owned(),
            feed_token,
            timeout,
            tls: client_config(bundled_roots()),
        };
        HyperMarketplace::new(&settings, Arc::new(SystemClock), Arc::new(SystemEntropy))
            .map(|_| settings)
            .map_err(|error| error.to_string())
    })?;
    tls::require(
        read,
        "marketplace.base_url",
        plain_host(&settings.base_url, |url| url.scheme() == "http").as_deref(),
        allowed,
        "use an `https://` address, or set `marketplace.allow_insecure = true` if the network may be trusted",
    );
    Some(settings)
}

/// The settings of mails; `None` without a mail server.
pub(super) fn mail(read: &mut Reader<'_>) -> Option<MailSettings> {
    let sender = read.parsed("mail.from", MailSender::parse);
    let allowed = read.boolean("mail.allow_insecure", false);
    let is_set = ["mail.smtp_url", "mail.smtp_url_file"].map(|key| read.is_set(key));
    match (is_set.contains(&true), read.is_set("mail.from")) {
        (false, true) => read.fault(
            "mail.from",
            "is set without a mail server: set `mail.smtp_url` too",
        ),
        (true, false) => read.fault("mail.smtp_url", "is set without a sender: set `mail.from` too"),
        _ => {}
    }
    let (server, plain_host) = read.secret("mail.smtp_url", |url| {
        MailServer::parse(url).map(|server| (server, plain_host(url, is_plain_smtp)))
    })?;
    tls::require(
        read,
        "mail.smtp_url",
        plain_host.as_deref(),
        allowed,
        "use an `smtps://` address or add `?tls=required`, or set `mail.allow_insecure = true` if the network may be trusted",
    );
    Some(MailSettings {
        server,
        sender: sender?,
    })
}

/// The settings of the export of spans; `None` without a collector.
pub(super) fn telemetry(read: &mut Reader<'_>) -> Option<super::TelemetrySettings> {
    const ENDPOINT: &str = "telemetry.otlp_endpoint";
    let headers = read.secret("telemetry.otlp_headers", otlp_headers);
    let service_name = read.text_or("telemetry.service_name", "bidloop");
    let sample_ratio = read.ratio("telemetry.sample_ratio", 1.0);
    let otlp_endpoint = read.http_url(ENDPOINT)?;
    if cfg!(not(feature = "otel")) {
        read.fault(
            ENDPOINT,
            "is set, but this program was built without the export of traces: leave it out, or build the program with \
             `--features otel`",
        );
    }
    if headers.is_some() {
        tls::require(
            read,
            ENDPOINT,
            plain_host(&otlp_endpoint, |url| url.scheme() == "http").as_deref(),
            false,
            "use an `https://` address, or leave `telemetry.otlp_headers` out",
        );
    }
    Some(super::TelemetrySettings {
        otlp_endpoint,
        headers: Secret::new(headers.unwrap_or_default()),
        service_name: service_name.unwrap_or_else(|| "bidloop".to_owned()),
        sample_ratio,
    })
}

/// Headers as `name=value`, with commas between them.
fn otlp_headers(text: &str) -> Result<Vec<(String, String)>, String> {
    let header = |part: &str| {
        let (name, value) = part.split_once('=')?;
        let (name, value) = (name.trim(), value.trim());
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        let is_fit = !name.is_empty() && name.bytes().all(is_name);
        let is_value = value.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
        (is_fit && is_value).then(|| (name.to_lowercase(), value.to_owned()))
    };
    let headers: Option<Vec<_>> = text.split(',').map(header).collect();
    headers.ok_or_else(|| {
        "must be headers such as `authorization=Bearer …`, with commas between them".to_owned()
    })
}

/// The host of a URL that is one without TLS.
fn plain_host(url: &str, is_plain: impl Fn(&Url) -> bool) -> Option<String> {
    let url = Url::parse(url).ok().filter(is_plain)?;
    let host = url.host_str()?;
    Some(host.trim_matches(['[', ']']).to_owned())
}

/// Whether mail goes to the server without TLS.
fn is_plain_smtp(url: &Url) -> bool {
    url.scheme() == "smtp"
        && !url
            .query_pairs()
            .any(|pair| pair == ("tls".into(), "required".into()))
}
