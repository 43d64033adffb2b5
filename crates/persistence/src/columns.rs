//! Column types between the portable ones of the schema and Rust's, for both databases alike.
//!
//! It owns how a value is written into a column. Which columns make a domain type is the rows' business.

use diesel::backend::Backend;
use diesel::deserialize::{self, FromSql, FromSqlRow};
use diesel::expression::AsExpression;
use diesel::pg::Pg;
use diesel::serialize::{self, IsNull, Output, ToSql};
use diesel::sql_types::Text;
use diesel::sqlite::Sqlite;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::Write as _;
use std::str::FromStr;
use uuid::Uuid;

use crate::failure::Failure;

/// A value stored as JSON text.
#[derive(Debug, Clone, PartialEq, Eq, AsExpression, FromSqlRow)]
#[diesel(sql_type = Text)]
pub(crate) struct Json<T: std::fmt::Debug>(pub(crate) T);

impl<T, DB> FromSql<Text, DB> for Json<T>
where
    DB: Backend,
    String: FromSql<Text, DB>,
    T: DeserializeOwned + std::fmt::Debug,
{
    fn from_sql(bytes: DB::RawValue<'_>) -> deserialize::Result<Self> {
        let text = String::from_sql(bytes)?;
        Ok(Self(serde_json::from_str(&text)?))
    }
}

impl<T: Serialize + std::fmt::Debug> ToSql<Text, Pg> for Json<T> {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> serialize::Result {
        serde_json::to_writer(out, &self.0)?;
        Ok(IsNull::No)
    }
}

impl<T: Serialize + std::fmt::Debug> ToSql<Text, Sqlite> for Json<T> {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Sqlite>) -> serialize::Result {
        out.set_value(serde_json::to_string(&self.0)?);
        Ok(IsNull::No)
    }
}

/// Text from outside, which may hold any character.
///
/// PostgreSQL refuses U+0000 in text. It is stored as `\0` on both databases, and a backslash as `\\`.
#[derive(Debug, Clone, PartialEq, Eq, AsExpression, FromSqlRow)]
#[diesel(sql_type = Text)]
pub(crate) struct FreeText(pub(crate) String);

impl FreeText {
    fn escaped(&self) -> String {
        self.0.replace('\\', "\\\\").replace('\0', "\\0")
    }

    fn from_escaped(text: String) -> Result<Self, &'static str> {
        if !text.contains('\\') {
            return Ok(Self(text));
        }
        let mut plain = String::with_capacity(text.len());
        let mut characters = text.chars();
        while let Some(character) = characters.next() {
            match character {
                '\\' => match characters.next() {
                    Some('\\') => plain.push('\\'),
                    Some('0') => plain.push('\0'),
                    _ => return Err("a backslash that escapes nothing"),
                },
                _ => plain.push(character),
            }
        }
        Ok(Self(plain))
    }
}

impl From<&str> for FreeText {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl From<String> for FreeText {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl<DB> FromSql<Text, DB> for FreeText
where
    DB: Backend,
    String: FromSql<Text, DB>,
{
    fn from_sql(bytes: DB::RawValue<'_>) -> deserialize::Result<Self> {
        Ok(Self::from_escaped(String::from_sql(bytes)?)?)
    }
}

impl ToSql<Text, Pg> for FreeText {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> serialize::Result {
        out.write_all(self.escaped().as_bytes())?;
        Ok(IsNull::No)
    }
}

impl ToSql<Text, Sqlite> for FreeText {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Sqlite>) -> serialize::Result {
        out.set_value(self.escaped());
        Ok(IsNull::No)
    }
}

/// A stored word or id as the domain's type; `column` names it in the log if it is none.
pub(crate) fn read<T, E>(column: &str, value: &str, parsed: Result<T, E>) -> Result<T, Failure> {
    parsed.map_err(|_| Failure::Corrupt(format!("{column} is {value:?}")))
}

/// A stored word as the domain's enum; `column` names it in the log if it is none of its words.
pub(crate) fn word<T: FromStr>(column: &str, value: &str) -> Result<T, Failure> {
    read(column, value, value.parse())
}

/// A stored UUID; `column` names it in the log if it is none.
pub(crate) fn uuid(column: &str, value: &str) -> Result<Uuid, Failure> {
    read(column, value, Uuid::parse_str(value))
}

/// A stored number as the domain's type; `column` names it in the log if it does not fit.
pub(crate) fn number<T: TryFrom<i64>>(column: &str, value: i64) -> Result<T, Failure> {
    T::try_from(value).map_err(|_| Failure::Corrupt(format!("{column} is {value}")))
}

/// A count as stored. None that the program can make is too large.
pub(crate) fn stored<T>(count: T) -> i64
where
    i64: TryFrom<T>,
{
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Whether `text` can be a key in the database at all. What a caller gives as a lead id may hold U+0000, which
/// PostgreSQL refuses; nothing is stored under such an id.
pub(crate) fn can_be_stored_key(text: &str) -> bool {
    !text.contains('\0')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_text_survives_any_character() {
        for text in [
            "",
            "plain",
            "back\\slash",
            "nul\0",
            "\\0 is not \0",
            "\\\\\0\\",
            "ünïcödé",
        ] {
            let escaped = FreeText::from(text).escaped();
            assert!(!escaped.contains('\0'), "{text:?}");
            assert_eq!(FreeText::from_escaped(escaped).unwrap(), FreeText::from(text));
        }
    }

    #[test]
    fn a_backslash_that_escapes_nothing_is_corrupt() {
        assert!(FreeText::from_escaped("\\x".to_owned()).is_err());
        assert!(FreeText::from_escaped("\\".to_owned()).is_err());
    }
}
