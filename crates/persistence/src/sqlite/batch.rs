//! A batch row by row: there is no way to a server to save, and the statement stays prepared.

use std::future::{Ready, ready};

use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Binary, Bool, Double, Nullable, Text};
use diesel::sqlite::Sqlite;

use super::Conn;
use super::run::{LoadQuery, RunQueryDsl};
use crate::batch::{Batch, BatchColumn, Returning, Run, Statement, Values, Write, names};
use crate::failure::Failure;

/// Writes rows, and returns what is selected of each that was inserted or changed.
pub(crate) fn write_returning<R, E, U>(
    conn: &mut Conn,
    batch: Batch<'_, R>,
    write: Write,
    selected: E,
) -> Ready<Result<Vec<U>, Failure>>
where
    E: Expression + Clone,
    for<'b> Returning<OfRow<'b>, E>: LoadQuery<U>,
{
    let statement = statement(batch.table, batch.columns, write);
    let of_each = (0..batch.rows.len()).map(|row| {
        let of_row = Returning {
            statement: OfRow {
                statement: &statement,
                row,
            },
            selected: selected.clone(),
        };
        of_row.load_all(conn)
    });
    let returned: QueryResult<Vec<Vec<U>>> = of_each.collect();
    ready(
        returned
            .map(|rows| rows.into_iter().flatten().collect())
            .map_err(Failure::from),
    )
}

/// The statement for each row.
fn statement<'r>(table: &str, mut columns: Vec<BatchColumn<'r>>, write: Write) -> Statement<'r> {
    match write {
        Write::Update(keys) => update(table, columns, keys),
        // The primary key leads to the row at once.
        Write::UpdatePlaced(keys) => update(table, columns.split_off(1), keys),
        Write::UpdateIf(keys, condition) => update(table, columns, keys).and_where(condition),
        insert => Statement::insert(table, columns, insert, "VALUES "),
    }
}

fn update<'r>(table: &str, mut columns: Vec<BatchColumn<'r>>, keys: usize) -> Statement<'r> {
    columns.rotate_left(keys);
    let (rest, keys) = columns.split_at(columns.len() - keys);
    let (place, keys) = (rest.len(), names(keys));
    let before = format!("UPDATE {table} SET ({}) = (", names(rest));
    let mut statement = Statement::around(columns, before, ")".to_owned());
    statement.text[place] = format!(") WHERE ({keys}) = (");
    statement
}

impl<S: QueryFragment<Sqlite>, E: QueryFragment<Sqlite>> QueryFragment<Sqlite> for Returning<S, E> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        self.statement.walk_ast(out.reborrow())?;
        out.push_sql(" RETURNING ");
        self.selected.walk_ast(out)
    }
}

impl<R: Sync> Run<Conn> for Batch<'_, R> {
    async fn run(self, conn: &mut Conn, write: Write) -> Result<usize, Failure> {
        let Self { table, columns, rows } = self;
        let statement = statement(table, columns, write);
        let mut written = 0;
        for row in 0..rows.len() {
            let of_row = OfRow {
                statement: &statement,
                row,
            };
            written += of_row.execute(conn).await?;
        }
        Ok(written)
    }

    async fn run_at_commit(self, conn: &mut Conn, write: Write) -> Result<(), Failure> {
        self.run(conn, write).await?;
        Ok(())
    }
}

/// The statement for one row.
pub(crate) struct OfRow<'b> {
    statement: &'b Statement<'b>,
    row: usize,
}

/// As the statement's.
impl QueryId for OfRow<'_> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl QueryFragment<Sqlite> for OfRow<'_> {
    fn walk_ast<'b>(&'b self, out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        self.statement.walk(out, |values, out| match values {
            Values::Text(values) => out.push_bind_param::<Nullable<Text>, _>(&values[self.row]),
            Values::Number(values) => out.push_bind_param::<Nullable<BigInt>, _>(&values[self.row]),
            Values::Real(values) => out.push_bind_param::<Nullable<Double>, _>(&values[self.row]),
            Values::Flag(values) => out.push_bind_param::<Nullable<Bool>, _>(&values[self.row]),
            Values::Bytes(values) => out.push_bind_param::<Nullable<Binary>, _>(&values[self.row]),
        })
    }
}
