//! The stores on PostgreSQL: a pool of connections and how work runs on one of them.
//!
//! The statements are in [`queries`], mounted here with this module's [`Conn`], [`Store`] and `words`.

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bidloop_domain::model::OrganizationId;
use bidloop_domain::port::{Quarantine, StoreError};
use deadpool::managed::{Object, Pool, PoolError, TimeoutType};

use crate::backend::{Backend, ConnectionLoad, OpenError};
use crate::backup::BackUpError;
use crate::database::PostgresTls;
use crate::failure::Failure;
use crate::grouping::{Lanes, Locks};
use crate::low_water::LowWater;
use crate::migrations::{MigrateError, SchemaState};
use crate::sealing::Sealer;
use crate::work::{Steps, Work, apart};

use self::connect::Connector;
pub(crate) use self::connect::Session;
pub(crate) use self::connection::Conn;
use self::shares::Shares;

mod batch;
mod connect;
mod connection;
mod encoded;
mod errors;
mod migrate;
mod row;
mod run;
mod shares;

/// Jobs of a page: what the protocol gives at most.
const PAGE_SIZE: u32 = 500;

#[diesel::declare_sql_function]
extern "SQL" {
    /// The elements of an array, a row for each.
    fn unnest(values: diesel::sql_types::Array<diesel::sql_types::Text>) -> diesel::sql_types::Text;
}

#[macro_use]
mod words;
#[path = "../queries/mod.rs"]
mod queries;
#[cfg(test)]
mod tests;

/// How many groups of decisions on leads are made at the same time. With a second one both are smaller, and each costs about
/// the same.
const DECISION_LANES: usize = 1;
/// How long, at most, a group of decisions waits for the callers of the group before, who look up their next leads first. On
/// a slow machine 16 callers take some 5 ms for that. A group that goes without some of them costs as much as a whole one.
const RETURNING: Duration = Duration::from_millis(12);
/// How long, at most, a group of look-ups waits for callers whose last decision was answered. Most are back within 1 ms, and
/// the first of them would be a group of its own.
const LOOKING_UP_AGAIN: Duration = Duration::from_millis(3);
/// How many groups of look-ups of a lead's own record are read at the same time.
const LOCATION_LANES: usize = 1;
/// How many groups of ends of bids are recorded at the same time.
const BID_END_LANES: usize = 1;
/// How many groups of ends of deliveries are recorded at the same time: one while another waits for the disk.
const END_LANES: usize = 2;
/// How long a group of ends is gathered. Their endpoints get the next deliveries meanwhile.
const GATHERING: Duration = Duration::from_millis(5);
/// How often a transaction is run that others are in the way of.
const ATTEMPTS: u32 = 5;
/// How many bytes of fresh counts one transaction gathers: those of some 250,000.
const GATHERED_AT_ONCE: i64 = 16_000_000;
/// How many bytes of fresh counts one transaction adds up that were not gathered: those of some 20,000.
const ADDED_UP_AT_ONCE: i64 = 1_200_000;
/// How long a caller waits for a connection, or for one to be made.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(5);
/// How long any work may take; the server ends its statements before that.
const WORK_TIMEOUT: Duration = Duration::from_secs(60);

/// All stores on a PostgreSQL database. Clones share its parts.
#[derive(Clone)]
pub(crate) struct Store(Arc<Parts>);

/// What a [`Store`] consists of.
#[derive(Clone)]
pub(crate) struct Parts {
    pool: Pool<Connector>,
    /// What the pool's connections are for.
    kind: &'static str,
    shares: Shares,
    connector: Connector,
    /// Decisions on leads that arrive at the same time share a commit.
    decisions: Lanes<queries::Decisions>,
    /// So do ends of deliveries.
    ends: Lanes<queries::Ends>,
    /// So do ends of bids.
    bid_ends: Lanes<queries::BidEnds>,
    /// Look-ups of leads before a decision share statements.
    look_ups: Lanes<queries::LookUps>,
    /// So do look-ups of a lead's own record.
    locations: Lanes<queries::Locations>,
    pub(crate) pending_from: Arc<queries::PendingFrom>,
    pub(crate) overdue_from: Arc<LowWater>,
    pub(crate) bids_due_from: Arc<queries::DueFrom>,
    pub(crate) intents_from: Arc<LowWater>,
    pub(crate) fresh_counts_from: Arc<LowWater>,
    pub(crate) served_lists: Arc<queries::ServedLists>,
    pub(crate) quarantine: Quarantine,
    pub(crate) sealer: Sealer,
}

