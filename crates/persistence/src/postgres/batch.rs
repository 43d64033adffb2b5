//! A batch in one statement. Arrays that the server unnests keep the statement the same for any number of rows, so
//! that it is prepared once a connection; `VALUES` of thousands of rows is parsed anew each time.

use crate::prepared::RunQueryDsl;
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment};
use diesel::sql_types::{Array, BigInt, Binary, Bool, Double, Nullable, Text};

use super::Conn;
use crate::batch::{Batch, Run, Statement, Values, Write, assignments, names};
use crate::failure::Failure;

impl<R: Sync> Run<Conn> for Batch<'_, R> {
    async fn run(self, conn: &mut Conn, write: Write) -> Result<usize, Failure> {
        if self.rows.is_empty() {
            return Ok(0);
        }
        let Self { table, columns, .. } = self;
        let statement = match write {
            Write::Update(keys) => {
                let list = names(&columns);
                let (keys, rest) = columns.split_at(keys);
                let keys: Vec<String> = keys
                    .iter()
                    .map(|key| format!("{table}.{0} = batch.{0}", key.name))
                    .collect();
                let before = format!("UPDATE {table} SET {} FROM unnest(", assignments(rest, "batch"));
                let after = format!(") AS batch ({list}) WHERE {}", keys.join(" AND "));
                Statement::around(columns, before, after)
            }
            insert => Statement::insert(table, columns, insert, "SELECT * FROM unnest"),
        };
        Ok(statement.execute(conn).await?)
    }
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
