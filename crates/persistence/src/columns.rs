//! How a value of the domain stands in a column, the same on both databases.
//!
//! The schema gives each column an SQL type. [`InColumn`] says how a value is stored in a column of that type. [`Col`]
//! is one value in a query; [`records`](crate::records) puts values together to records.

use bidloop_domain::port::{CampaignRevision, FeedCursor};
use std::borrow::Cow;
use std::fmt::Debug;
use std::io::Write as _;

use bidloop_domain::model::{
    AccountId, ActivityId, ActivityKind, ActivityOutcome, Actor, ActorKind, ApiKeyHash, ApiKeyId, BidId,
    BiddingConfig, BilledSubscriptionId, BillingEvents, CampaignId, CampaignMode, CampaignState, Connects,
    CoverLetter, CustomerId, DeliveryId, DeliveryState, EffectiveConfig, EmailKey, EndpointId, EventKind,
    FilterId, JobId, LeadAttachment, LeadId, LeadStatus, LinkHash, LinkId, LinkKind, MemberRole,
    OrganizationId, PersonalTokenHash, PersonalTokenId, Proposal, ProposalFile, ProposalTemplate,
    QuestionAnswerPair, Reason, Renewal, Secret, SubscriptionStatus, Terms, Timestamp, TokenScope,
    TraceParent,
};
use diesel::backend::Backend;
use diesel::deserialize::{self, FromSql, FromSqlRow};
use diesel::expression::AsExpression;
use diesel::pg::Pg;
use diesel::serialize::{self, IsNull, Output, ToSql};
use diesel::sqlite::Sqlite;
use serde::Serialize;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::sql_types::{BigInt, Bool, Double, EscapedText, JsonText, Nullable, SqlType, Text};

/// An SQL type of the schema, and what its columns hold.
pub(crate) trait ColumnType {
    /// What is read from a column.
    type Read;
    /// What is written into a column.
    type Written<'v>;
}

/// Implements [`ColumnType`]: what is read, and what is written.
macro_rules! column_types {
    ($($sql_type:ty: $read:ty, $written:ty;)+) => {$(
        impl ColumnType for $sql_type {
            type Read = $read;
            type Written<'v> = $written;
        }
    )+};
}

column_types! {
    Text: String, Cow<'v, str>;
    JsonText: Encoded, Encoded;
    EscapedText: Encoded, Encoded;
    BigInt: i64, i64;
    Bool: bool, bool;
    Double: f64, f64;
}

impl<ST: ColumnType + SqlType> ColumnType for Nullable<ST> {
    type Read = Option<ST::Read>;
    type Written<'v> = Option<ST::Written<'v>>;
}

/// The content of a column of [`JsonText`] or [`EscapedText`]: not the text that is meant, but how it is stored.
#[derive(Debug, Clone, AsExpression, FromSqlRow, Serialize)]
#[diesel(sql_type = JsonText)]
#[diesel(sql_type = EscapedText)]
pub(crate) struct Encoded(pub(crate) String);

impl AsRef<str> for Encoded {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl<ST, DB: Backend> FromSql<ST, DB> for Encoded
where
    String: FromSql<Text, DB>,
{
    fn from_sql(bytes: DB::RawValue<'_>) -> deserialize::Result<Self> {
        String::from_sql(bytes).map(Self)
    }
}

impl<DB: Backend> ToSql<JsonText, DB> for Encoded
where
    str: ToSql<Text, DB>,
{
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, DB>) -> serialize::Result {
        <str as ToSql<Text, DB>>::to_sql(&self.0, out)
    }
}

impl<DB: Backend> ToSql<EscapedText, DB> for Encoded
where
    str: ToSql<Text, DB>,
{
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, DB>) -> serialize::Result {
        <str as ToSql<Text, DB>>::to_sql(&self.0, out)
    }
}

/// A value of the domain that columns of the SQL type hold.
pub(crate) trait InColumn<ST: ColumnType>: Sized {
    /// The value, or what is wrong with what is stored.
    fn read(stored: ST::Read) -> Result<Self, String>;

    /// The value of a column that may be null.
    fn read_nullable(stored: Option<ST::Read>) -> Result<Option<Self>, String> {
        stored.map(Self::read).transpose()
    }

