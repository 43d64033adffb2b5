//! Statements that stay prepared.
//!
//! A connection prepares a statement once and finds it again by its text. Diesel prepares each `UPDATE`, each literal, each
//! insert of an optional value and each list anew, because the texts of such statements may differ without end. Ours do
//! not: every value is bound, and a list of values is bound as one.

use diesel::QueryResult;
use diesel::backend::Backend;
use diesel::dsl::Limit;
use diesel::query_builder::{AsQuery, AstPass, Query, QueryFragment, QueryId};
use diesel::query_dsl::methods::LimitDsl;
use diesel_async::AsyncConnectionCore;
use diesel_async::methods::{ExecuteDsl, LoadQuery};
use diesel_async::return_futures::{GetResult, LoadFuture};

/// A statement that its connection keeps prepared.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Prepared<Q>(Q);

impl<Q: QueryId> QueryId for Prepared<Q> {
    type QueryId = Q::QueryId;
    const HAS_STATIC_QUERY_ID: bool = Q::HAS_STATIC_QUERY_ID;
}

impl<Q: Query> Query for Prepared<Q> {
    type SqlType = Q::SqlType;
}

impl<DB: Backend, Q: QueryFragment<DB>> QueryFragment<DB> for Prepared<Q> {
    fn walk_ast<'b>(&'b self, out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        self.0.walk_ast(out)
    }

    fn is_safe_to_cache_prepared(&self, _: &DB) -> QueryResult<bool> {
        Ok(true)
    }
}

/// What the trait of this name in `diesel_async` offers, on statements that stay prepared.
pub(crate) trait RunQueryDsl<Conn>: Sized {
    /// Executes the statement and returns how many rows it changed.
    fn execute<'conn, 'query>(self, conn: &'conn mut Conn) -> Conn::ExecuteFuture<'conn, 'query>
    where
        Conn: AsyncConnectionCore + Send,
        Prepared<Self>: ExecuteDsl<Conn> + 'query,
    {
        ExecuteDsl::execute(Prepared(self), conn)
    }

    /// Loads all rows.
    fn load<'query, 'conn, U>(
        self,
        conn: &'conn mut Conn,
    ) -> LoadFuture<'conn, 'query, Prepared<Self::Query>, Conn, U>
    where
        U: Send,
        Conn: AsyncConnectionCore,
        Self: AsQuery,
        Prepared<Self::Query>: LoadQuery<'query, Conn, U> + 'query,
    {
        diesel_async::RunQueryDsl::load(Prepared(self.as_query()), conn)
    }

    /// Loads the first row that comes, or fails with `NotFound`.
    fn get_result<'query, 'conn, U>(
        self,
        conn: &'conn mut Conn,
    ) -> GetResult<'conn, 'query, Prepared<Self::Query>, Conn, U>
    where
        U: Send + 'conn,
        Conn: AsyncConnectionCore,
        Self: AsQuery,
        Prepared<Self::Query>: LoadQuery<'query, Conn, U> + 'query,
    {
        diesel_async::RunQueryDsl::get_result(Prepared(self.as_query()), conn)
    }

    /// Asks for one row, or fails with `NotFound`.
    fn first<'query, 'conn, U>(
        self,
        conn: &'conn mut Conn,
    ) -> GetResult<'conn, 'query, Prepared<<Limit<Self> as AsQuery>::Query>, Conn, U>
    where
        U: Send + 'conn,
        Conn: AsyncConnectionCore,
        Self: LimitDsl,
        Limit<Self>: AsQuery,
        Prepared<<Limit<Self> as AsQuery>::Query>: LoadQuery<'query, Conn, U> + 'query,
    {
        diesel_async::RunQueryDsl::get_result(Prepared(LimitDsl::limit(self, 1).as_query()), conn)
    }
}

impl<Q, Conn> RunQueryDsl<Conn> for Q {}
