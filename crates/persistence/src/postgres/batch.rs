//! A batch in one statement. Arrays that the server unnests keep the statement the same for any number of rows, so
//! that it is prepared once a connection; `VALUES` of thousands of rows is parsed anew each time.

use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::sql_types::{Array, BigInt, Binary, Nullable, Text};
use diesel_async::RunQueryDsl;

use super::Conn;
use crate::batch::{Batch, BatchColumn, Run, Values, Write, assignments, names, on_conflict};
use crate::failure::Failure;

impl<R: Sync> Run<Conn> for Batch<'_, R> {
    async fn run(self, conn: &mut Conn, write: Write) -> Result<usize, Failure> {
        if self.rows.is_empty() {
            return Ok(0);
        }
        let Self { table, columns, .. } = self;
        let list = names(&columns);
        let (before, after) = match write {
            Write::Update(keys) => (
                format!(
                    "UPDATE {table} SET {} FROM unnest(",
                    assignments(&columns[keys..], "batch")
                ),
                format!(
                    ") AS batch ({list}) WHERE {}",
                    columns[..keys]
                        .iter()
                        .map(|key| format!("{table}.{0} = batch.{0}", key.name))
                        .collect::<Vec<_>>()
                        .join(" AND ")
                ),
            ),
            _ => (
                format!("INSERT INTO {table} ({list}) SELECT * FROM unnest("),
                format!("){}", on_conflict(write, &columns)),
            ),
        };
        let statement = Statement {
            before,
            columns,
            after,
        };
        Ok(statement.execute(conn).await?)
    }
}

/// A statement with columns of values in its middle, separated by commas.
struct Statement<'r> {
    before: String,
    columns: Vec<BatchColumn<'r>>,
    after: String,
}

/// Told from others by its text, under which it stays prepared.
impl QueryId for Statement<'_> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl QueryFragment<Pg> for Statement<'_> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql(&self.before);
        for (number, column) in self.columns.iter().enumerate() {
            if number > 0 {
                out.push_sql(", ");
            }
            match &column.values {
                Values::Text(values) => out.push_bind_param::<Array<Nullable<Text>>, _>(values)?,
                Values::Number(values) => out.push_bind_param::<Array<Nullable<BigInt>>, _>(values)?,
                Values::Bytes(values) => out.push_bind_param::<Array<Nullable<Binary>>, _>(values)?,
            }
        }
        out.push_sql(&self.after);
        Ok(())
    }
}