    /// What is stored for the value.
    fn written(&self) -> Result<ST::Written<'_>, serde_json::Error>;
}

impl<ST: ColumnType + SqlType, T: InColumn<ST>> InColumn<Nullable<ST>> for Option<T> {
    fn read(stored: Option<ST::Read>) -> Result<Self, String> {
        T::read_nullable(stored)
    }

    fn written(&self) -> Result<Option<ST::Written<'_>>, serde_json::Error> {
        self.as_ref().map(T::written).transpose()
    }
}

/// Implements [`InColumn`] for types that are stored as JSON.
macro_rules! in_json {
    ($($value:ty),+ $(,)?) => {$(
        impl InColumn<JsonText> for $value {
            fn read(stored: Encoded) -> Result<Self, String> {
                serde_json::from_str(&stored.0).map_err(|error| error.to_string())
            }

            fn written(&self) -> Result<Encoded, serde_json::Error> {
                serde_json::to_string(self).map(Encoded)
            }
        }
    )+};
}

in_json!(
    Actor,
    BiddingConfig,
    BillingEvents,
    EffectiveConfig,
    LeadAttachment,
    Map<String, Value>,
    Proposal,
    ProposalTemplate,
    Reason,
    Terms,
    Value,
    Vec<EventKind>,
    Vec<ProposalFile>,
    Vec<QuestionAnswerPair>,
);

/// The JSON itself.
impl InColumn<JsonText> for String {
    fn read(stored: Encoded) -> Result<Self, String> {
        Ok(stored.0)
    }

    fn written(&self) -> Result<Encoded, serde_json::Error> {
        Ok(Encoded(self.clone()))
    }
}

/// Implements [`InColumn`] for types that are stored as escaped text: how the text is read, and the text itself.
macro_rules! in_escaped_text {
    ($($value:ty: $read:expr, $text:expr;)+) => {$(
        impl InColumn<EscapedText> for $value {
            fn read(stored: Encoded) -> Result<Self, String> {
                let read: fn(String) -> Result<Self, String> = $read;
                read(unescaped(stored.0)?)
            }

            fn written(&self) -> Result<Encoded, serde_json::Error> {
                let text: fn(&Self) -> &str = $text;
                Ok(Encoded(escaped(text(self))))
            }
        }
    )+};
}

in_escaped_text! {
    String: Ok, |text| text;
    FeedCursor: |text| Ok(Self(text)), |cursor| &cursor.0;
    EmailKey: |text| Ok(Self::from_stored(text)), Self::as_str;
    Secret<String>: |text| Ok(Self::new(text)), |secret| secret.expose();
    CoverLetter: |text| Self::parse(text).ok_or_else(|| "a blank cover letter".to_owned()), Self::as_str;
}

/// Implements [`InColumn`] for types that are stored as text: how they are read, and how they are written.
macro_rules! in_text {
    ($($value:ty: $read:expr, $written:expr;)+) => {$(
        impl InColumn<Text> for $value {
            fn read(stored: String) -> Result<Self, String> {
                let read: fn(&str) -> Option<Self> = $read;
                read(&stored).ok_or_else(|| format!("{stored:?}"))
            }

            fn written(&self) -> Result<Cow<'_, str>, serde_json::Error> {
                let written: fn(&Self) -> Cow<'_, str> = $written;
                Ok(written(self))
            }
        }
    )+};
}

