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
    let is_row = columns[..keys]
        .iter()
        .map(|BatchColumn { name, .. }| format!("{table}.{name} = batch.{name}"));
    let is_row: Vec<String> = is_row.collect();
    update_where(table, columns, keys, &is_row.join(" AND "))
}

/// Looks no row up: an index leads to all its old versions, too.
fn update_placed<'r>(table: &str, mut columns: Vec<BatchColumn<'r>>, keys: usize) -> Statement<'r> {
    columns.drain(1..=keys);
    let is_row = format!("{table}.ctid = batch.{}", columns[0].name);
    let mut statement = update_where(table, columns, 1, &is_row);
    statement.text[1].insert_str(0, "::tid[]");
    statement
}

/// Sets the columns behind the first ones, as many as `found_by` says, of the rows that meet a condition.
fn update_where<'r>(
    table: &str,
    columns: Vec<BatchColumn<'r>>,
    found_by: usize,
    condition: &str,
) -> Statement<'r> {
    let before = format!(
        "UPDATE {table} SET {} FROM unnest(",
        assignments(&columns[found_by..], "batch")
    );
    let after = format!(") AS batch ({}) WHERE {condition}", names(&columns));
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
        Write::UpdatePlaced(keys) => update_placed(table, columns, keys),
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
