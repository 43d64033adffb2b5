//! A connection: statements and their values on the way to the server, and the transaction around them.
//!
//! Diesel writes the statements, and `tokio_postgres` speaks the protocol. This file saves round trips, as each costs as
//! much as a small statement:
//!
//! - What begins a transaction travels with its first statement.
//! - Statements of which none needs another's outcome travel together (`load_together!`).
//! - A transaction's last writes travel with its commit ([`Conn::execute_at_commit`]).
//!
//! Statements reach the server in the order in which their futures are first polled.
//!
//! Each statement has a type of its own. What can do without the type is compiled once, and not for each of the hundreds.

use std::any::TypeId;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use diesel::connection::{CacheSize, DynInstrumentation, Instrumentation, InstrumentationEvent};
use diesel::pg::Pg;
use diesel::query_builder::{AsQuery, QueryFragment, QueryId};
use diesel::{ConnectionError, ConnectionResult, QueryResult};
use diesel_async::{AnsiTransactionManager, AsyncConnection, AsyncConnectionCore, SimpleAsyncConnection};
use futures::future::{BoxFuture, join, join_all};
use futures::{FutureExt as _, StreamExt as _, TryStreamExt as _, stream};
use tokio_postgres::types::Type;
use tokio_postgres::{Client, RowStream};

use super::connect::Session;
use super::encoded::{self, Encoded, Form, Prepared};
use super::errors::from_server;
use super::row::PgRow;

/// The connection that the mounted queries speak to.
pub(crate) struct Conn {
    client: Client,
    /// The statements that the server keeps for this connection. `None`: it keeps none.
    prepared: Option<Mutex<PreparedStatements>>,
    /// Held until a statement is on its way, so that none overtakes one that has to be prepared first.
    turn: tokio::sync::Mutex<()>,
    /// What work begins with, until it is on its way.
    opening: Mutex<Option<String>>,
    at_commit: Vec<Encoded>,
    is_in_transaction: bool,
    /// Whether a statement of the transaction has failed.
    has_failed: Arc<AtomicBool>,
    /// For migrations, whose transactions are Diesel's.
    transactions: AnsiTransactionManager,
    /// Is told which statements the server prepares.
    instrumentation: Mutex<DynInstrumentation>,
}

/// The statements that the server keeps for a connection.
#[derive(Default)]
struct PreparedStatements {
    by_type: HashMap<TypeId, Prepared>,
    by_text: HashMap<String, Prepared>,
    /// When the server last discarded its plans of them.
    planned: Option<Instant>,
}

/// How long the server keeps a plan. One that was made while a table was small reads all of it, however large it is by then:
/// the server itself makes new plans only when the table is next analyzed. To plan all statements anew takes some milliseconds.
const PLANS_LAST: Duration = Duration::from_secs(1);

impl PreparedStatements {
    /// Whether the plans are to be discarded now.
    fn have_old_plans(&mut self, now: Instant) -> bool {
        let are_old = self
            .planned
            .is_none_or(|planned| now.duration_since(planned) >= PLANS_LAST);
        if are_old {
            self.planned = Some(now);
        }
        are_old
    }
}

impl Conn {
    pub(super) fn new(client: Client, session: Session) -> Self {
        Self {
            client,
            prepared: (session == Session::Own).then(Mutex::default),
            turn: tokio::sync::Mutex::default(),
            opening: Mutex::default(),
            at_commit: Vec::new(),
            is_in_transaction: false,
            has_failed: Arc::default(),
            transactions: AnsiTransactionManager::default(),
            instrumentation: Mutex::new(DynInstrumentation::default_instrumentation()),
        }
    }

    /// Whether the connection can serve other work.
    pub(super) fn is_free(&self) -> bool {
        !self.client.is_closed() && !self.is_in_transaction
    }

    /// Begins work, in a transaction if this is how one begins. It travels with the first statement.
    pub(super) fn begin(&mut self, transaction: Option<&str>) {
        self.is_in_transaction = transaction.is_some();
        self.has_failed.store(false, Ordering::Relaxed);
        let has_old_plans =
            |known: &mut PreparedStatements| known.have_old_plans(Instant::now()).then_some(());
        let discarded = self.prepared(has_old_plans).map(|()| "DISCARD PLANS");
        let parts: Vec<&str> = transaction.into_iter().chain(discarded).collect();
        let opening = (!parts.is_empty()).then(|| parts.join(";"));
        *self.opening.get_mut().unwrap_or_else(PoisonError::into_inner) = opening;
    }

