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

use diesel::backend::Backend;
use diesel::expression::{AsExpression, TypedExpressionType};
use diesel::query_builder::{AstPass, Query, QueryId};
use diesel::sql_types::SqlType;
use diesel::{Column, Expression, QueryResult};

use crate::columns::Encoded;
use crate::failure::Failure;
use crate::records::Columns;

/// What a batch does with its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Write {
    /// Inserts them. None is there yet.
    Insert,
    /// Inserts those whose keys are not taken.
    InsertNew,
    /// Inserts them or replaces what is there. The first columns, as many as this says, are the primary key.
    Put(usize),
    /// Inserts them, or adds the other columns to what is there. The first columns, as many as this says, are the primary key.
    Add(usize),
    /// Changes rows that are there. The first columns, as many as this says, are the primary key.
    Update(usize),
    /// The same with rows that change so often that PostgreSQL may keep many old versions of each. The first column is the
    /// [place](Batch::with_place) of each row's newest version, and the next ones, as many as this says, are the primary key.
    UpdatePlaced(usize),
    /// The same as `Update` with those that meet a condition.
    UpdateIf(usize, &'static str),
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
    Real(Vec<Option<f64>>),
    Flag(Vec<Option<bool>>),
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

    /// Adds where each row stands, as `place_of!` found it. The transaction has locked the rows, and has not changed them since.
    pub(crate) fn with_place(mut self, place: impl FnMut(&'r R) -> &'r str) -> Self {
        self.columns.push(BatchColumn {
            name: "place",
            values: <&str>::collect(self.rows.iter().map(place)),
        });
        self
    }

    /// Adds a column whose values are encoded.
    pub(crate) fn try_with<C, V>(
        mut self,
        _column: C,
        value: impl FnMut(&'r R) -> Result<V, serde_json::Error>,
    ) -> Result<Self, Failure>
    where
        C: Column<SqlType: SqlType + TypedExpressionType>,
        V: BatchValue<'r> + AsExpression<C::SqlType>,
    {
        let values: Result<Vec<V>, _> = self.rows.iter().map(value).collect();
        self.columns.push(BatchColumn {
            name: C::NAME,
            values: V::collect(values?.into_iter()),
        });
        Ok(self)
    }

    /// Adds the columns of a record, one of which `of` finds in each row.
    pub(crate) fn with_record<T: Columns + 'r>(
        self,
        of: impl Fn(&'r R) -> &'r T + Copy,
    ) -> Result<Self, Failure> {
        T::add_columns(self, of)
    }
}

/// How a batch gets into the database of a connection.
pub(crate) trait Run<Conn> {
    /// Returns how many rows were inserted or changed.
    async fn run(self, conn: &mut Conn, write: Write) -> Result<usize, Failure>;

    /// The same as one of the last things that a transaction does: the write travels with the commit. Whatever is run
    /// afterwards may not see it.
    async fn run_at_commit(self, conn: &mut Conn, write: Write) -> Result<(), Failure>;
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
    Cow<'r, str>: Text, Some;
    Option<Cow<'r, str>>: Text, |text| text;
    Encoded: Text, |encoded| Some(encoded.0.into());
    Option<Encoded>: Text, |encoded| encoded.map(|encoded| encoded.0.into());
    i64: Number, Some;
    Option<i64>: Number, |number| number;
    f64: Real, Some;
    Option<f64>: Real, |number| number;
    bool: Flag, Some;
    Option<bool>: Flag, |flag| flag;
    Vec<u8>: Bytes, Some;
}

/// A statement with a place for the values of each column.
pub(crate) struct Statement<'r> {
    columns: Vec<BatchColumn<'r>>,
    /// What stands before each column's values, and behind the last ones.
    pub(crate) text: Vec<String>,
}

impl<'r> Statement<'r> {
    /// A statement in which commas separate the values.
    pub(crate) fn around(columns: Vec<BatchColumn<'r>>, before: String, after: String) -> Self {
        let mut text = vec![", ".to_owned(); columns.len()];
        text[0] = before;
        text.push(after);
        Self { columns, text }
    }

    /// With one more condition at the end of a statement that has some.
    pub(crate) fn and_where(mut self, condition: &str) -> Self {
        if let Some(end) = self.text.last_mut() {
            end.push_str(" AND ");
            end.push_str(condition);
        }
        self
    }

    /// Inserts rows, as `write` says. `rows` is how the database begins to make rows of values.
    pub(crate) fn insert(table: &str, columns: Vec<BatchColumn<'r>>, write: Write, rows: &str) -> Self {
        let on_conflict = match write {
            Write::Insert | Write::Update(_) | Write::UpdatePlaced(_) | Write::UpdateIf(..) => String::new(),
            Write::InsertNew => " ON CONFLICT DO NOTHING".to_owned(),
            Write::Put(keys) => {
                let (keys, rest) = columns.split_at(keys);
                let (keys, rest) = (names(keys), assignments(rest, "excluded"));
                format!(" ON CONFLICT ({keys}) DO UPDATE SET {rest}")
            }
            Write::Add(keys) => {
                let (keys, rest) = columns.split_at(keys);
                let keys = names(keys);
                let sums: Vec<String> = rest
                    .iter()
                    .map(|BatchColumn { name, .. }| format!("{name} = {table}.{name} + excluded.{name}"))
                    .collect();
                format!(" ON CONFLICT ({keys}) DO UPDATE SET {}", sums.join(", "))
            }
        };
        let before = format!("INSERT INTO {table} ({}) {rows}(", names(&columns));
        Self::around(columns, before, format!("){on_conflict}"))
    }

    /// Writes the statement. `push` writes the values of a column.
    pub(crate) fn walk<'b, DB: Backend>(
        &'b self,
        mut out: AstPass<'_, 'b, DB>,
        push: impl Fn(&'b Values<'r>, &mut AstPass<'_, 'b, DB>) -> QueryResult<()>,
    ) -> QueryResult<()> {
        for (text, column) in self.text.iter().zip(&self.columns) {
            out.push_sql(text);
            push(&column.values, &mut out)?;
        }
        out.push_sql(&self.text[self.columns.len()]);
        Ok(())
    }
}

/// Told from others by its text, under which it stays prepared.
impl QueryId for Statement<'_> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

/// A statement that returns what is selected of each row that it changed.
pub(crate) struct Returning<S, E> {
    pub(crate) statement: S,
    pub(crate) selected: E,
}

/// As the statement's.
impl<S, E> QueryId for Returning<S, E> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<S, E: Expression> Query for Returning<S, E> {
    type SqlType = E::SqlType;
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
