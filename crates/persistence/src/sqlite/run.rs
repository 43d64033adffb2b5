//! Statements run where they are asked for: the futures are ready when they are made. So values are bound and rows are read
//! without copies that another thread could own.

use std::future::{Ready, ready};

use diesel::QueryResult;
use diesel::backend::Backend;
use diesel::connection::{Connection as _, LoadConnection};
use diesel::deserialize::FromSqlRow;
use diesel::dsl::Limit;
use diesel::expression::QueryMetadata;
use diesel::query_builder::{
    AsQuery, CollectedQuery, MoveableBindCollector as _, QueryBuilder as _, QueryFragment, QueryId,
};
use diesel::query_dsl::CompatibleType;
use diesel::query_dsl::methods::LimitDsl;
use diesel::result::Error;
use diesel::row::Row;
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
    fn load<U>(self, conn: &mut Conn) -> Ready<QueryResult<Vec<U>>>
    where
        Self: LoadQuery<U>,
    {
        ready(self.load_all(conn))
    }

    /// Loads the first row that comes, or fails with `NotFound`.
    fn get_result<U>(self, conn: &mut Conn) -> Ready<QueryResult<U>>
    where
        Self: LoadQuery<U>,
    {
        ready(self.load_one(conn))
    }

    /// Asks for one row, or fails with `NotFound`.
    fn first<U>(self, conn: &mut Conn) -> Ready<QueryResult<U>>
    where
        Self: LimitDsl,
        Limit<Self>: LoadQuery<U>,
    {
        ready(LimitDsl::limit(self, 1).load_one(conn))
    }
}

impl<Q> RunQueryDsl for Q {}

/// A statement of whose rows `U` can be read. They are read by code that depends on what is read alone, and not on the
/// statement.
pub(crate) trait LoadQuery<U> {
    fn load_all(self, conn: &mut Conn) -> QueryResult<Vec<U>>;

    fn load_one(self, conn: &mut Conn) -> QueryResult<U>;
}

impl<Q, U, ST> LoadQuery<U> for Q
where
    Q: AsQuery<Query: QueryFragment<Sqlite> + QueryId, SqlType: CompatibleType<U, Sqlite, SqlType = ST>>,
    Sqlite: QueryMetadata<Q::SqlType>,
    U: FromSqlRow<ST, Sqlite>,
{
    fn load_all(self, conn: &mut Conn) -> QueryResult<Vec<U>> {
        read(LoadConnection::load(conn, Prepared(self.as_query()))?)
    }

    fn load_one(self, conn: &mut Conn) -> QueryResult<U> {
        let mut rows = LoadConnection::load(conn, Prepared(self.as_query()))?;
        read_row(&rows.next().ok_or(Error::NotFound)??)
    }
}

fn read<U: FromSqlRow<ST, Sqlite>, ST>(rows: Rows<'_, '_>) -> QueryResult<Vec<U>> {
    let mut read = Vec::new();
    for row in rows {
        read.push(read_row(&row?)?);
    }
    Ok(read)
}

fn read_row<'r, U: FromSqlRow<ST, Sqlite>, ST>(row: &impl Row<'r, Sqlite>) -> QueryResult<U> {
    U::build_from_row(row).map_err(Error::DeserializationError)
}

type Rows<'c, 'q> = <Conn as LoadConnection>::Cursor<'c, 'q>;

/// Diesel executes a reference to a statement, and a reference does not tell what [`Prepared`] does. So the statement goes as
/// its text, under which it stays prepared, and its values.
fn execute(statement: &dyn QueryFragment<Sqlite>, conn: &mut Conn) -> QueryResult<usize> {
    let mut text = <Sqlite as Backend>::QueryBuilder::default();
    statement.to_sql(&mut text, &Sqlite)?;
    let mut values = <Sqlite as Backend>::BindCollector::default();
    statement.collect_binds(&mut values, &mut (), &Sqlite)?;
    conn.execute_returning_count(&CollectedQuery::new(text.finish(), true, values.moveable()))
}
