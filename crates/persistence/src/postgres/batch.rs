//! A batch in one statement. Arrays that the server unnests keep the statement the same for any number of rows, so
//! that it is prepared once a connection; `VALUES` of thousands of rows is parsed anew each time.

use std::future::ready;

use diesel::pg::Pg;
use diesel::query_builder::{AstPass, QueryFragment};
use diesel::sql_types::{Array, BigInt, Binary, Bool, Double, Nullable, Text};
use diesel::{Expression, QueryResult};
use futures::FutureExt as _;
use futures::future::BoxFuture;

use super::Conn;
use super::run::{LoadQuery, RunQueryDsl as _};
use crate::batch::{Batch, BatchColumn, Returning, Run, Statement, Values, Write, assignments, names};
use crate::failure::Failure;

/// Writes rows, and returns what is selected of each that was inserted or changed.
pub(crate) fn write_returning<'r, R, E, U>(
    conn: &'r mut Conn,
    batch: Batch<'r, R>,
    write: Write,
    selected: E,
) -> BoxFuture<'r, Result<Vec<U>, Failure>>
where
    E: Expression + Send + 'r,
    U: Send + 'r,
    Returning<Statement<'r>, E>: LoadQuery<U> + Send,
{
    let Some(statement) = statement(batch, write) else {
        return ready(Ok(Vec::new())).boxed();
    };
    async move { Ok(Returning { statement, selected }.load(conn).await?) }.boxed()
}

fn update<'r>(table: &str, columns: Vec<BatchColumn<'r>>, keys: usize) -> Statement<'r> {
    update_where(table, columns, keys, |list, keys| {
        let is_row = keys.iter().map(|key| format!("{table}.{key} = batch.{key}"));
        format!("({list}) WHERE {}", is_row.collect::<Vec<_>>().join(" AND "))
    })
}

/// The server would read an index from its start for an equality, whatever order is asked for.
fn update_newest<'r>(table: &str, columns: Vec<BatchColumn<'r>>, keys: usize) -> Statement<'r> {
    update_where(table, columns, keys, |list, keys| {
        let is_version = keys.iter().enumerate().map(|(place, key)| {
            if place + 1 < keys.len() {
                format!("{key} = batch.{key}")
            } else {
                format!("{key} BETWEEN batch.{key} AND batch.{key}")
            }
        });
        let newest_first = keys.iter().map(|key| format!("{key} DESC"));
        format!(
            "({list}) CROSS JOIN LATERAL (SELECT ctid FROM {table} WHERE {} ORDER BY {} LIMIT 1) AS newest \
             WHERE {table}.ctid = newest.ctid",
            is_version.collect::<Vec<_>>().join(" AND "),
            newest_first.collect::<Vec<_>>().join(", ")
        )
    })
}

/// Changes the rows that the batch's list of columns and the names of its key are made into a condition for.
fn update_where<'r>(
    table: &str,
    columns: Vec<BatchColumn<'r>>,
    keys: usize,
    condition: impl FnOnce(&str, &[&str]) -> String,
) -> Statement<'r> {
    let (keys, rest) = columns.split_at(keys);
    let keys: Vec<&str> = keys.iter().map(|key| key.name).collect();
    let before = format!("UPDATE {table} SET {} FROM unnest(", assignments(rest, "batch"));
    let after = format!(") AS batch {}", condition(&names(&columns), &keys));
    Statement::around(columns, before, after)
}

impl<S: QueryFragment<Pg>, E: QueryFragment<Pg>> QueryFragment<Pg> for Returning<S, E> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        self.statement.walk_ast(out.reborrow())?;
        out.push_sql(" RETURNING ");
        self.selected.walk_ast(out)
    }
}

impl<R: Sync> Run<Conn> for Batch<'_, R> {
    async fn run(self, conn: &mut Conn, write: Write) -> Result<usize, Failure> {
        Ok(match statement(self, write) {
            Some(statement) => statement.execute(conn).await?,
            None => 0,
        })
    }

    async fn run_at_commit(self, conn: &mut Conn, write: Write) -> Result<(), Failure> {
        if let Some(statement) = statement(self, write) {
            conn.execute_at_commit(&statement)?;
        }
        Ok(())
    }
}

/// `None` if there are no rows.
fn statement<R>(batch: Batch<'_, R>, write: Write) -> Option<Statement<'_>> {
    let Batch { table, columns, rows } = batch;
    let statement = match write {
        Write::Update(keys) => update(table, columns, keys),
        Write::UpdateNewest(keys) => update_newest(table, columns, keys),
        Write::UpdateIf(keys, condition) => update(table, columns, keys).and_where(condition),
        insert => Statement::insert(table, columns, insert, "SELECT * FROM unnest"),
    };
    (!rows.is_empty()).then_some(statement)
}

impl QueryFragment<Pg> for Statement<'_> {
    fn walk_ast<'b>(&'b self, out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        self.walk(out, |values, out| match values {
            Values::Text(values) => out.push_bind_param::<Array<Nullable<Text>>, _>(values),
            Values::Number(values) => out.push_bind_param::<Array<Nullable<BigInt>>, _>(values),
            Values::Real(values) => out.push_bind_param::<Array<Nullable<Double>>, _>(values),
            Values::Flag(values) => out.push_bind_param::<Array<Nullable<Bool>>, _>(values),
            Values::Bytes(values) => out.push_bind_param::<Array<Nullable<Binary>>, _>(values),
        })
    }
}