impl Deref for Store {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
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
        Connector::new(url, tls).map(|connector| connector.hosts_without_tls())
    }

    /// The store for requests, and the one for workers: each has connections of its own, so neither takes those of the
    /// other. Connections are made when they are first needed.
    pub(crate) fn open(
        url: &str,
        tls: PostgresTls,
        session: Session,
        (for_requests, for_workers): (usize, usize),
        sealer: Sealer,
    ) -> Result<(Self, Self), OpenError> {
        let connector = Connector::new(url, tls)?.with_session(session);
        let requests = Parts {
            pool: pool(&connector, for_requests)?,
            kind: "requests",
            shares: Shares::of(for_requests),
            connector: connector.clone(),
            decisions: Lanes::expecting(DECISION_LANES, RETURNING),
            ends: Lanes::gathering(END_LANES, GATHERING),
            bid_ends: Lanes::new(BID_END_LANES),
            look_ups: Lanes::expecting_others(LOOKING_UP_AGAIN),
            locations: Lanes::new(LOCATION_LANES),
            pending_from: Arc::default(),
            overdue_from: Arc::new(LowWater::patient()),
            bids_due_from: Arc::default(),
            intents_from: Arc::default(),
            fresh_counts_from: Arc::new(LowWater::patient()),
            served_lists: Arc::default(),
            quarantine: Quarantine::default(),
            sealer,
        };
        let workers = Parts {
            pool: pool(&connector, for_workers)?,
            kind: "workers",
            shares: Shares::of(for_workers),
            decisions: Lanes::expecting(DECISION_LANES, RETURNING),
            ends: Lanes::gathering(END_LANES, GATHERING),
            look_ups: Lanes::expecting_others(LOOKING_UP_AGAIN),
            locations: Lanes::new(LOCATION_LANES),
            bid_ends: Lanes::new(BID_END_LANES),
            ..requests.clone()
        };
        Ok((Self(Arc::new(requests)), Self(Arc::new(workers))))
    }

    #[expect(clippy::unnecessary_wraps, reason = "SQLite has none")]
    fn shared_look_ups(&self) -> Option<&Lanes<queries::LookUps>> {
        Some(&self.look_ups)
    }

    #[expect(clippy::unnecessary_wraps, reason = "SQLite has none")]
    fn shared_locations(&self) -> Option<&Lanes<queries::Locations>> {
        Some(&self.locations)
    }

    #[expect(clippy::unnecessary_wraps, reason = "SQLite has none")]
    fn shared_bid_ends(&self) -> Option<&Lanes<queries::BidEnds>> {
        Some(&self.bid_ends)
    }

    /// Whether the server plans each statement anew.
    fn plans_anew(&self) -> bool {
        self.connector.session == Session::OfAPooler
    }

    /// Runs statements, each on its own snapshot. They must not write.
    pub(crate) async fn read<T: Send + 'static>(&self, work: impl Work<Conn, T>) -> Result<T, StoreError> {
        let (mut steps, kept) = apart(work);
        self.run(Transaction::None, &mut steps).await?;
        kept.take()
    }

    /// As [`read`](Self::read), for statements that read some rows by their keys.
    pub(crate) async fn look_up<T: Send + 'static>(&self, work: impl Work<Conn, T>) -> Result<T, StoreError> {
        self.read(work).await
    }

    /// As [`snapshot`](Self::snapshot), for statements that find each row by a key or an index, whatever is asked for: the
    /// server keeps their plans. Left to itself it may plan them anew each time, and reads the ends of indexes for that.
    pub(crate) async fn snapshot_by_keys<T: Send + 'static>(
        &self,
        work: impl Work<Conn, T>,
    ) -> Result<T, StoreError> {
        self.transact(Transaction::SnapshotByKeys, work).await
    }

    /// Runs statements on one snapshot. They must not write.
    pub(crate) async fn snapshot<T: Send + 'static>(
        &self,
        work: impl Work<Conn, T>,
    ) -> Result<T, StoreError> {
        self.transact(Transaction::Snapshot, work).await
    }

    /// Runs statements in a transaction that is committed if the work succeeds and rolled back if it fails. It is
    /// run anew if another transaction was in its way, so the work must do nothing but speak to the database.
    pub(crate) async fn write<T: Send + 'static>(&self, work: impl Work<Conn, T>) -> Result<T, StoreError> {
        self.transact(Transaction::Write, work).await
    }

    async fn transact<T: Send + 'static>(
        &self,
        transaction: Transaction,
        work: impl Work<Conn, T>,
    ) -> Result<T, StoreError> {
        let (steps, kept) = apart(work);
        self.run_to_its_end(transaction, None, steps).await?;
        kept.take()
    }

    /// As [`write`](Self::write), for statements that find each row by its key. `None`: nothing was changed, because a lock
    /// was not had as `locks` asks.
    pub(crate) async fn write_by_keys<T: Send + 'static>(
        &self,
        locks: Locks,
        work: impl Work<Conn, T>,
    ) -> Result<Option<T>, StoreError> {
        let (steps, kept) = apart(work);
        let transaction = Transaction::WriteByKeys(locks);
        match self.run_to_its_end(transaction, None, steps).await {
            Ok(()) => kept.take().map(Some),
            Err(Failure::Locked(_)) if locks == Locks::Soon => Ok(None),
            Err(failure) => Err(failure.into()),
        }
    }

    /// As [`write`](Self::write), for a command of an organization: such commands hold a part of the connections at most,
    /// however long they wait for each other.
    pub(crate) async fn write_for<T: Send + 'static>(
        &self,
        organization: &OrganizationId,
        work: impl Work<Conn, T>,
    ) -> Result<T, StoreError> {
        let (steps, kept) = apart(work);
        self.run_to_its_end(Transaction::Write, Some(organization.clone()), steps)
            .await?;
        kept.take()
    }

    /// Runs a transaction to its end even if the caller is dropped: a pooled connection with an open transaction would keep
    /// its locks until it is next used. `share_of` is the organization whose share of the connections it takes.
    async fn run_to_its_end(
        &self,
        transaction: Transaction,
        share_of: Option<OrganizationId>,
        mut steps: Steps<Conn>,
    ) -> Result<(), Failure> {
        let store = self.clone();
        let run = async move {
            let _share = match share_of {
                Some(organization) => {
                    let share = store.shares.take(organization.as_str(), CONNECTION_TIMEOUT);
                    Some(share.await.map_err(Failure::Store)?)
                }
                None => None,
            };
            store.run(transaction, &mut steps).await
        };
        let cut_short = |error| Err(Failure::fault(format!("a transaction was cut short: {error}")));
        tokio::spawn(run).await.unwrap_or_else(cut_short)
    }

    async fn run(&self, transaction: Transaction, steps: &mut Steps<Conn>) -> Result<(), Failure> {
        let mut attempt = 1;
        loop {
            let mut conn = self.connection().await?;
            let mut commits = false;
            let run = async {
                conn.begin(transaction.begin(self.connector.session).as_deref());
                let done = steps(&mut conn).await;
                commits = transaction.writes() && done.is_ok();
                transaction.end(&mut conn, done).await
            };
            let Ok(ran) = tokio::time::timeout(WORK_TIMEOUT, run).await else {
                // A transaction may be open on the connection, so it does not go back into the pool.
                drop(Object::take(conn));
                return Err(Failure::unavailable("the database took too long"));
            };
            let failure = match ran {
                Ok(()) => {
                    if transaction.is_snapshot() {
                        // Nobody waits for its end. The pool discards the connection if there is none.
                        tokio::spawn(async move { tokio::time::timeout(WORK_TIMEOUT, conn.commit()).await });
                    }
                    return Ok(());
                }
                Err(failure) => failure,
            };
            let repeatable = match &failure {
                Failure::Conflict(_) => true,
                Failure::Disconnected(_) => {
                    drop(Object::take(conn));
                    // Once a commit is on its way, it is unknown whether the server committed.
                    !commits
                }
                Failure::Locked(_) | Failure::Store(_) => false,
            };
            if attempt == ATTEMPTS || !repeatable {
                return Err(failure);
            }
            tracing::debug!(attempt, "repeating a transaction");
            tokio::time::sleep(Duration::from_millis(u64::from(5 * attempt * attempt))).await;
            attempt += 1;
        }
    }

    async fn connection(&self) -> Result<Object<Connector>, Failure> {
        self.pool.get().await.map_err(|error| {
            Failure::unavailable(match error {
                PoolError::Timeout(TimeoutType::Wait) => "all connections are in use".to_owned(),
                PoolError::Timeout(_) => "the server does not answer".to_owned(),
                PoolError::Backend(error) => error.to_string(),
                error => error.to_string(),
            })
        })
    }
}

