//! Many rows for one command, given column by column. How a database takes them is the business of `postgres::batch`
//! and `sqlite::batch`.
//!
//! ```text
//! let stored = Batch::of("jobs", &new)
//!     .with(jobs::id, |job| job.id.as_str())
//!     .with(jobs::seq, |job| job.seq)
//!     .run(conn, Write::InsertNew)
//!     .await?;
//! ```

use std::borrow::Cow;

use diesel::Column;
use diesel::expression::{AsExpression, TypedExpressionType};
use diesel::sql_types::SqlType;

use crate::columns::Encoded;
use crate::failure::Failure;

/// What a batch does with its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Write {
    /// Inserts them. None is there yet.
    Insert,
    /// Inserts those whose keys are not taken.
    InsertNew,
    /// Inserts them or replaces what is there. The first columns, as many as this says, are the primary key.
    Put(usize),
    /// Changes rows that are there. The first columns, as many as this says, are the primary key.
    Update(usize),
}

/// Rows of a table, as columns of values.
pub(crate) struct Batch<'r, R> {
    pub(crate) table: &'static str,
    pub(crate) columns: Vec<BatchColumn<'r>>,
    pub(crate) rows: &'r [R],
}

/// A column's name, and its value in each row.
pub(crate) struct BatchColumn<'r> {
    pub(crate) name: &'static str,
    pub(crate) values: Values<'r>,
}

/// The values of a column.
pub(crate) enum Values<'r> {
    Text(Vec<Option<Cow<'r, str>>>),
    Number(Vec<Option<i64>>),
    Bytes(Vec<Option<Vec<u8>>>),
}

impl<'r, R> Batch<'r, R> {
    pub(crate) fn of(table: &'static str, rows: &'r [R]) -> Self {
        Self {
            table,
            columns: Vec::new(),
            rows,
        }
    }

    /// Adds a column, with its value in each row.
    pub(crate) fn with<C, V>(mut self, _column: C, value: impl FnMut(&'r R) -> V) -> Self
    where
        C: Column<SqlType: SqlType + TypedExpressionType>,
        V: BatchValue<'r> + AsExpression<C::SqlType>,
    {
        self.columns.push(BatchColumn {
            name: C::NAME,
            values: V::collect(self.rows.iter().map(value)),
        });
        self
    }
}

/// How a batch gets into the database of a connection.
pub(crate) trait Run<Conn> {
    /// Returns how many rows were inserted or changed.
    async fn run(self, conn: &mut Conn, write: Write) -> Result<usize, Failure>;
}

/// A value that a batch can hold.
pub(crate) trait BatchValue<'r>: Sized {
    fn collect(values: impl Iterator<Item = Self>) -> Values<'r>;
}

/// Implements [`BatchValue`]: the kind of a type's columns, and what a value is in one.
macro_rules! batch_values {
    ($($value:ty: $kind:ident, $stored:expr;)+) => {$(
        impl<'r> BatchValue<'r> for $value {
            fn collect(values: impl Iterator<Item = Self>) -> Values<'r> {
                Values::$kind(values.map($stored).collect())
            }
        }
    )+};
}

batch_values! {
    &'r str: Text, |text| Some(text.into());
    Option<&'r str>: Text, |text| text.map(Cow::from);
    String: Text, |text| Some(text.into());
    Encoded: Text, |encoded| Some(encoded.0.into());
    i64: Number, Some;
    Option<i64>: Number, |number| number;
    Vec<u8>: Bytes, Some;
}

/// The names of columns, separated by commas.
pub(crate) fn names(columns: &[BatchColumn<'_>]) -> String {
    let names: Vec<&str> = columns.iter().map(|column| column.name).collect();
    names.join(", ")
}

/// Each column set to what a table of that name has for it.
pub(crate) fn assignments(columns: &[BatchColumn<'_>], source: &str) -> String {
    let assignments: Vec<String> = columns
        .iter()
        .map(|BatchColumn { name, .. }| format!("{name} = {source}.{name}"))
        .collect();
    assignments.join(", ")
}

/// What follows an `INSERT` of the columns.
pub(crate) fn on_conflict(write: Write, columns: &[BatchColumn<'_>]) -> String {
    match write {
        Write::Insert | Write::Update(_) => String::new(),
        Write::InsertNew => " ON CONFLICT DO NOTHING".to_owned(),
        Write::Put(keys) => {
            let (keys, rest) = columns.split_at(keys);
            format!(
                " ON CONFLICT ({}) DO UPDATE SET {}",
                names(keys),
                assignments(rest, "excluded")
            )
        }
    }
}
