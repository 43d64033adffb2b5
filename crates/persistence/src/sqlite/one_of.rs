//! Comparison with a list of values.
//!
//! The list is one JSON text, so that the statement is the same for any number of values. `IN` with a variable for each
//! is prepared anew with each call, and limited in length.

use diesel::QueryResult;
use diesel::expression::{AppearsOnTable, Expression, SelectableExpression, ValidGrouping};
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::sql_types::{Bool, Text};
use diesel::sqlite::Sqlite;
use serde::Serialize;

/// Whether a column has one of some values.
#[derive(Debug, Clone, QueryId, ValidGrouping)]
pub(crate) struct OneOf<C> {
    column: C,
    values: String,
}

impl<C> OneOf<C> {
    /// The values are texts or integers, as they are stored.
    pub(crate) fn new<V: Serialize>(column: C, values: impl IntoIterator<Item = V>) -> Self {
        let values: Vec<V> = values.into_iter().collect();
        Self {
            column,
            values: as_json(&values),
        }
    }
}

/// Values as one text, which `json_each` reads. Texts and integers can always be written; no text at all is refused as
/// malformed JSON.
pub(crate) fn as_json<V: Serialize + ?Sized>(values: &V) -> String {
    serde_json::to_string(values).unwrap_or_default()
}

impl<C: Expression> Expression for OneOf<C> {
    type SqlType = Bool;
}

impl<C: AppearsOnTable<QS>, QS: ?Sized> AppearsOnTable<QS> for OneOf<C> {}

impl<C: SelectableExpression<QS>, QS: ?Sized> SelectableExpression<QS> for OneOf<C> {}

impl<C: QueryFragment<Sqlite>> QueryFragment<Sqlite> for OneOf<C> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        self.column.walk_ast(out.reborrow())?;
        out.push_sql(" IN (SELECT value FROM json_each(");
        out.push_bind_param::<Text, _>(&self.values)?;
        out.push_sql("))");
        Ok(())
    }
}
