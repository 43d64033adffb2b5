//! The database as `app` sees it: opened from a URL, migrated, and handed out port by port.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bidloop_domain::model::Secret;
use bidloop_domain::port::{
    ActivityStore, ApiKeyStore, AutomaticBidStore, BillingStore, CampaignFeedStore, DeliveryRecords,
    DeliveryStore, ErasureStore, FeedLeaseStore, FirstRunStore, JobStore, LeadStore, MatchStore,
    OverviewStore, PeopleStore, ProvisioningStore, Quarantine, RetentionStore, RowInspector, SessionStore,
    SignInTryStore, StatisticsStore, StoreError, SubmissionStore,
};
use rustls::ClientConfig;

use crate::backend::{Backend, ConnectionLoad, OpenError};
use crate::backup::BackUpError;
use crate::migrations::{MigrateError, SchemaState};
use crate::sealing::Sealer;
use crate::{postgres, sqlite};

/// Makes the TLS settings of connections to PostgreSQL. The argument is the PEM file that the URL names as `sslrootcert`;
/// its certificates are trusted in place of the usual ones. The error says what is wrong with the file.
pub type PostgresTls = fn(Option<&str>) -> Result<Arc<ClientConfig>, String>;

/// Which database, and how many connections to it.
#[derive(Debug, Clone)]
pub struct DatabaseSettings {
    /// `sqlite://path`, relative to the working directory, or `postgres://…`.
    pub url: Secret<String>,
    /// Connections to PostgreSQL for [requests](Database), at most. Each serves one command at a time.
    pub request_connections: usize,
    /// Connections to PostgreSQL for [workers](Database::for_workers), at most.
    pub worker_connections: usize,
    /// Whether PostgreSQL keeps statements prepared, and settings, for each connection. It cannot do so behind a pooler
    /// that shares its connections by transaction, as `PgBouncer` does in transaction mode.
    pub prepared_statements: bool,
    /// The file with the keys that seal secrets. `None` stands for a file beside a SQLite database, which is made if it is
    /// missing, and for none on PostgreSQL, where secrets stay plain then.
    pub secrets_key_file: Option<PathBuf>,
    /// Called if the URL asks for TLS.
    pub postgres_tls: PostgresTls,
    /// Threads that read from SQLite, at most; one more writes.
    pub sqlite_readers: usize,
}

impl DatabaseSettings {
    /// The settings that suit a service of its own, without TLS.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: Secret::new(url.into()),
            secrets_key_file: None,
            request_connections: 12,
            worker_connections: 8,
            prepared_statements: true,
            postgres_tls: |_| Err("this program has no TLS settings for its database".to_owned()),
            sqlite_readers: 4,
        }
    }

    /// Refuses settings that [`Database::open`] would refuse. Creates nothing, connects to nothing, and reads no file but
    /// the one that a URL names as `sslrootcert`.
    pub fn check(&self) -> Result<CheckedDatabase, OpenError> {
        let checked = match Address::of(self.url.expose())? {
            Address::Sqlite(path) => {
                sqlite::Store::check(path)?;
                CheckedDatabase::default()
            }
            Address::Postgres(url) => CheckedDatabase {
                hosts_without_tls: postgres::Store::hosts_without_tls(url, self.postgres_tls)?,
                is_shared: true,
            },
        };
        Ok(checked)
    }
}

/// Refuses a file that is missing or holds no keys to seal secrets with. The error does not repeat its content.
pub fn check_key_file(file: &Path) -> Result<(), String> {
    Sealer::with_key_file(Some(file)).map(drop)
}

/// What [`DatabaseSettings::check`] found out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CheckedDatabase {
    /// Host names and addresses to which a connection may be made that is not encrypted. A local socket is no host.
    pub hosts_without_tls: Vec<String>,
    /// Whether it is a server's. No key file is made for it, because all machines that use it need the same one.
    pub is_shared: bool,
}

/// A URL, by the adapter that serves it.
enum Address<'a> {
    /// The path of a file.
    Sqlite(&'a str),
    /// The URL, whole.
    Postgres(&'a str),
}

impl<'a> Address<'a> {
    fn of(url: &'a str) -> Result<Self, OpenError> {
        if let Some(path) = url.strip_prefix("sqlite://") {
            Ok(Self::Sqlite(path))
        } else if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            Ok(Self::Postgres(url))
        } else {
            Err(OpenError::UnknownScheme)
        }
    }
}

/// A database. Clones share its connections.
///
/// Its ports are for requests and commands; those of [`for_workers`](Self::for_workers) are for background work. On
/// PostgreSQL they have connections of their own, so neither has to wait until the other is done.
#[derive(Debug, Clone)]
pub struct Database {
    backend: Arc<dyn Backend>,
    workers: Arc<dyn Backend>,
}

impl Database {
    /// Prepares to use the database; it need not be up yet. Until it is, and is migrated, every operation answers
    /// [`StoreError::Unavailable`] within seconds.
    ///
    /// Must be called, and the database used, within a Tokio runtime.
    pub fn open(settings: &DatabaseSettings) -> Result<Self, OpenError> {
        let key_file = settings.secrets_key_file.as_deref();
        Ok(match Address::of(settings.url.expose())? {
            Address::Sqlite(path) => {
                let backend = Arc::new(sqlite::Store::open(path, settings.sqlite_readers, key_file)?);
                Self {
                    workers: backend.clone(),
                    backend,
                }
            }
            Address::Postgres(url) => {
                let (requests, workers) = postgres::Store::open(
                    url,
                    settings.postgres_tls,
                    postgres::Session::of(settings.prepared_statements),
                    (settings.request_connections, settings.worker_connections),
                    Sealer::with_key_file(key_file).map_err(OpenError::KeyFile)?,
                )?;
                Self {
                    backend: Arc::new(requests),
                    workers: Arc::new(workers),
                }
            }
        })
    }