    /// Commits the transaction, and before that executes what was to be executed then.
    pub(super) async fn commit(&mut self) -> QueryResult<()> {
        let mut at_commit = std::mem::take(&mut self.at_commit);
        if self.has_failed.load(Ordering::Relaxed) {
            self.rollback().await?;
            // The server would answer the commit with a rollback, and call that a success.
            return Err(diesel::result::Error::RollbackTransaction);
        }
        if at_commit.is_empty() && self.take_opening().is_some() {
            self.is_in_transaction = false;
            return Ok(());
        }
        if self.prepared.is_none() {
            at_commit = Encoded::in_one(at_commit).into_iter().collect();
        }
        let this = &*self;
        let written = join_all(
            at_commit
                .into_iter()
                .map(|statement| this.executed(Ok(statement))),
        );
        let committed = async {
            drop(this.turn.lock().await);
            // A write that did not even get on its way has failed by now.
            let end = if this.has_failed.load(Ordering::Relaxed) {
                "ROLLBACK"
            } else {
                "COMMIT"
            };
            this.client
                .batch_execute(end)
                .await
                .map_err(|error| from_server(&error))
        };
        let (written, committed) = join(written, committed).await;
        // After an error the server answers the commit with a rollback.
        self.is_in_transaction = committed.is_err();
        written.into_iter().try_for_each(|written| written.map(drop))?;
        committed
    }

    pub(super) async fn rollback(&mut self) -> QueryResult<()> {
        self.at_commit.clear();
        if self.take_opening().is_none() {
            self.client
                .batch_execute("ROLLBACK")
                .await
                .map_err(|error| from_server(&error))?;
        }
        self.is_in_transaction = false;
        Ok(())
    }

    /// Executes a write together with the transaction's commit. It must be one of the transaction's last statements, and may
    /// change any number of rows. Where the server plans each statement anew, those of a transaction are one, which takes
    /// less time; so no two of them may change the same row.
    pub(super) fn execute_at_commit(
        &mut self,
        statement: &(impl QueryFragment<Pg> + QueryId),
    ) -> QueryResult<()> {
        let values_before = match self.prepared {
            Some(_) => 0,
            None => self.at_commit.iter().map(|write| write.values.len()).sum(),
        };
        let encoded = self.encoded(statement, id_of(statement), values_before)?;
        self.at_commit.push(encoded);
        Ok(())
    }

    fn take_opening(&self) -> Option<String> {
        self.opening.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn encoded(
        &self,
        query: &dyn QueryFragment<Pg>,
        id: Option<TypeId>,
        values_before: usize,
    ) -> QueryResult<Encoded> {
        let known = id.and_then(|id| self.prepared(|known| known.by_type.get(&id).cloned()));
        Encoded::of(query, id, known, values_before)
    }

    fn prepared<T>(&self, find: impl FnOnce(&mut PreparedStatements) -> Option<T>) -> Option<T> {
        let prepared = self.prepared.as_ref()?;
        find(&mut prepared.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Sends a statement and returns its rows as they come.
    async fn sent(&self, statement: Encoded) -> QueryResult<RowStream> {
        let sent = self.sent_in_turn(statement).await;
        if sent.is_err() {
            self.has_failed.store(true, Ordering::Relaxed);
        }
        sent
    }

    async fn sent_in_turn(&self, mut statement: Encoded) -> QueryResult<RowStream> {
        let turn = self.turn.lock().await;
        if self.prepared.is_some() {
            statement = self.with_form_prepared(statement).await?;
        }
        let mut opening = self.take_opening();
        if !statement.only_reads() {
            // Nothing is ever written outside the transaction.
            if let Some(begin) = opening.take()
                && let Err(error) = self.client.batch_execute(&begin).await
            {
                *self.opening.lock().unwrap_or_else(PoisonError::into_inner) = Some(begin);
                return Err(from_server(&error));
            }
        }
        drop(turn);
        let begun = async {
            match opening {
                Some(begin) => self.client.batch_execute(&begin).await,
                None => Ok(()),
            }
        };
        let Encoded { form, values, .. } = statement;
        let rows = async {
            match form {
                Form::Prepared(prepared) => self.client.query_raw(&prepared.statement, values).await,
                Form::Text(text) => {
                    let values = values.into_iter().map(|value| {
                        let kind = value.kind.clone();
                        (value, kind)
                    });
                    self.client.query_typed_raw(&text, values).await
                }
            }
        };
        let (begun, rows) = join(begun, rows).await;
        begun.map_err(|error| from_server(&error))?;
        rows.map_err(|error| from_server(&error))
    }

    /// Lets the server prepare a statement that it does not keep yet.
    async fn with_form_prepared(&self, statement: Encoded) -> QueryResult<Encoded> {
        let Encoded { id, form, values } = statement;
        let Form::Text(text) = form else {
            return Ok(Encoded { id, form, values });
        };
        let kinds: Vec<Type> = values.iter().map(|value| value.kind.clone()).collect();
        let known = self.prepared(|known| known.by_text.get(&text).cloned());
        let prepared = match known.filter(|known| known.statement.params() == kinds) {
            Some(known) => known,
            None => self.prepared_anew(&text, &kinds).await?,
        };
        self.prepared(|known| match id {
            Some(id) => known.by_type.insert(id, prepared.clone()),
            None => known.by_text.insert(text, prepared.clone()),
        });
        let form = Form::Prepared(prepared);
        Ok(Encoded { id, form, values })
    }

    async fn prepared_anew(&self, text: &str, kinds: &[Type]) -> QueryResult<Prepared> {
        let statement = self.client.prepare_typed(text, kinds).await;
        let statement = statement.map_err(|error| from_server(&error))?;
        self.instrumentation
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .on_connection_event(InstrumentationEvent::cache_query(text));
        Ok(Prepared {
            statement,
            only_reads: encoded::only_reads(text),
        })
    }

    async fn loaded(&self, statement: QueryResult<Encoded>) -> QueryResult<Vec<PgRow>> {
        let rows = self.sent(statement?).await?.map(|row| match row {
            Ok(row) => Ok(PgRow::new(row)),
            Err(error) => {
                self.has_failed.store(true, Ordering::Relaxed);
                Err(from_server(&error))
            }
        });
        rows.try_collect().await
    }

    async fn executed(&self, statement: QueryResult<Encoded>) -> QueryResult<usize> {
        let rows = self.sent(statement?).await?;
        let mut rows = std::pin::pin!(rows);
        while let Some(row) = rows.next().await {
            row.map_err(|error| {
                self.has_failed.store(true, Ordering::Relaxed);
                from_server(&error)
            })?;
        }
        Ok(usize::try_from(rows.rows_affected().unwrap_or(0)).unwrap_or(usize::MAX))
    }

    /// Sends a statement and returns its rows.
    pub(super) fn load(
        &self,
        statement: &(impl QueryFragment<Pg> + QueryId),
    ) -> BoxFuture<'_, QueryResult<Vec<PgRow>>> {
        self.loaded(self.encoded(statement, id_of(statement), 0)).boxed()
    }

    /// Sends a statement and returns how many rows it changed.
    pub(super) fn execute(
        &self,
        statement: &(impl QueryFragment<Pg> + QueryId),
    ) -> BoxFuture<'_, QueryResult<usize>> {
        self.executed(self.encoded(statement, id_of(statement), 0))
            .boxed()
    }

    async fn execute_batch(&self, text: &str) -> QueryResult<()> {
        let turn = self.turn.lock().await;
        let opening = self.take_opening();
        let text = match &opening {
            Some(begin) => Cow::from(format!("{begin};{text}")),
            None => Cow::from(text),
        };
        drop(turn);
        self.client.batch_execute(&text).await.map_err(|error| {
            self.has_failed.store(true, Ordering::Relaxed);
            from_server(&error)
        })
    }
}

/// Of a statement's type, if all statements of that type are alike.
fn id_of<Q: QueryId>(_: &Q) -> Option<TypeId> {
    Q::query_id()
}

impl SimpleAsyncConnection for Conn {
    async fn batch_execute(&mut self, text: &str) -> QueryResult<()> {
        self.execute_batch(text).await
    }
}

/// As Diesel's migrations run statements.
impl AsyncConnectionCore for Conn {
    type ExecuteFuture<'conn, 'query> = BoxFuture<'conn, QueryResult<usize>>;
    type LoadFuture<'conn, 'query> = BoxFuture<'conn, QueryResult<Self::Stream<'conn, 'query>>>;
    type Stream<'conn, 'query> = stream::Iter<std::vec::IntoIter<QueryResult<PgRow>>>;
    type Row<'conn, 'query> = PgRow;
    type Backend = Pg;

