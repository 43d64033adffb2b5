//! Statements on their way to the server, and what is read of their rows. The rows of a statement are read when all are there,
//! by code that depends on what is read alone, and not on the statement.

use diesel::QueryResult;
use diesel::deserialize::FromSqlRow;
use diesel::dsl::Limit;
use diesel::pg::Pg;
use diesel::query_builder::{AsQuery, QueryFragment, QueryId};
use diesel::query_dsl::CompatibleType;
use diesel::query_dsl::methods::LimitDsl;
use diesel::result::Error;
use futures::FutureExt as _;
use futures::future::BoxFuture;

use super::Conn;
use super::row::PgRow;

/// What the trait of this name in `diesel_async` offers. Statements can be sent while others are on their way.
pub(crate) trait RunQueryDsl: Sized {
    /// Executes the statement and returns how many rows it changed.
    fn execute(self, conn: &Conn) -> BoxFuture<'_, QueryResult<usize>>
    where
        Self: QueryFragment<Pg> + QueryId,
    {
        conn.execute(&self)
    }

    /// Loads all rows.
    fn load<U>(self, conn: &Conn) -> BoxFuture<'_, QueryResult<Vec<U>>>
    where
        Self: LoadQuery<U>,
    {
        self.load_all(conn)
    }

    /// Loads the first row that comes, or fails with `NotFound`.
    fn get_result<U: Send + 'static>(self, conn: &Conn) -> BoxFuture<'_, QueryResult<U>>
    where
        Self: LoadQuery<U>,
    {
        first(self.load_all(conn))
    }

    /// Asks for one row, or fails with `NotFound`.
    fn first<U: Send + 'static>(self, conn: &Conn) -> BoxFuture<'_, QueryResult<U>>
    where
        Self: LimitDsl,
        Limit<Self>: LoadQuery<U>,
    {
        first(LimitDsl::limit(self, 1).load_all(conn))
    }
}

impl<Q> RunQueryDsl for Q {}

/// A statement of whose rows `U` can be read.
pub(crate) trait LoadQuery<U> {
    /// Sends the statement and reads its rows.
    fn load_all(self, conn: &Conn) -> BoxFuture<'_, QueryResult<Vec<U>>>;
}

impl<Q, U, ST> LoadQuery<U> for Q
where
    Q: AsQuery<Query: QueryFragment<Pg> + QueryId, SqlType: CompatibleType<U, Pg, SqlType = ST>>,
    U: FromSqlRow<ST, Pg> + Send + 'static,
{
    fn load_all(self, conn: &Conn) -> BoxFuture<'_, QueryResult<Vec<U>>> {
        read(conn.load(&self.as_query()))
    }
}

fn read<U: FromSqlRow<ST, Pg> + Send + 'static, ST>(
    rows: BoxFuture<'_, QueryResult<Vec<PgRow>>>,
) -> BoxFuture<'_, QueryResult<Vec<U>>> {
    async move {
        let rows = rows.await?;
        let mut read = Vec::with_capacity(rows.len());
        for row in &rows {
            read.push(U::build_from_row(row).map_err(Error::DeserializationError)?);
        }
        Ok(read)
    }
    .boxed()
}

fn first<U: Send + 'static>(rows: BoxFuture<'_, QueryResult<Vec<U>>>) -> BoxFuture<'_, QueryResult<U>> {
    async move { rows.await?.into_iter().next().ok_or(Error::NotFound) }.boxed()
}
