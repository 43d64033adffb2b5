//! Settings of adapters. Each is parsed by the adapter's own code, so the adapter accepts whatever passes here.
//!
//! Reading makes no connection and reads no file except certificates.

use std::sync::Arc;

use bidloop_attachments::StorageSettings;
use bidloop_domain::model::MarketplaceToken;
use bidloop_marketplace::{HyperMarketplace, MarketplaceSettings};
use bidloop_persistence::DatabaseSettings;
use rustls::ClientConfig;

use super::reader::Reader;
use crate::system::{SystemClock, SystemEntropy};
use crate::trust_roots::{bundled_roots, client_config, database_tls, with_roots_of};

pub(super) fn database_url(read: &mut Reader<'_>) -> String {
    read.parsed("database.url", |url| {
        let checked = persistence_settings(url).check();
        checked
            .map(|()| url.to_owned())
            .map_err(|error| error.to_string())
    })
    .unwrap_or_else(|| "sqlite://bidloop-data/bidloop.db".to_owned())
}

/// The settings of the database with this URL.
pub(crate) fn persistence_settings(url: &str) -> DatabaseSettings {
    DatabaseSettings {
        postgres_tls: database_tls,
        ..DatabaseSettings::new(url)
    }
}

pub(super) fn storage(read: &mut Reader<'_>, environment: &[(String, String)]) -> StorageSettings {
    read.parsed("attachments.url", |url| {
        let tls = client_config(bundled_roots());
        StorageSettings::parse(url, environment.iter().cloned(), tls).map_err(|error| error.to_string())
    })
    .unwrap_or_else(|| StorageSettings::folder("bidloop-data/attachments"))
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
    let feed_token = read.parsed("marketplace.token", |token| {
        MarketplaceToken::parse(token).map_err(|error| error.to_string())
    });
    read.parsed("marketplace.base_url", |base_url| {
        let settings = MarketplaceSettings {
            base_url: base_url.to_owned(),
            feed_token,
            timeout,
            tls: client_config(bundled_roots()),
        };
        HyperMarketplace::new(&settings, Arc::new(SystemClock), Arc::new(SystemEntropy))
            .map(|_| settings)
            .map_err(|error| error.to_string())
    })
}