in_text! {
    AccountId: |id| Self::parse(id).ok(), |id| id.as_str().into();
    ApiKeyId: |id| Self::parse(id).ok(), |id| id.as_str().into();
    BilledSubscriptionId: |id| Self::parse(id).ok(), |id| id.as_str().into();
    CampaignId: |id| Self::parse(id).ok(), |id| id.as_str().into();
    CustomerId: |id| Self::parse(id).ok(), |id| id.as_str().into();
    EndpointId: |id| Self::parse(id).ok(), |id| id.as_str().into();
    FilterId: |id| Self::parse(id).ok(), |id| id.as_str().into();
    OrganizationId: |id| Self::parse(id).ok(), |id| id.as_str().into();
    JobId: |id| Self::parse(id).ok(), |id| id.as_str().into();
    LeadId: |id| Self::parse(id).ok(), |id| id.as_str().into();
    ActivityId: |id| Uuid::parse_str(id).ok().map(Self), |id| id.to_string().into();
    BidId: |id| Uuid::parse_str(id).ok().map(Self), |id| id.to_string().into();
    DeliveryId: |id| Uuid::parse_str(id).ok().map(Self), |id| id.to_string().into();
    LinkId: |id| Self::parse(id).ok(), |id| id.as_str().into();
    PersonalTokenId: |id| Self::parse(id).ok(), |id| id.as_str().into();
    LinkHash: |hash| Some(Self::from_stored(hash.to_owned())), |hash| hash.as_str().into();
    PersonalTokenHash: |hash| Some(Self::from_stored(hash.to_owned())), |hash| hash.as_str().into();
    ApiKeyHash: |hash| Some(Self::from_stored(hash.to_owned())), |hash| hash.as_str().into();
    ActivityKind: |word| word.parse().ok(), |word| word.as_str().into();
    ActivityOutcome: |word| word.parse().ok(), |word| word.as_str().into();
    ActorKind: |word| word.parse().ok(), |word| word.as_str().into();
    CampaignMode: |word| word.parse().ok(), |word| word.as_str().into();
    CampaignState: |word| word.parse().ok(), |word| word.as_str().into();
    DeliveryState: |word| word.parse().ok(), |word| word.as_str().into();
    EventKind: |word| word.parse().ok(), |word| word.as_str().into();
    LeadStatus: |word| word.parse().ok(), |word| word.as_str().into();
    LinkKind: |word| word.parse().ok(), |word| word.as_str().into();
    Renewal: |word| word.parse().ok(), |word| word.as_str().into();
    MemberRole: |word| word.parse().ok(), |word| word.as_str().into();
    TokenScope: |word| word.parse().ok(), |word| word.as_str().into();
    SubscriptionStatus: |word| word.parse().ok(), |word| word.as_str().into();
}

impl InColumn<Text> for String {
    fn read(stored: Self) -> Result<Self, String> {
        Ok(stored)
    }

    fn written(&self) -> Result<Cow<'_, str>, serde_json::Error> {
        Ok(self.into())
    }
}

/// What is stored for a secret, sealed or not.
impl InColumn<Text> for Secret<String> {
    fn read(stored: String) -> Result<Self, String> {
        Ok(Self::new(stored))
    }

    fn written(&self) -> Result<Cow<'_, str>, serde_json::Error> {
        Ok(self.expose().into())
    }
}

/// A trace that cannot be read is none: no work depends on it.
impl InColumn<Text> for TraceParent {
    fn read(stored: String) -> Result<Self, String> {
        Self::parse(&stored).ok_or(stored)
    }

    fn read_nullable(stored: Option<String>) -> Result<Option<Self>, String> {
        Ok(stored.and_then(|stored| Self::parse(&stored)))
    }

    fn written(&self) -> Result<Cow<'_, str>, serde_json::Error> {
        Ok(self.to_string().into())
    }
}

/// Implements [`InColumn`] for types that are stored as a number: how they are read, and how they are written.
macro_rules! in_number {
    ($($value:ty: $read:expr, $written:expr;)+) => {$(
        impl InColumn<BigInt> for $value {
            fn read(stored: i64) -> Result<Self, String> {
                let read: fn(i64) -> Option<Self> = $read;
                read(stored).ok_or_else(|| stored.to_string())
            }

            fn written(&self) -> Result<i64, serde_json::Error> {
                let written: fn(&Self) -> i64 = $written;
                Ok(written(self))
            }
        }
    )+};
}

in_number! {
    i64: Some, |number| *number;
    CampaignRevision: |number| Some(Self(number)), |revision| revision.0;
    u16: |number| number.try_into().ok(), |number| stored(*number);
    u32: |number| number.try_into().ok(), |number| stored(*number);
    u64: |number| number.try_into().ok(), |number| stored(*number);
    Connects: |number| number.try_into().ok().map(Self::new), |connects| connects.as_i64();
    Timestamp: |millis| Some(Self::from_millis(millis)), |at| at.as_millis();
}