    fn load<'conn, 'query, T>(&'conn mut self, source: T) -> Self::LoadFuture<'conn, 'query>
    where
        T: AsQuery + 'query,
        T::Query: QueryFragment<Pg> + QueryId + 'query,
    {
        let rows = Conn::load(self, &source.as_query());
        async move {
            let rows: Vec<_> = rows.await?.into_iter().map(Ok).collect();
            Ok(stream::iter(rows))
        }
        .boxed()
    }

    fn execute_returning_count<'conn, 'query, T>(
        &'conn mut self,
        source: T,
    ) -> Self::ExecuteFuture<'conn, 'query>
    where
        T: QueryFragment<Pg> + QueryId + 'query,
    {
        self.execute(&source)
    }
}

/// What Diesel's migrations need.
impl AsyncConnection for Conn {
    type TransactionManager = AnsiTransactionManager;

    async fn establish(_: &str) -> ConnectionResult<Self> {
        Err(ConnectionError::BadConnection(
            "a Connector makes connections".to_owned(),
        ))
    }

    fn transaction_state(&mut self) -> &mut AnsiTransactionManager {
        &mut self.transactions
    }

    fn instrumentation(&mut self) -> &mut dyn Instrumentation {
        &mut **self
            .instrumentation
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn set_instrumentation(&mut self, instrumentation: impl Instrumentation) {
        self.instrumentation = Mutex::new(instrumentation.into());
    }

    fn set_prepared_statement_cache_size(&mut self, _: CacheSize) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_are_discarded_at_first_and_then_once_in_a_while() {
        let mut known = PreparedStatements::default();
        let start = Instant::now();
        assert!(
            known.have_old_plans(start),
            "the server may have made them long before"
        );
        assert!(!known.have_old_plans(start + PLANS_LAST / 2));
        assert!(known.have_old_plans(start + PLANS_LAST));
        assert!(!known.have_old_plans(start + PLANS_LAST));
    }
}
