//! Statements run where they are asked for: the futures are ready when they are made. So values are bound and rows are read
//! without copies that another thread could own.

use std::future::{Ready, ready};

use diesel::QueryResult;
use diesel::backend::Backend;
use diesel::connection::Connection as _;
use diesel::dsl::Limit;
use diesel::query_builder::{
    AsQuery, CollectedQuery, MoveableBindCollector as _, QueryBuilder as _, QueryFragment,
};
use diesel::query_dsl::methods::{LimitDsl, LoadQuery};
use diesel::sqlite::Sqlite;

use super::Conn;
use super::prepared::Prepared;

/// What the trait of this name in `diesel_async` offers, on statements that stay prepared.
pub(crate) trait RunQueryDsl: Sized {
    /// Executes the statement and returns how many rows it changed.
    fn execute(self, conn: &mut Conn) -> Ready<QueryResult<usize>>
    where
        Self: QueryFragment<Sqlite>,
    {
        ready(execute(&self, conn))
    }

    /// Loads all rows.
    fn load<'query, U>(self, conn: &mut Conn) -> Ready<QueryResult<Vec<U>>>
    where
        Self: AsQuery,
        Prepared<Self::Query>: LoadQuery<'query, Conn, U>,
    {
        ready(diesel::RunQueryDsl::load(Prepared(self.as_query()), conn))
    }

    /// Loads the first row that comes, or fails with `NotFound`.
    fn get_result<'query, U>(self, conn: &mut Conn) -> Ready<QueryResult<U>>
    where
        Self: AsQuery,
        Prepared<Self::Query>: LoadQuery<'query, Conn, U>,
    {
        ready(diesel::RunQueryDsl::get_result(Prepared(self.as_query()), conn))
    }

    /// Asks for one row, or fails with `NotFound`.
    fn first<'query, U>(self, conn: &mut Conn) -> Ready<QueryResult<U>>
    where
        Self: LimitDsl,
        Limit<Self>: AsQuery,
        Prepared<<Limit<Self> as AsQuery>::Query>: LoadQuery<'query, Conn, U>,
    {
        let limited = Prepared(LimitDsl::limit(self, 1).as_query());
        ready(diesel::RunQueryDsl::get_result(limited, conn))
    }
}

impl<Q> RunQueryDsl for Q {}

/// Diesel executes a reference to a statement, and a reference does not tell what [`Prepared`] does. So the statement goes as
/// its text, under which it stays prepared, and its values.
fn execute(statement: &dyn QueryFragment<Sqlite>, conn: &mut Conn) -> QueryResult<usize> {
    let mut text = <Sqlite as Backend>::QueryBuilder::default();
    statement.to_sql(&mut text, &Sqlite)?;
    let mut values = <Sqlite as Backend>::BindCollector::default();
    statement.collect_binds(&mut values, &mut (), &Sqlite)?;
    conn.execute_returning_count(&CollectedQuery::new(text.finish(), true, values.moveable()))
}

impl<Q> diesel::RunQueryDsl<Conn> for Prepared<Q> {}