/// Implements [`InColumn`] for a type that is stored as it is.
macro_rules! in_column_as_it_is {
    ($($value:ty: $sql_type:ty),+) => {$(
        impl InColumn<$sql_type> for $value {
            fn read(stored: Self) -> Result<Self, String> {
                Ok(stored)
            }

            fn written(&self) -> Result<Self, serde_json::Error> {
                Ok(*self)
            }
        }
    )+};
}

in_column_as_it_is!(bool: Bool, f64: Double);

/// What reading a column gave. A value that cannot be read does not fail the query.
#[derive(Debug, Clone, FromSqlRow)]
pub(crate) struct Attempt<R: Debug>(pub(crate) Result<R, String>);

impl<R, ST, DB> FromSql<ST, DB> for Attempt<R>
where
    DB: Backend,
    R: FromSql<ST, DB> + Debug,
{
    fn from_sql(bytes: DB::RawValue<'_>) -> deserialize::Result<Self> {
        Ok(Self(R::from_sql(bytes).map_err(|error| error.to_string())))
    }

    fn from_nullable_sql(bytes: Option<DB::RawValue<'_>>) -> deserialize::Result<Self> {
        Ok(Self(
            R::from_nullable_sql(bytes).map_err(|error| error.to_string()),
        ))
    }
}

/// A value of the domain in a query, where it stands for its column's content.
#[derive(Debug, Clone, PartialEq, Eq, AsExpression, FromSqlRow)]
#[diesel(sql_type = Text)]
#[diesel(sql_type = JsonText)]
#[diesel(sql_type = EscapedText)]
pub(crate) struct Col<T: Debug>(pub(crate) T);

impl<T, ST, DB> FromSql<ST, DB> for Col<T>
where
    DB: Backend,
    ST: ColumnType<Read: FromSql<ST, DB>>,
    T: InColumn<ST> + Debug,
{
    fn from_sql(bytes: DB::RawValue<'_>) -> deserialize::Result<Self> {
        Ok(Self(T::read(ST::Read::from_sql(bytes)?)?))
    }
}

/// Writes [`Col`] into columns of text.
macro_rules! col_to_sql {
    ($($sql_type:ty),+) => {$(
        impl<T: InColumn<$sql_type> + Debug> ToSql<$sql_type, Pg> for Col<T> {
            fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> serialize::Result {
                out.write_all(InColumn::<$sql_type>::written(&self.0)?.as_ref().as_bytes())?;
                Ok(IsNull::No)
            }
        }

        impl<T: InColumn<$sql_type> + Debug> ToSql<$sql_type, Sqlite> for Col<T> {
            fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Sqlite>) -> serialize::Result {
                out.set_value(InColumn::<$sql_type>::written(&self.0)?.as_ref().to_owned());
                Ok(IsNull::No)
            }
        }
    )+};
}

col_to_sql!(Text, JsonText, EscapedText);

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\0', "\\0")
}

fn unescaped(text: String) -> Result<String, String> {
    if !text.contains('\\') {
        return Ok(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some('\\') => plain.push('\\'),
                Some('0') => plain.push('\0'),
                _ => return Err("a backslash that escapes nothing".to_owned()),
            },
            _ => plain.push(character),
        }
    }
    Ok(plain)
}

/// A count as stored. None that the program can make is too large.
pub(crate) fn stored<T>(count: T) -> i64
where
    i64: TryFrom<T>,
{
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_text_survives_any_character() {
        for text in [
            "",
            "plain",
            "back\\slash",
            "nul\0",
            "\\0 is not \0",
            "\\\\\0\\",
            "ünïcödé",
        ] {
            let stored = escaped(text);
            assert!(!stored.contains('\0'), "{text:?}");
            assert_eq!(unescaped(stored).as_deref(), Ok(text));
        }
    }

    #[test]
    fn a_backslash_that_escapes_nothing_is_corrupt() {
        assert!(unescaped("\\x".to_owned()).is_err());
        assert!(unescaped("\\".to_owned()).is_err());
    }
}