/// Makes a pool without connections.
fn pool(connector: &Connector, connections: usize) -> Result<Pool<Connector>, OpenError> {
    Pool::builder(connector.clone())
        .max_size(connections.max(1))
        .runtime(deadpool::Runtime::Tokio1)
        .wait_timeout(Some(CONNECTION_TIMEOUT))
        .create_timeout(Some(CONNECTION_TIMEOUT))
        .build()
        .map_err(|error| OpenError::InvalidUrl(error.to_string()))
}

/// What work is wrapped in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Transaction {
    None,
    SnapshotByKeys,
    Snapshot,
    Write,
    WriteByKeys(Locks),
}

impl Transaction {
    fn is_snapshot(self) -> bool {
        matches!(self, Self::Snapshot | Self::SnapshotByKeys)
    }

    fn writes(self) -> bool {
        matches!(self, Self::Write | Self::WriteByKeys(_))
    }

    /// What begins it.
    fn begin(self, session: Session) -> Option<String> {
        match self {
            Self::None => None,
            Self::SnapshotByKeys => Some(session.begin_snapshot_by_keys()),
            Self::Snapshot => Some(session.begin_snapshot()),
            Self::Write => Some(session.begin_write()),
            Self::WriteByKeys(locks) => Some(session.begin_write_by_keys(locks)),
        }
    }

    /// Commits what was written and rolls back what failed.
    async fn end(self, conn: &mut Conn, done: Result<(), Failure>) -> Result<(), Failure> {
        if self == Self::None {
            return done;
        }
        match &done {
            Ok(()) if self.writes() => conn.commit().await?,
            Ok(()) => {}
            Err(_) => {
                if let Err(error) = conn.rollback().await {
                    // The pool discards the connection, and the server rolls back with it.
                    tracing::debug!(%error, "a transaction could not be rolled back");
                }
            }
        }
        done
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
            kind: self.kind,
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