    /// The same database over the connections for background work.
    #[must_use]
    pub fn for_workers(&self) -> Self {
        Self {
            backend: self.workers.clone(),
            workers: self.workers.clone(),
        }
    }

    /// Compares the database's schema with this program's; changes nothing.
    pub async fn schema_state(&self) -> Result<SchemaState, StoreError> {
        self.backend.schema_state().await
    }

    /// Brings the schema to this program's and returns the versions of the steps that ran. Several processes may do
    /// so at once: one runs the steps, the others wait for it. A database of a newer version is left alone.
    ///
    /// Then it seals secrets that are plain, or sealed with another key than the first.
    pub async fn migrate(&self) -> Result<Vec<String>, MigrateError> {
        let ran = self.backend.migrate().await?;
        self.backend.fold_people().await?;
        let sealed = self.backend.seal_secrets().await?;
        if sealed > 0 {
            tracing::info!(sealed, "sealed secrets with the first key of secrets.key_file");
        }
        Ok(ran)
    }

    /// Whether the database can be reached and has this program's schema.
    pub async fn ready(&self) -> Result<(), StoreError> {
        match self.schema_state().await? {
            SchemaState::Current => Ok(()),
            SchemaState::Older { .. } => Err(StoreError::Unavailable("not migrated yet".to_owned())),
            SchemaState::Newer { .. } => Err(StoreError::Unavailable(
                "migrated by a newer version of bidloop".to_owned(),
            )),
        }
    }

    /// How busy the connections are at this moment. It asks the database nothing.
    pub fn load(&self) -> Vec<ConnectionLoad> {
        let mut load = self.backend.load();
        if !Arc::ptr_eq(&self.backend, &self.workers) {
            load.extend(self.workers.load());
        }
        load
    }

    /// Copies a SQLite database as of one moment, while it is used, into a file that does not exist yet. Returns the
    /// copy's bytes once it is checked and on the disk.
    pub async fn back_up(&self, to: &Path) -> Result<u64, BackUpError> {
        self.backend.back_up(to.to_owned()).await
    }

    /// The unreadable rows that the stores have met. The use cases that find such rows share it.
    pub fn quarantine(&self) -> Quarantine {
        self.backend.quarantine()
    }

    /// The Activity record.
    pub fn activities(&self) -> Arc<dyn ActivityStore> {
        self.backend.clone()
    }

    /// API keys.
    pub fn api_keys(&self) -> Arc<dyn ApiKeyStore> {
        self.backend.clone()
    }

    /// People and their memberships.
    pub fn people(&self) -> Arc<dyn PeopleStore> {
        self.backend.clone()
    }

    /// Sessions of the console.
    pub fn sessions(&self) -> Arc<dyn SessionStore> {
        self.backend.clone()
    }

    /// Tries to sign in.
    pub fn sign_in_tries(&self) -> Arc<dyn SignInTryStore> {
        self.backend.clone()
    }

    /// The first start.
    pub fn first_run(&self) -> Arc<dyn FirstRunStore> {
        self.backend.clone()
    }

    /// Leads and the bids on them.
    pub fn leads(&self) -> Arc<dyn LeadStore> {
        self.backend.clone()
    }

    /// The console's Feed.
    pub fn campaign_feed(&self) -> Arc<dyn CampaignFeedStore> {
        self.backend.clone()
    }

    /// The feed: jobs, and matches as they come.
    pub fn jobs(&self) -> Arc<dyn JobStore> {
        self.backend.clone()
    }

    /// Matches computed anew.
    pub fn matches(&self) -> Arc<dyn MatchStore> {
        self.backend.clone()
    }

    /// What endpoints were sent.
    pub fn delivery_records(&self) -> Arc<dyn DeliveryRecords> {
        self.backend.clone()
    }

    /// Webhook deliveries.
    pub fn deliveries(&self) -> Arc<dyn DeliveryStore> {
        self.backend.clone()
    }

    /// The queue of accepted bids.
    pub fn submissions(&self) -> Arc<dyn SubmissionStore> {
        self.backend.clone()
    }

    /// Intents to bid by template.
    pub fn automatic_bids(&self) -> Arc<dyn AutomaticBidStore> {
        self.backend.clone()
    }

    /// What the payment provider reported.
    pub fn billing(&self) -> Arc<dyn BillingStore> {
        self.backend.clone()
    }

    /// Looks for unreadable rows.
    pub fn row_inspector(&self) -> Arc<dyn RowInspector> {
        self.backend.clone()
    }

    /// Organizations and what belongs to them.
    pub fn provisioning(&self) -> Arc<dyn ProvisioningStore> {
        self.backend.clone()
    }

    /// What is left of removed organizations.
    pub fn erasure(&self) -> Arc<dyn ErasureStore> {
        self.backend.clone()
    }

    /// Who reads the feed.
    pub fn feed_lease(&self) -> Arc<dyn FeedLeaseStore> {
        self.backend.clone()
    }

    /// What pages of an organization show.
    pub fn overview(&self) -> Arc<dyn OverviewStore> {
        self.backend.clone()
    }

    /// What was counted.
    pub fn statistics(&self) -> Arc<dyn StatisticsStore> {
        self.backend.clone()
    }

    /// What is old, and its removal.
    pub fn retention(&self) -> Arc<dyn RetentionStore> {
        self.backend.clone()
    }
}
