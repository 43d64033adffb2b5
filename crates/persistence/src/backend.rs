//! What a database offers to [`Database`](crate::Database), and why one cannot be opened.

use std::path::PathBuf;

use async_trait::async_trait;
use bidloop_domain::port::{
    ActivityStore, ApiKeyStore, AutomaticBidStore, BillingStore, CampaignFeedStore, DeliveryRecords,
    DeliveryStore, ErasureStore, FeedLeaseStore, FirstRunStore, JobStore, LeadStore, MatchStore,
    OverviewStore, PeopleStore, ProvisioningStore, Quarantine, RetentionStore, RowInspector, SessionStore,
    SignInTryStore, StatisticsStore, StoreError, SubmissionStore,
};

use crate::backup::BackUpError;
use crate::migrations::{MigrateError, SchemaState};

/// How busy one kind of connections is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionLoad {
    /// `requests` and `workers` on PostgreSQL; `reader` and `writer` on SQLite.
    pub kind: &'static str,
    /// The most connections of this kind.
    pub connections: usize,
    /// Pieces of work that run on a connection or wait for one.
    pub work: usize,
}

/// Why a database cannot be opened at all. No message holds the URL, which may hold a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The URL names no database that there is an adapter for.
    #[error("the database's URL begins with neither sqlite:// nor postgres://")]
    UnknownScheme,
    /// The URL cannot be used.
    #[error("the database's URL cannot be used: {0}")]
    InvalidUrl(String),
    /// The folder for the file cannot be made.
    #[error("the database's folder cannot be made: {0}")]
    Folder(String),
    /// The file with the keys that seal secrets cannot be used.
    #[error("secrets.key_file: {0}")]
    KeyFile(String),
    /// The threads that serve the file cannot be started.
    #[error("the database's threads cannot be started: {0}")]
    Threads(String),
}

/// A database with every store of the domain on it.
#[async_trait]
pub(crate) trait Backend:
    ActivityStore
    + ApiKeyStore
    + AutomaticBidStore
    + BillingStore
    + DeliveryRecords
    + DeliveryStore
    + CampaignFeedStore
    + ErasureStore
    + FeedLeaseStore
    + FirstRunStore
    + JobStore
    + LeadStore
    + MatchStore
    + OverviewStore
    + PeopleStore
    + ProvisioningStore
    + RetentionStore
    + RowInspector
    + SessionStore
    + SignInTryStore
    + StatisticsStore
    + SubmissionStore
{
    /// The unreadable rows that were met through this value and its clones.
    fn quarantine(&self) -> Quarantine;

    /// Compares the database with the steps of this program; changes nothing.
    async fn schema_state(&self) -> Result<SchemaState, StoreError>;

    /// Runs the pending steps and returns their versions.
    async fn migrate(&self) -> Result<Vec<String>, MigrateError>;

    /// Compares the addresses of people as this program does, which a step cannot. Returns how many were compared otherwise.
    async fn fold_people(&self) -> Result<u64, StoreError>;

    /// Seals the secrets that the first key has not sealed, some in each transaction, and returns their number. One that
    /// cannot be opened is left as it is.
    async fn seal_secrets(&self) -> Result<u64, StoreError>;

    /// How busy the connections are, without asking the database.
    fn load(&self) -> Vec<ConnectionLoad>;

    /// Copies the database into a file that does not exist yet, and returns the copy's bytes.
    async fn back_up(&self, to: PathBuf) -> Result<u64, BackUpError>;
}
