//! A batch row by row: there is no way to a server to save, and the statement stays prepared.

use crate::prepared::RunQueryDsl;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Binary, Bool, Double, Nullable, Text};
use diesel::sqlite::Sqlite;

use super::Conn;
use crate::batch::{Batch, Run, Statement, Values, Write, names};
use crate::failure::Failure;

impl<R: Sync> Run<Conn> for Batch<'_, R> {
    async fn run(self, conn: &mut Conn, write: Write) -> Result<usize, Failure> {
        let Self {
            table,
            mut columns,
            rows,
        } = self;
        let statement = match write {
            Write::Update(keys) => {
                columns.rotate_left(keys);
                let (rest, keys) = columns.split_at(columns.len() - keys);
                let (place, keys) = (rest.len(), names(keys));
                let before = format!("UPDATE {table} SET ({}) = (", names(rest));
                let mut statement = Statement::around(columns, before, ")".to_owned());
                statement.text[place] = format!(") WHERE ({keys}) = (");
                statement
            }
            insert => Statement::insert(table, columns, insert, "VALUES "),
        };
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
}

/// The statement for one row.
struct OfRow<'b, 'r> {
    statement: &'b Statement<'r>,
    row: usize,
}

/// As the statement's.
impl QueryId for OfRow<'_, '_> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl QueryFragment<Sqlite> for OfRow<'_, '_> {
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
