//! Rows as the server sends them, as Diesel reads them.

use std::num::NonZeroU32;
use std::ops::Range;

use diesel::pg::{Pg, PgValue};
use diesel::row::{Field, PartialRow, Row, RowIndex, RowSealed};
use tokio_postgres::types::{FromSql, Type};

/// A row.
pub(crate) struct PgRow(tokio_postgres::Row);

impl PgRow {
    pub(super) fn new(row: tokio_postgres::Row) -> Self {
        Self(row)
    }
}

impl RowSealed for PgRow {}

impl RowIndex<usize> for PgRow {
    fn idx(&self, index: usize) -> Option<usize> {
        (index < self.0.len()).then_some(index)
    }
}

impl RowIndex<&str> for PgRow {
    fn idx(&self, name: &str) -> Option<usize> {
        self.0.columns().iter().position(|column| column.name() == name)
    }
}

impl<'a> Row<'a, Pg> for PgRow {
    type Field<'f>
        = PgField<'f>
    where
        'a: 'f,
        Self: 'f;
    type InnerPartialRow = Self;

    fn field_count(&self) -> usize {
        self.0.len()
    }

    fn get<'b, I>(&'b self, index: I) -> Option<PgField<'b>>
    where
        'a: 'b,
        Self: RowIndex<I>,
    {
        let index = self.idx(index)?;
        let column = self.0.columns().get(index)?;
        Some(PgField {
            row: &self.0,
            index,
            kind: NonZeroU32::new(column.type_().oid())?,
        })
    }

    fn partial_row(&self, range: Range<usize>) -> PartialRow<'_, Self> {
        PartialRow::new(self, range)
    }
}

/// A column's value in a row.
pub(crate) struct PgField<'r> {
    row: &'r tokio_postgres::Row,
    index: usize,
    kind: NonZeroU32,
}

impl<'r> Field<'r, Pg> for PgField<'r> {
    fn field_name(&self) -> Option<&str> {
        Some(self.row.columns().get(self.index)?.name())
    }

    fn value(&self) -> Option<PgValue<'_>> {
        let Bytes(bytes) = self.row.get(self.index);
        bytes.map(|bytes| PgValue::new(bytes, &self.kind))
    }
}

/// A value as it came.
struct Bytes<'r>(Option<&'r [u8]>);

impl<'r> FromSql<'r> for Bytes<'r> {
    fn from_sql(_: &Type, bytes: &'r [u8]) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Self(Some(bytes)))
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Self(None))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}
