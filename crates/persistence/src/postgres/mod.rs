//! The stores on PostgreSQL: a pool of connections and how work runs on one of them.
//!
//! The statements are in [`queries`], mounted here with this module's [`Conn`], [`Store`] and macros.

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bidloop_domain::port::{AcceptBid, Quarantine, StoreError};
use deadpool::managed::{Object, PoolError, TimeoutType};
use diesel_async::pooled_connection::deadpool::Pool;
use diesel_async::pooled_connection::{AsyncDieselConnectionManager, ManagerConfig, RecyclingMethod};
use diesel_async::{AnsiTransactionManager, AsyncPgConnection, TransactionManager};
use futures::FutureExt as _;

use crate::backend::{Backend, ConnectionLoad, OpenError};
use crate::backup::BackUpError;
use crate::database::PostgresTls;
use crate::failure::Failure;
use crate::grouping::Lanes;
use crate::migrations::{MigrateError, SchemaState};
use crate::sealing::Sealer;
use crate::work::Work;

mod batch;
mod connect;
mod migrate;
#[cfg(test)]
mod tests;

/// The connection that the mounted queries speak to.
pub(crate) type Conn = AsyncPgConnection;

/// Jobs of a page: what the protocol gives at most.
const PAGE_SIZE: u32 = 500;

/// Into how many parts a count is spread that each end of a delivery adds to: a transaction holds its part until the disk
/// has it.
const COUNTED_IN_PARTS: i64 = 4;

/// Locks the rows that a query finds until the transaction ends.
macro_rules! for_update {
    ($query:expr) => {
        $query.for_update()
    };
}

/// Locks the rows that a query finds until the transaction ends, but not against `for_key_share!`.
macro_rules! for_no_key_update {
    ($query:expr) => {
        $query.for_no_key_update()
    };
}

/// Keeps the rows that a query finds from being removed or locked by `for_update!` until the transaction ends; others may
/// do the same, and may change them.
macro_rules! for_key_share {
    ($query:expr) => {
        $query.for_key_share()
    };
}

/// Keeps the rows that a query finds from changing until the transaction ends; others may do the same.
macro_rules! for_share {
    ($query:expr) => {
        $query.for_share()
    };
}

/// Executes statements of which none depends on another's outcome: sent at once, they cost one way to the server.
macro_rules! execute_together {
    ($conn:expr, $($statement:expr),+ $(,)?) => {{
        let conn: &Conn = $conn;
        futures::try_join!($($statement.execute(&mut &*conn)),+)
    }};
}

/// Whether a column has one of some values. They are one array.
macro_rules! one_of {
    ($column:expr, $values:expr) => {
        $column.eq_any($values)
    };
}

/// Whether a column is within a dense range: between its ends, which makes it a range of an index, and one of its
/// numbers, which keeps the planner from taking it for so many rows that it had better read whole tables.
macro_rules! dense_range {
    ($column:expr, $first:expr, $last:expr) => {
        $column
            .between($first, $last)
            .and($column.eq_any(($first..=$last).collect::<Vec<i64>>()))
    };
}

#[path = "../queries/mod.rs"]
mod queries;

/// How many groups of bids are accepted at the same time.
const BID_LANES: usize = 4;
/// How often a transaction is run that others are in the way of.
const ATTEMPTS: u32 = 5;
/// How long a caller waits for a connection, or for one to be made.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(5);
/// How long any work may take; the server ends its statements before that.
const WORK_TIMEOUT: Duration = Duration::from_secs(60);

/// All stores on a PostgreSQL database.
#[derive(Clone)]
pub(crate) struct Store {
    pool: Pool<AsyncPgConnection>,
    connector: connect::Connector,
    /// Bids that arrive at the same time share a commit.
    bids: Lanes<Arc<queries::BidCommand>, AcceptBid>,
    pub(crate) quarantine: Quarantine,
    pub(crate) sealer: Sealer,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("postgres::Store")
            .field("pool", &self.pool.status())
            .finish_non_exhaustive()
    }
}

impl Store {
    /// Refuses a URL that can be no server's; connects to nothing. Returns the hosts that may be reached without TLS.
    pub(crate) fn hosts_without_tls(url: &str, tls: PostgresTls) -> Result<Vec<String>, OpenError> {
        connect::Connector::new(url, tls).map(|connector| connector.hosts_without_tls())
    }

    /// Makes a pool; connections are made when they are first needed.
    pub(crate) fn open(
        url: &str,
        tls: PostgresTls,
        connections: usize,
        sealer: Sealer,
    ) -> Result<Self, OpenError> {
        let connector = connect::Connector::new(url, tls)?;
        let mut config = ManagerConfig::<AsyncPgConnection>::default();
        // The default asks the server before each use, which costs a third of the throughput.
        config.recycling_method = RecyclingMethod::Fast;
        let setup = connector.clone();
        config.custom_setup = Box::new(move |_| {
            let connector = setup.clone();
            async move { connector.connect().await }.boxed()
        });
        let pool = Pool::builder(AsyncDieselConnectionManager::new_with_config(
            String::new(),
            config,
        ))
        .max_size(connections.max(1))
        .runtime(deadpool::Runtime::Tokio1)
        .wait_timeout(Some(CONNECTION_TIMEOUT))
        .create_timeout(Some(CONNECTION_TIMEOUT))
        .build()
        .map_err(|error| OpenError::InvalidUrl(error.to_string()))?;
        Ok(Self {
            pool,
            connector,
            bids: Lanes::new(BID_LANES),
            quarantine: Quarantine::default(),
            sealer,
        })
    }

