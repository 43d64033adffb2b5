//! A batch row by row: there is no way to a server to save, and the statement stays prepared.

use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Binary, Nullable, Text};
use diesel::sqlite::Sqlite;
use diesel_async::RunQueryDsl;

use super::Conn;
use crate::batch::{Batch, BatchColumn, Run, Values, Write, names, on_conflict};
use crate::failure::Failure;

impl<R: Sync> Run<Conn> for Batch<'_, R> {
    async fn run(self, conn: &mut Conn, write: Write) -> Result<usize, Failure> {
        let mut statement = Statement {
            write,
            table: self.table,
            names: names(&self.columns),
            on_conflict: on_conflict(write, &self.columns),
            columns: &self.columns,
            row: 0,
        };
        let mut written = 0;
        for row in 0..self.rows.len() {
            statement.row = row;
            written += (&statement).execute(conn).await?;
        }
        Ok(written)
    }
}

/// The statement for one row.
struct Statement<'b, 'r> {
    write: Write,
    table: &'static str,
    names: String,
    on_conflict: String,
    columns: &'b [BatchColumn<'r>],
    row: usize,
}

/// Told from others by its text, under which it stays prepared.
impl QueryId for Statement<'_, '_> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl QueryFragment<Sqlite> for Statement<'_, '_> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        if let Write::Update(keys) = self.write {
            let (keys, rest) = self.columns.split_at(keys);
            out.push_sql("UPDATE ");
            out.push_sql(self.table);
            self.push_equations(rest, " SET ", ", ", &mut out)?;
            return self.push_equations(keys, " WHERE ", " AND ", &mut out);
        }
        out.push_sql("INSERT INTO ");
        out.push_sql(self.table);
        out.push_sql(" (");
        out.push_sql(&self.names);
        let mut separator = ") VALUES (";
        for column in self.columns {
            out.push_sql(separator);
            self.push_value(column, &mut out)?;
            separator = ", ";
        }
        out.push_sql(")");
        out.push_sql(&self.on_conflict);
        Ok(())
    }
}

impl Statement<'_, '_> {
    fn push_equations<'b>(
        &'b self,
        columns: &'b [BatchColumn<'_>],
        before: &'static str,
        between: &'static str,
        out: &mut AstPass<'_, 'b, Sqlite>,
    ) -> QueryResult<()> {
        let mut separator = before;
        for column in columns {
            out.push_sql(separator);
            out.push_sql(column.name);
            out.push_sql(" = ");
            self.push_value(column, out)?;
            separator = between;
        }
        Ok(())
    }

    fn push_value<'b>(
        &self,
        column: &'b BatchColumn<'_>,
        out: &mut AstPass<'_, 'b, Sqlite>,
    ) -> QueryResult<()> {
        match &column.values {
            Values::Text(values) => out.push_bind_param::<Nullable<Text>, _>(&values[self.row]),
            Values::Number(values) => out.push_bind_param::<Nullable<BigInt>, _>(&values[self.row]),
            Values::Bytes(values) => out.push_bind_param::<Nullable<Binary>, _>(&values[self.row]),
        }
    }
}
