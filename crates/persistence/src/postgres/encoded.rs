//! A statement with its values, as it is sent to the server.

use std::any::TypeId;

use diesel::QueryResult;
use diesel::pg::{Pg, PgMetadataLookup, PgQueryBuilder, PgTypeMetadata};
use diesel::query_builder::bind_collector::RawBytesBindCollector;
use diesel::query_builder::{QueryBuilder as _, QueryFragment};
use tokio_postgres::Statement;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type};

/// A statement and its values.
pub(super) struct Encoded {
    /// Of the statement's type, if all statements of that type are alike.
    pub(super) id: Option<TypeId>,
    pub(super) form: Form,
    pub(super) values: Vec<Value>,
}

pub(super) enum Form {
    Prepared(Prepared),
    Text(String),
}

/// A statement that the server keeps.
#[derive(Clone)]
pub(super) struct Prepared {
    pub(super) statement: Statement,
    pub(super) only_reads: bool,
}

/// A value as it is sent.
#[derive(Debug)]
pub(super) struct Value {
    pub(super) kind: Type,
    bytes: Option<Vec<u8>>,
}

impl Encoded {
    /// `values_before`: how many values those statements have that this one will be [in one](Self::in_one) with.
    pub(super) fn of(
        query: &dyn QueryFragment<Pg>,
        id: Option<TypeId>,
        prepared: Option<Prepared>,
        values_before: usize,
    ) -> QueryResult<Self> {
        let mut collected = RawBytesBindCollector::<Pg>::new();
        query.collect_binds(&mut collected, &mut NoOtherTypes, &Pg)?;
        let values = collected.metadata.iter().zip(collected.binds);
        let values = values.map(|(kind, bytes)| {
            Ok(Value {
                kind: type_of(kind)?,
                bytes,
            })
        });
        let values = values.collect::<QueryResult<_>>()?;
        let form = if let Some(prepared) = prepared {
            Form::Prepared(prepared)
        } else {
            let mut text = PgQueryBuilder::default();
            for _ in 0..values_before {
                text.push_bind_param_value_only();
            }
            query.to_sql(&mut text, &Pg)?;
            Form::Text(text.finish())
        };
        Ok(Self { id, form, values })
    }

    /// Writes as one statement, if there are any. None of them is prepared.
    pub(super) fn in_one(mut writes: Vec<Self>) -> Option<Self> {
        if writes.len() < 2 {
            return writes.pop();
        }
        let (mut parts, mut values) = (Vec::with_capacity(writes.len()), Vec::new());
        for (number, write) in writes.into_iter().enumerate() {
            if let Form::Text(text) = write.form {
                parts.push(format!("write_{number} AS ({text})"));
                values.extend(write.values);
            }
        }
        Some(Self {
            id: None,
            form: Form::Text(format!("WITH {} SELECT", parts.join(", "))),
            values,
        })
    }

    pub(super) fn only_reads(&self) -> bool {
        match &self.form {
            Form::Prepared(prepared) => prepared.only_reads,
            Form::Text(text) => only_reads(text),
        }
    }
}

/// Whether a statement changes nothing: ours call no functions that do.
pub(super) fn only_reads(text: &str) -> bool {
    text.starts_with("SELECT ")
}

/// The schema has no types of its own, so the server need not be asked for any.
struct NoOtherTypes;

impl PgMetadataLookup for NoOtherTypes {
    fn lookup_type(&mut self, _name: &str, _schema: Option<&str>) -> PgTypeMetadata {
        PgTypeMetadata::new(0, 0)
    }
}

fn type_of(kind: &PgTypeMetadata) -> QueryResult<Type> {
    let oid = kind
        .oid()
        .map_err(|error| diesel::result::Error::SerializationError(Box::new(error)))?;
    let unknown =
        || diesel::result::Error::SerializationError(format!("no type has the number {oid}").into());
    Type::from_oid(oid).ok_or_else(unknown)
}

impl ToSql for Value {
    fn to_sql(
        &self,
        _: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        Ok(match &self.bytes {
            Some(bytes) => {
                out.extend_from_slice(bytes);
                IsNull::No
            }
            None => IsNull::Yes,
        })
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn to_sql_checked(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        self.to_sql(kind, out)
    }
}

#[cfg(test)]
mod tests {
    use diesel::prelude::*;

    use super::*;
    use crate::schema::told_leads;

    fn told(lead: &str, values_before: usize) -> Encoded {
        let row = (
            told_leads::organization_id.eq("acme"),
            told_leads::lead_id.eq(lead),
        );
        let write = diesel::insert_into(told_leads::table).values(row);
        Encoded::of(&write, None, None, values_before).unwrap()
    }

    #[test]
    fn writes_in_one_statement_have_their_own_values_each() {
        assert!(Encoded::in_one(Vec::new()).is_none());
        let one = Encoded::in_one(vec![told("a", 0), told("b", 2)]).unwrap();
        let Form::Text(text) = one.form else {
            panic!("it is prepared");
        };
        let insert = r#"INSERT INTO "told_leads" ("organization_id", "lead_id") VALUES"#;
        assert_eq!(
            text,
            format!("WITH write_0 AS ({insert} ($1, $2)), write_1 AS ({insert} ($3, $4)) SELECT")
        );
        let values: Vec<_> = one.values.into_iter().filter_map(|value| value.bytes).collect();
        assert_eq!(values, [b"acme".as_slice(), b"a", b"acme", b"b"]);
    }
}