    /// Runs statements, each on its own snapshot. They must not write.
    pub(crate) async fn read<T: Send + 'static>(&self, work: impl Work<Conn, T>) -> Result<T, StoreError> {
        self.run(Transaction::None, work).await
    }

    /// As [`read`](Self::read), for statements that read some rows by their keys.
    pub(crate) async fn look_up<T: Send + 'static>(&self, work: impl Work<Conn, T>) -> Result<T, StoreError> {
        self.read(work).await
    }

    /// Runs statements on one snapshot. They must not write.
    pub(crate) async fn snapshot<T: Send + 'static>(
        &self,
        work: impl Work<Conn, T>,
    ) -> Result<T, StoreError> {
        let store = self.clone();
        survive_cancellation(async move { store.run(Transaction::Snapshot, work).await }).await
    }

    /// Runs statements in a transaction that is committed if the work succeeds and rolled back if it fails. It is
    /// run anew if another transaction was in its way, so the work must do nothing but speak to the database.
    pub(crate) async fn write<T: Send + 'static>(&self, work: impl Work<Conn, T>) -> Result<T, StoreError> {
        let store = self.clone();
        survive_cancellation(async move { store.run(Transaction::Write, work).await }).await
    }

    async fn run<T: Send + 'static>(
        &self,
        transaction: Transaction,
        work: impl Work<Conn, T>,
    ) -> Result<T, StoreError> {
        let mut attempt = 1;
        loop {
            let mut conn = self.connection().await?;
            let mut begun = false;
            let work = work.clone();
            let run = async {
                transaction.begin(&mut conn).await?;
                begun = true;
                let done = work(&mut conn).await;
                transaction.end(&mut conn, done).await
            };
            let Ok(ran) = tokio::time::timeout(WORK_TIMEOUT, run).await else {
                // A transaction may be open on the connection, so it does not go back into the pool.
                drop(Object::take(conn));
                return Err(StoreError::Unavailable("the database took too long".to_owned()));
            };
            let failure = match ran {
                Ok(value) => return Ok(value),
                Err(failure) => failure,
            };
            let repeatable = match &failure {
                Failure::Conflict(_) => true,
                Failure::Disconnected(_) => {
                    drop(Object::take(conn));
                    // Whether the server committed is unknown, unless there was nothing to commit or the server had
                    // closed the connection while it was in the pool.
                    transaction != Transaction::Write || !begun
                }
                Failure::Store(_) => false,
            };
            if attempt == ATTEMPTS || !repeatable {
                return Err(failure.into());
            }
            tracing::debug!(attempt, "repeating a transaction");
            tokio::time::sleep(Duration::from_millis(u64::from(5 * attempt * attempt))).await;
            attempt += 1;
        }
    }

    async fn connection(
        &self,
    ) -> Result<Object<AsyncDieselConnectionManager<AsyncPgConnection>>, StoreError> {
        self.pool.get().await.map_err(|error| {
            StoreError::Unavailable(match error {
                PoolError::Timeout(TimeoutType::Wait) => "all connections are in use".to_owned(),
                PoolError::Timeout(_) => "the server does not answer".to_owned(),
                PoolError::Backend(error) => error.to_string(),
                error => error.to_string(),
            })
        })
    }
}

/// What work is wrapped in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Transaction {
    None,
    Snapshot,
    Write,
}

impl Transaction {
    async fn begin(self, conn: &mut Conn) -> Result<(), Failure> {
        let begin = match self {
            Self::None => return Ok(()),
            Self::Snapshot => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
            Self::Write => "BEGIN",
        };
        Ok(AnsiTransactionManager::begin_transaction_sql(conn, begin).await?)
    }

    /// Commits what succeeded and rolls back what failed.
    async fn end<T>(self, conn: &mut Conn, done: Result<T, Failure>) -> Result<T, Failure> {
        if self == Self::None {
            return done;
        }
        match &done {
            Ok(_) => AnsiTransactionManager::commit_transaction(conn).await?,
            Err(_) => {
                if let Err(error) = AnsiTransactionManager::rollback_transaction(conn).await {
                    // The pool discards the connection, and the server rolls back with it.
                    tracing::debug!(%error, "a transaction could not be rolled back");
                }
            }
        }
        done
    }
}

/// Runs a transaction to its end even if the caller is dropped: a pooled connection with an open transaction would
/// keep its locks until it is next used.
async fn survive_cancellation<T: Send + 'static>(
    work: impl Future<Output = Result<T, StoreError>> + Send + 'static,
) -> Result<T, StoreError> {
    match tokio::spawn(work).await {
        Ok(answer) => answer,
        Err(error) => Err(StoreError::Backend(format!(
            "a transaction was cut short: {error}"
        ))),
    }
}

#[async_trait]
impl Backend for Store {
    fn quarantine(&self) -> Quarantine {
        self.quarantine.clone()
    }

    async fn schema_state(&self) -> Result<SchemaState, StoreError> {
        self.read(async |conn: &mut Conn| migrate::schema_state(conn).await)
            .await
    }

    async fn migrate(&self) -> Result<Vec<String>, MigrateError> {
        migrate::migrate(&self.connector).await
    }

    fn load(&self) -> Vec<ConnectionLoad> {
        let status = self.pool.status();
        vec![ConnectionLoad {
            kind: "pool",
            connections: status.max_size,
            work: status.size.saturating_sub(status.available) + status.waiting,
        }]
    }

    async fn back_up(&self, _: PathBuf) -> Result<u64, BackUpError> {
        Err(BackUpError::Server)
    }

    async fn fold_people(&self) -> Result<u64, StoreError> {
        self.fold_what_is_not().await
    }

    async fn seal_secrets(&self) -> Result<u64, StoreError> {
        self.seal_what_is_not().await
    }
}
